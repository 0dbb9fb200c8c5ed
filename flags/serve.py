"""Serves a model over HTTP: scores, token scores, reranking, embeddings, and the page of tta demo.

Example:

    tta serve --port=8000
    curl http://127.0.0.1:8000/v1/score --json '{"texts": ["the cat sat", "the cat sad"]}'

Requests that wait are joined into one batch. GET /openapi.json describes the routes.
"""

from functools import partial

from tta import cli
from tta.errors import InputError, install
from tta.scoring.scorers.options import OneModel, ScoreOptions
from tta.scoring.server.config import ServerConfig


def main(model: OneModel, config: ServerConfig, options: ScoreOptions) -> None:
    try:
        from tta.scoring.server.models import load_models
        from tta.scoring.server.server import Server
    except ModuleNotFoundError as error:
        raise InputError(f"the service needs {error.name}: {install('serve')}") from None

    [of_lists] = config.with_levels([model.name])
    load = partial(load_models, of_lists, config.list_normalizer, options)
    Server(load(), config, lambda at: print(f"{at} (Ctrl-C ends)", flush=True), load).run()


run = cli.command(main, OneModel, ServerConfig, ScoreOptions)
