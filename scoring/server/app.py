"""The service as an application: its routes, and what it answers when a request fails."""

from collections.abc import Mapping
from typing import Any

import fastapi
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

import tta
from tta.errors import InputError
from tta.scoring.scorers.scorer import Scorer
from tta.scoring.server import forms
from tta.scoring.server.answers import Answers, Lanes
from tta.scoring.server.batching import BusyError
from tta.scoring.server.config import ServerConfig
from tta.scoring.server.guard import Guard, failure
from tta.scoring.server.meters import Meters
from tta.scoring.server.models import ServedModels
from tta.scoring.server.pages import demo_page, docs_page

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


def make_app(models: ServedModels | Scorer, config: ServerConfig) -> fastapi.FastAPI:
    """The service of a model, an ASGI application; `state.observe` is that of its `Meters`.

    Raises InputError if a model has no scores, or not the representation of the config.
    """
    if isinstance(models, Scorer):
        models = ServedModels.of(models)
    paths: set[str] = set()  # those of all routes, when they are there
    meters = Meters(paths, lambda: lanes.num_waiting, config.access_log)
    lanes = Lanes(config, meters)
    answers = Answers(models, config, meters, lanes)
    app = fastapi.FastAPI(
        title="tta-lm",
        version=tta.__version__,
        description="Scores, reranks and embeds sentences with one language model.",
        docs_url=None,  # the pages load scripts from other sites; /docs is our own
        redoc_url=None,
    )
    _add_routes(app, answers)
    _add_pages(app)
    routes = [route for route in app.routes if isinstance(route, Route)]
    paths |= {route.path for route in routes if "{" not in route.path}
    _handle_failures(app)
    _describe(app)
    app.add_middleware(Guard, config=config, observe=meters.observe)
    app.state.observe = meters.observe
    return app


def _add_routes(app: fastapi.FastAPI, answers: Answers) -> None:
    """Adds the routes for programs."""
    for path, answer, answer_form in (
        ("/v1/score", answers.score, forms.Scores),
        ("/v1/score_tokens", answers.score_tokens, forms.TokenScoresAnswer),
        ("/v1/rerank", answers.rerank, forms.ListAnswer | forms.ListsAnswer),
        ("/v1/embeddings", answers.embeddings, forms.EmbeddingsAnswer),
        ("/v1/similarity", answers.similarity, forms.Similarities),
    ):
        app.post(path, response_model=answer_form, responses=_FAILURES)(answer)
    app.get("/v1/models")(answers.models)
    app.get("/v1/models/{name}", include_in_schema=False)(answers.model)
    app.get("/health", response_model=forms.Health)(answers.health)
    app.get("/metrics", response_class=Response)(answers.metrics)


def _add_pages(app: fastapi.FastAPI) -> None:
    """Adds the pages for people."""

    @app.get("/", include_in_schema=False)
    async def demo() -> Response:
        return HTMLResponse(demo_page())

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return HTMLResponse(docs_page(app.openapi()))


def _describe(app: fastapi.FastAPI) -> None:
    """Makes the description of the routes, and leaves out an answer that no request gets."""
    for route in app.openapi()["paths"].values():  # it stays, and is changed in place
        for method in route.values():
            method["responses"].pop("422", None)  # FastAPI's own form


def _handle_failures(app: fastapi.FastAPI) -> None:
    """Answers each failure in one form. `Guard` answers those of the code."""

    @app.exception_handler(InputError)
    async def of_input(_, error):
        return failure(400, str(error))

    @app.exception_handler(RequestValidationError)
    async def of_form(_, error):
        return failure(400, _rule_of_form(error.errors()[0]))

    @app.exception_handler(HTTPException)
    async def of_http(_, error):
        rule = error.detail
        if rule == "Not Found":  # Starlette's words
            rule = "no such route: /docs lists them"
        elif error.status_code == 400 and error.__cause__ is not None:  # FastAPI read the body
            rule = _rule_of_body(error.__cause__)
        return failure(error.status_code, rule, error.headers)

    @app.exception_handler(BusyError)
    async def of_waiting(_, error):
        return failure(503, "too many requests wait; try again later")


def _rule_of_form(error: Mapping[str, Any]) -> str:
    """The rule that a body breaks, from pydantic's error."""
    place, rule = ".".join(map(str, error["loc"][1:])), error["msg"]
    if error["type"] == "json_invalid":
        return f"the body, character {place}: {rule}"
    if error["type"] == "missing" and not place:
        return "the body is empty"
    return f"{place}: {rule}" if place else rule


def _rule_of_body(error: BaseException) -> str:
    """The rule that a body breaks which is no JSON that Python reads."""
    if isinstance(error, UnicodeDecodeError):
        got = f"got byte 0x{error.object[error.start]:02x}"
        return f"the body, byte {error.start + 1}: expected UTF-8, {got}"
    if isinstance(error, RecursionError):
        return "the body: expected JSON, got too many brackets in brackets"
    return "the body: a number has thousands of digits"
