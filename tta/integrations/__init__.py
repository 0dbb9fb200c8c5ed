"""N-best lists of other libraries: their objects in, lists for `tta.rerank` out.

    import tta
    from tta.integrations import vosk

    texts, scores = vosk.nbest([recognizer.FinalResult()])
    picks = tta.rerank(texts, scores)

There is one module per library, and it needs the library only where it calls it
(docs/integrations.md).
"""

import importlib.metadata
import re
from collections.abc import Iterable
from typing import NamedTuple

from tta.errors import InputError


class NBest(NamedTuple):
    """N-best lists as the first two arguments of `tta.rerank`.

    Attributes:
        texts: L lists of str, best first, different texts each.
        scores: L lists of float, natural logs, higher is better.
    """

    texts: list[list[str]]
    scores: list[list[float]]


def collect(lists: Iterable[Iterable[tuple[str, float]]]) -> NBest:
    """Lists of (text, score), ordered by score; a text that occurs twice keeps its best score.

    White space around a text, and repeated in it, is removed first.
    """
    nbest = NBest([], [])
    for hypotheses in lists:
        best: dict[str, float] = {}
        for text, score in hypotheses:
            text = " ".join(text.split())
            best[text] = max(float(score), best.get(text, float(score)))
        order = sorted(best, key=lambda text: -best[text])
        nbest.texts.append(order)
        nbest.scores.append([best[text] for text in order])
    return nbest


def require(package: str, least: str) -> None:
    """Raises InputError if a package is missing, or older than the version `least`."""

    def numbers(version):
        return [int(number) for number in re.findall(r"\d+", version)[:2]]

    try:
        installed = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        installed = "none"
    if numbers(installed) < numbers(least):
        command = f"pip install '{package}>={least}'"
        raise InputError(
            f"this needs {package} {least} or later, and {installed} is installed: {command}"
        )
