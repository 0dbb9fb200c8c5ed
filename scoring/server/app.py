"""The routes of the service, the page of tta demo, and numbers and times for Prometheus."""

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import fastapi
from fastapi.exceptions import RequestValidationError
from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
)
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response

import tta
from tta.errors import InputError
from tta.scoring.combining.levels import Levels
from tta.scoring.reports.page import CONFIDENCES, LEVELS, style
from tta.scoring.scorers.scorer import Scorer
from tta.scoring.server import forms
from tta.scoring.server.batching import Batcher, BusyError
from tta.scoring.server.config import ServerConfig
from tta.scoring.server.guard import Guard
from tta.scoring.server.service import GivenList, Service, check_texts, embeddings

_PATHS = {
    *("/", "/health", "/metrics", "/openapi.json"),
    *(f"/v1/{name}" for name in ("embeddings", "models", "rerank", "score", "score_tokens")),
}
PAGE = Path(__file__).parent / "templates" / "demo.html"
_FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"model": forms.ProblemAnswer, "description": what}
    for status, what in {
        400: "The request is malformed, or breaks a limit of the model.",
        403: "The Host is unknown.",
        408: "The request did not arrive in time.",
        413: "The body is too large.",
        415: "The body is not application/json.",
        503: "Too many requests wait, or there was no answer in time.",
    }.items()
}


def make_app(lm: Scorer, config: ServerConfig) -> fastapi.FastAPI:
    """The service of a model, an ASGI application. The first one of `Levels` scores texts.

    Raises:
        InputError: the model has no scores.
    """
    reranker, lm = lm, lm.models[0] if isinstance(lm, Levels) else lm
    signature, of_lists = lm.signature, reranker.signature  # digests of all weights
    service, meters = Service(lm, reranker), Meters(_PATHS)
    batcher = Batcher(config.batch_texts, config.max_waiting_texts, meters.batches.observe)
    page = PAGE.read_text(encoding="utf-8").replace("{{ style }}", style())
    page = page.replace("{{ levels }}", json.dumps([LEVELS, CONFIDENCES]))

    # Requests are joined if their function is the same object.
    score, score_tokens = service.score, service.score_tokens
    encode, rerank_lists = service.encode, service.rerank

    async def computed(function: Callable[[list[Any]], Any], items: list[Any]) -> Any:
        return await batcher.run(function, items, config.timeout)

    async def of_texts(function: Callable[[list[Any]], Any], texts: list[str]) -> Any:
        check_texts(texts, config.max_texts, config.max_characters)
        return await computed(function, texts)

    app = fastapi.FastAPI(
        title="tta-lm",
        version=tta.__version__,
        description="Scores, reranks and embeds sentences with one language model.",
        docs_url=None,  # the pages load scripts from other sites
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

    @post("/v1/rerank", forms.ListAnswer)
    async def reranked(request: forms.ListRequest) -> Response:
        """Reranks an N-best list."""
        check_texts(request.hypotheses, config.max_texts, config.max_characters)
        weights = request.weights and request.weights.to_weights()
        given = request.model_dump(exclude={"weights"})
        one = GivenList(weights=weights, **given)
        [found] = await computed(rerank_lists, [one])
        return JSONResponse(found | {"signature": of_lists})

    @post("/v1/embeddings", forms.EmbeddingsAnswer)
    async def vectors(request: forms.EmbeddingsRequest) -> Response:
        """The vectors of texts, in OpenAI's form."""
        if request.model not in (None, lm.name):
            raise HTTPException(404, f"the model of this service is {lm.name}")
        texts = [request.input] if isinstance(request.input, str) else request.input
        found = await of_texts(encode, texts)
        count = sum(number for _, number in found)
        return JSONResponse(
            {
                "object": "list",
                "data": embeddings([one for one, _ in found], request.encoding_format),
                "model": lm.name,
                "usage": {"prompt_tokens": count, "total_tokens": count},
            }
        )

    @app.get("/v1/models")
    async def models() -> dict[str, Any]:
        """The model of this service, in OpenAI's form."""
        model = {"id": lm.name, "object": "model", "created": 0, "owned_by": "tta-lm"}
        return {"object": "list", "data": [model]}

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
        return HTMLResponse(page)

    _handle_failures(app)
    for route in app.openapi()["paths"].values():  # kept, and changed in place
        for method in route.values():
            method["responses"].pop("422", None)  # FastAPI's own form, which no request gets
    app.add_middleware(Guard, config=config, observe=meters.observe)
    return app


def _handle_failures(app):
    """Answers each failure in one form, without a traceback."""

    def failure(status, message, kind="invalid_request_error"):
        return JSONResponse(forms.problem(message, kind), status)

    @app.exception_handler(InputError)
    async def of_input(_, error):
        return failure(400, str(error))

    @app.exception_handler(ValueError)
    async def of_answer(_, error):  # JSON has no NaN
        return failure(500, "the answer holds a number that is not finite", "server_error")

    @app.exception_handler(RequestValidationError)
    async def of_form(_, error):
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"][1:]))
        return failure(400, f"{place}: {first['msg']}" if place else first["msg"])

    @app.exception_handler(HTTPException)
    async def of_http(_, error):
        return failure(error.status_code, error.detail)

    @app.exception_handler(BusyError)
    async def of_waiting(_, error):
        return failure(503, "too many requests wait; try again later", "overloaded_error")

    @app.exception_handler(TimeoutError)
    async def of_time(_, error):
        return failure(503, "no answer in time; send fewer texts", "overloaded_error")


_BATCH_SIZES = (1, 4, 16, 64, 256, 1024, 4096)


class Meters:
    """The meters of one service.

    Args:
        paths: those of the routes; all others count as "other".

    Attributes:
        batches: a histogram of the number of items that the model gets at once.
    """

    def __init__(self, paths: Collection[str]):
        registry = CollectorRegistry()
        self._paths, self._registry = paths, registry
        self.batches = Histogram(
            "tta_batch_items",
            "Items that the model gets at once.",
            buckets=_BATCH_SIZES,
            registry=registry,
        )
        self._requests = Counter(
            "tta_requests", "Requests by path and status.", ["path", "status"], registry=registry
        )
        self._seconds = Histogram(
            "tta_request_seconds", "Seconds to the answer.", ["path"], registry=registry
        )

    def observe(self, path: str, status: int, seconds: float) -> None:
        """Counts a request."""
        path = path if path in self._paths else "other"
        self._requests.labels(path, status).inc()
        self._seconds.labels(path).observe(seconds)

    def text(self) -> bytes:
        """All numbers."""
        return generate_latest(self._registry)
