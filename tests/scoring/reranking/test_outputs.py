"""Outputs are opened before the scoring; test_rerank.py of flags has more of them."""

from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from tta.errors import InputError
from tta.scoring.reranking.config import RerankConfig
from tta.scoring.reranking.writing.outputs import open_outputs


def test_lists_of_kaldi_have_a_score_file_beside_them(tmp_path):
    config = RerankConfig(
        nbest_file="lists", output_file=f"{tmp_path}/out", scores_file=f"{tmp_path}/out.scores"
    )
    with (
        ExitStack() as stack,
        pytest.raises(InputError, match=r"out\.scores: two outputs have the same name"),
    ):
        open_outputs(stack, config, SimpleNamespace(format="kaldi"))
    assert not list(tmp_path.iterdir())
