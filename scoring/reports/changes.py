"""The utterances for which reranking picks another text than the first pass."""

from collections.abc import Sequence
from dataclasses import dataclass

from tta.data.nbest.lists import NBestList, shown
from tta.scoring.combining.decision import Decision, select
from tta.scoring.combining.statistics import ListStatistics
from tta.scoring.combining.weights import FIRST_PASS


@dataclass(frozen=True)
class Change:
    """An utterance for which reranking picks another text than the first pass.

    Attributes:
        number: the index of its list.
        before, after: the indices of the hypotheses picked by the first pass and by reranking.
        verdict: "better", "worse" or "neither"; "" without a reference.
        size: the difference of the metric's goodness, or, without a reference, of combined scores
            or expected losses.
    """

    number: int
    before: int
    after: int
    verdict: str
    size: float


def find_changes(decision: Decision, statistics: ListStatistics | None) -> list[Change]:
    """Finds the utterances whose pick changed, the largest change first.

    `statistics` is the metric on the same lists, or None if nothing is measured.
    """
    goodness = decision.goodness
    if statistics is not None:
        goodness = -statistics.errors
    before = select(decision.lists, FIRST_PASS)
    changes = []
    for number, one in enumerate(decision.lists.nbest):
        i, j = int(before[number]), int(decision.picks[number])
        if i != j and one.hypotheses[i].text != one.hypotheses[j].text:
            size = float(goodness[number, j] - goodness[number, i])
            verdict = "better" if size > 0 else "worse" if size < 0 else "neither"
            verdict = "" if statistics is None else verdict
            changes.append(Change(number, i, j, verdict, abs(size)))
    return sorted(changes, key=lambda change: -change.size)


def describe_first(changes: Sequence[Change], nbest: Sequence[NBestList]) -> list[str]:
    """Lines that show the first change in the order of the lists, not the best one; or no line."""
    if not changes:
        return []
    change = min(changes, key=lambda one: one.number)
    one = nbest[change.number]
    verdict = f" ({change.verdict})" if change.verdict else ""
    texts = {
        "first pass": one.hypotheses[change.before].text,
        "reranked": one.hypotheses[change.after].text,
        "reference": one.reference,
    }
    lines = [
        f"  {name:10}  {' '.join(text.split())}" for name, text in texts.items() if text is not None
    ]
    return [f"the first pick that changed, {shown(one.utterance_id)}{verdict}:", *lines]
