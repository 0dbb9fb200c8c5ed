"""sherpa-onnx: results of `modified_beam_search` that keep their hypotheses."""

from collections.abc import Iterable
from typing import Any

from tta.errors import InputError
from tta.integrations import NBest, collect


def nbest(results: Iterable[Any]) -> NBest:
    """The lists of results: `stream.result` of each, or the `stream`.

    Raises:
        InputError: a result has no hypotheses, because of the version or of `num_return_paths`.
    """
    lists = []
    for number, result in enumerate(results, 1):
        hypotheses = getattr(getattr(result, "result", result), "hypotheses", None)
        if not hypotheses:
            raise InputError(
                f"result {number} has no hypotheses: use a version of sherpa-onnx that has "
                "num_return_paths, set it above 1, and decode with modified_beam_search"
            )
        lists.append([(hypothesis.text, hypothesis.score) for hypothesis in hypotheses])
    return collect(lists)
