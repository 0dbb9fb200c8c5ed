"""The routes of the service."""

from collections.abc import Callable
from typing import Any

import fastapi
import numpy as np
from fastapi.exceptions import RequestValidationError
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response

import tta
from tta.errors import InputError
from tta.scoring.combining.levels import Levels
from tta.scoring.metrics.correlation import cosine
from tta.scoring.scorers.scorer import Scorer
from tta.scoring.server import forms
from tta.scoring.server.batching import Batcher, BusyError
from tta.scoring.server.config import ServerConfig
from tta.scoring.server.guard import Guard, failure
from tta.scoring.server.meters import Meters
from tta.scoring.server.pages import demo_page, docs_page
from tta.scoring.server.service import (
    GivenLists,
    Service,
    check_dimensions,
    check_texts,
    compared_size,
    embeddings,
    given_texts,
    words_of,
)

LONG = 8192  # bytes, the size of an item that takes longer than a slice

_PATHS = {
    *("/", "/docs", "/health", "/metrics", "/openapi.json", "/v1/embeddings", "/v1/models"),
    *("/v1/rerank", "/v1/score", "/v1/score_tokens", "/v1/similarity"),
}
_FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"model": forms.ProblemAnswer, "description": what}
    for status, what in {
        400: "The request is malformed, or breaks a limit of the model.",
        401: "The service has a key, and the request has not.",
        403: "The Host is unknown.",
        408: "The request did not arrive in time.",
        413: "The body is too large.",
        415: "The body is not application/json.",
        500: "The code failed; the log says where.",
        503: "Too many requests wait, or there was no answer in time.",
    }.items()
}


