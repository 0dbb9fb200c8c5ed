"""Reranking computes NumPy's products in one thread, unless the user says otherwise."""

import os
import subprocess
import sys

import pytest

from tta.flags import rerank
from tta.scoring.reranking.config import RerankConfig
from tta.scoring.scorers.options import RerankOptions, SeveralModels

THREADS = "OPENBLAS_NUM_THREADS"


@pytest.mark.parametrize(
    ("model", "before", "expected"),
    [("none", None, "1"), ("none", "2", "2"), ("small", None, "1")],
)
def test_threads_of_numpy(monkeypatch, model, before, expected):
    monkeypatch.setenv(THREADS, before or "")
    if before is None:
        monkeypatch.delenv(THREADS)
    seen = []
    monkeypatch.setattr(
        "tta.scoring.reranking.rerank.rerank_files", lambda *_: seen.append(os.environ.get(THREADS))
    )
    rerank.main(SeveralModels(model=(model,)), RerankConfig(nbest_file="x"), RerankOptions())
    assert seen == [expected]


def test_numpy_is_imported_after_the_number_of_threads_is_set():
    code = "import sys, tta.flags.rerank; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
