"""`rerank_files`, called as briefly as its tests can read it."""

import json
from pathlib import Path

from tta.scoring.reranking.config import RerankConfig
from tta.scoring.reranking.rerank import rerank_files


def rerank(nbest_file, models=(None,), **values):
    """Reranks a file with models, by default the built-in one; values may be `Path`s."""
    given = {"nbest_file": nbest_file} | values
    config = {name: str(v) if isinstance(v, Path) else v for name, v in given.items()}
    return rerank_files(RerankConfig(**config), models)


def rows_of(path):
    """The rows of a file of JSON lines."""
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
