"""N-best lists of other libraries: their objects in, lists for `tta.rerank` out.

    import tta
    from tta.integrations import vosk

    texts, scores = vosk.nbest([recognizer.FinalResult()])
    picks = tta.rerank(texts, scores)

There is one module per library, and it needs the library only where it calls it
(docs/integrations.md).
"""

from collections.abc import Iterable
from typing import NamedTuple


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
    made = NBest([], [])
    for one in lists:
        best: dict[str, float] = {}
        for text, score in one:
            text = " ".join(text.split())
            best[text] = max(float(score), best.get(text, float(score)))
        order = sorted(best, key=lambda text: -best[text])
        made.texts.append(order)
        made.scores.append([best[text] for text in order])
    return made
