"""Serves a local page: scores of tokens, and a list that is reranked while its weights move.

Example:

    tta demo --port=8000

Open the printed address in a browser; Ctrl-C ends the command. It is a page of tta serve.
"""

from tta import cli
from tta.flags import serve
from tta.scoring.scorers.options import OneModel, ScoreOptions
from tta.scoring.server.config import ServerConfig


def main(model: OneModel, config: ServerConfig, options: ScoreOptions) -> None:
    serve.main(model, config, options)


run = cli.command(main, OneModel, ServerConfig, ScoreOptions)
