"""Reranking computes NumPy's products in one thread, unless the user says otherwise."""

import os

import pytest

from tta.flags import rerank
from tta.scoring.reranking.config import RerankConfig
from tta.scoring.scorers.options import RerankOptions, SeveralModels

THREADS = "OPENBLAS_NUM_THREADS"


@pytest.mark.parametrize(("before", "expected"), [(None, "1"), ("2", "2")])
def test_threads_of_numpy(monkeypatch, before, expected):
    monkeypatch.setenv(THREADS, before or "")
    if before is None:
        monkeypatch.delenv(THREADS)
    seen = []
    monkeypatch.setattr(
        "tta.scoring.reranking.rerank.rerank_files", lambda *_: seen.append(os.environ.get(THREADS))
    )
    rerank.main(SeveralModels(model=("none",)), RerankConfig(nbest_file="x"), RerankOptions())
    assert seen == [expected]