def make_app(lm: Scorer, config: ServerConfig) -> fastapi.FastAPI:
    """The service of a model, an ASGI application; `state.observe` is that of its `Meters`.

    The first one of `Levels` scores texts. Raises InputError if the model has no scores, or not the
    representation of the config.
    """
    reranker, lm = lm, lm.models[0] if isinstance(lm, Levels) else lm
    signature, of_lists = lm.signature, reranker.signature  # digests of all weights
    service = Service(lm, reranker, config.representation)
    limits = config.max_texts, config.max_characters
    meters = Meters(_PATHS, lambda: sum(lane.num_waiting for lane in lanes), config.access_log)
    # What cannot be cut, a long text or the comparisons of a long list, holds up its own kind only.
    lanes = [Batcher(config.batch_texts, meters.batches.observe) for _ in range(3)]
    short, long_texts, long_lists = lanes

    # Requests are joined if their function is the same object.
    score, score_tokens = service.score, service.score_tokens
    encode, rerank_lists = service.encode, service.rerank

    async def of_texts(function: Callable[[list[Any]], Any], texts: list[str]) -> list[Any]:
        check_texts(texts, *limits)
        waiting = sum(lane.num_waiting for lane in lanes)
        if waiting and waiting + len(texts) > config.max_waiting_texts:
            raise BusyError
        sizes = [len(text.encode(errors="replace")) + 8 for text in texts]  # and its ends
        lane = short if max(sizes) <= LONG else long_texts
        return await lane.run(function, texts, sizes)

    def check_name(name: str | None):
        if name not in (None, lm.name):
            raise HTTPException(404, f"the model of this service is {lm.name}")

    app = fastapi.FastAPI(
        title="tta-lm",
        version=tta.__version__,
        description="Scores, reranks and embeds sentences with one language model.",
        docs_url=None,  # the pages load scripts from other sites; /docs is our own
        redoc_url=None,
    )

    def post(path, answer):
        """Registers a route that takes JSON: its answers are described, and written as they are."""
        return app.post(path, response_model=answer, responses=_FAILURES)

    @post("/v1/score", forms.Scores)
    async def scores(request: forms.TextsRequest) -> Response:
        """Scores texts: the log-probability of each, a sum over its tokens."""
        found = await of_texts(score, request.texts)
        columns = dict(
            zip(("scores", "num_tokens", "num_unknown"), zip(*found, strict=True), strict=True)
        )
        return JSONResponse(columns | {"signature": signature})

    @post("/v1/score_tokens", forms.TokenScoresAnswer)
    async def token_scores(request: forms.TextsRequest) -> Response:
        """The log-probability of each token."""
        found = await of_texts(score_tokens, request.texts)
        return JSONResponse({"results": [one.to_dict() for one in found], "signature": signature})

    @post("/v1/rerank", forms.ListAnswer | forms.ListsAnswer)
    async def reranked(request: forms.ListRequest) -> Response:
        """Reranks an N-best list, or several."""
        lists, keep = request.all_lists(), request.keep_non_words
        check_texts([text for one in lists for text in one.hypotheses], *limits)
        weights = request.weights and request.weights.to_weights()
        words = words_of(lists, keep)
        scores = dict(zip(words, await of_texts(score_tokens, words), strict=True))
        phrases = request.phrases, request.phrases_weight
        given, size = GivenLists(lists, weights, keep, scores, *phrases), compared_size(lists)
        lane = short if size <= LONG else long_lists
        [found] = await lane.run(rerank_lists, [given], [size])
        if request.lists is None:
            found |= found.pop("lists")[0]
        return JSONResponse(found | {"signature": of_lists})

    @post("/v1/embeddings", forms.EmbeddingsAnswer)
    async def vectors(request: forms.EmbeddingsRequest) -> Response:
        """The vectors of texts, of length 1, in OpenAI's form."""
        check_name(request.model)
        texts = given_texts(request.input)
        found = await of_texts(encode, texts)
        check_dimensions(request.dimensions, found[0][0])
        count = sum(number for _, number in found)
        return JSONResponse(
            {
                "object": "list",
                "data": embeddings([one for one, _ in found], request.encoding_format),
                "model": lm.name,
                "usage": {"prompt_tokens": count, "total_tokens": count},
            }
        )

    @post("/v1/similarity", forms.Similarities)
    async def similarities(request: forms.PairsRequest) -> Response:
        """Compares pairs of texts: the cosine of their vectors, -1 to 1."""
        texts = list(dict.fromkeys(text for pair in request.pairs for text in pair))
        check_texts([text for pair in request.pairs for text in pair], *limits)
        found = dict(zip(texts, await of_texts(encode, texts), strict=True))
        first, second = ([found[pair[i]][0] for pair in request.pairs] for i in (0, 1))
        cosines = cosine(np.array(first), np.array(second)).tolist()
        signed = f"{signature}|similarity:cosine"
        return JSONResponse({"similarities": cosines, "signature": signed})

    own = {"id": lm.name, "object": "model", "created": 0, "owned_by": "tta-lm"}

    @app.get("/v1/models")
    async def models() -> dict[str, Any]:
        """The model of this service, in OpenAI's form."""
        return {"object": "list", "data": [own]}

    @app.get("/v1/models/{name}", include_in_schema=False)
    async def model(name: str) -> dict[str, Any]:
        check_name(name)
        return own

    @app.get("/health", response_model=forms.Health)
    async def health() -> dict[str, Any]:
        """Whether the service answers, and the model's name and signature."""
        return {"status": "ok", "model": reranker.name, "signature": of_lists}

    @app.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Numbers and times of requests, in the format of Prometheus."""
        return Response(meters.text(), media_type=CONTENT_TYPE_PLAIN_0_0_4)

    @app.get("/", include_in_schema=False)
    async def demo() -> Response:
        return HTMLResponse(demo_page())

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return HTMLResponse(docs_page(app.openapi()))

    _handle_failures(app)
    for route in app.openapi()["paths"].values():  # kept, and changed in place
        for method in route.values():
            method["responses"].pop("422", None)  # FastAPI's own form, which no request gets
    app.add_middleware(Guard, config=config, observe=meters.observe)
    app.state.observe = meters.observe
    return app


def _handle_failures(app):
    """Answers each failure in one form. `Guard` answers those of the code."""

    @app.exception_handler(InputError)
    async def of_input(_, error):
        return failure(400, str(error))

    @app.exception_handler(RequestValidationError)
    async def of_form(_, error):
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"][1:]))
        if first["type"] == "json_invalid":
            place = f"the body, character {place}"
        return failure(400, f"{place}: {first['msg']}" if place else first["msg"])

    @app.exception_handler(HTTPException)
    async def of_http(_, error):
        is_route = error.detail != "Not Found"  # Starlette's words
        rule = error.detail if is_route else "no such route: /docs lists them"
        return failure(error.status_code, rule, error.headers)

    @app.exception_handler(BusyError)
    async def of_waiting(_, error):
        return failure(503, "too many requests wait; try again later")
