"""Serves a local page: scores of tokens, and a list that is reranked while its weights move.

Example:

    tta-demo --port=8000

Open the printed address in a browser; Ctrl-C ends the command.
"""

from tta import cli
from tta.scoring.demo.config import DemoConfig
from tta.scoring.scorers.options import OneModel, ScoreOptions


def main(config: DemoConfig, model: OneModel, options: ScoreOptions) -> None:
    import tta
    from tta.scoring.demo.server import make_server

    lm = tta.load(model.name, **options.for_work([model.name], []))
    with make_server(lm, config.host, config.port) as server:
        print(f"http://{config.host}:{server.server_port}/ (Ctrl-C ends)", flush=True)
        server.serve_forever()


run = cli.command(main, DemoConfig, OneModel, ScoreOptions)
