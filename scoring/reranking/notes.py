"""Notes on scores and picks: what a reader of them must know. Other stages make their own notes."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tta.doors import option_named
from tta.errors import shown
from tta.scoring.combining.decision import select
from tta.scoring.combining.guess import extreme
from tta.scoring.combining.part import Part
from tta.scoring.combining.score import ScoredProblem
from tta.scoring.combining.weights import FIRST_PASS, RerankWeights
from tta.scoring.notes import Note, NoteKind
from tta.scoring.reranking.weighing import ChosenWeights


def scoring_notes(scored: ScoredProblem) -> Iterator[Note]:
    """Yields notes on the first pass, on scores that are extreme or missing, and on the models."""
    yield from _first_pass_notes(scored)
    for part in scored.problem.parts:
        yield from _extreme_notes(part)
    yield from _unscored_notes(scored.problem.test)
    for model in scored.records:
        yield from model.notes


def _first_pass_notes(scored: ScoredProblem) -> Iterator[Note]:
    """Yields a note if the lists lack usable first-pass scores."""
    test = scored.problem.test
    if test.lists.ranked:
        text = (
            "no first-pass scores: -ln(rank in the list) is used, because lists are usually "
            f"ordered best first ({option_named('rank_scores', False)})"
        )
    elif not test.has_scores and not scored.models:
        text = "no first-pass scores and no model: only the texts of a list decide"
    elif not test.has_scores:
        text = "no first-pass scores: reranked by the language model and the texts of a list"
    elif not test.lists.has_scores:
        text = "the first-pass scores of a list are all equal: they do not decide"
    else:
        return
    yield Note(NoteKind.FIRST_PASS, text, is_warning=False)


def _extreme_notes(part: Part) -> Iterator[Note]:
    """Yields a note on scores so extreme that the scale of the scores is measured without them."""
    columns = [("first-pass", part.lists.first_pass)]
    columns += [("model", model.reduced["sum"]) for model in part.lists.models]
    for name, scores in columns:
        are_extreme = extreme(part.lists, scores)
        if are_extreme.any():
            i, j = np.argwhere(are_extreme)[0]
            yield Note(
                NoteKind.SCORES,
                f"extreme {name} scores in {part.name}: {are_extreme.sum():,}, first "
                f"{scores[i, j]:g} in list {shown(part.nbest[i].utterance_id)}; the scale of the "
                "scores is measured without them",
                is_warning=False,
            )


def _unscored_notes(test: Part) -> Iterator[Note]:
    """Yields a note on hypotheses without a token that a model could score."""
    has_no_token = np.zeros(test.lists.present.shape, bool)
    for model in test.lists.models:
        has_no_token |= model.num_tokens == 0
    unscored = test.lists.present & has_no_token
    if test.lists.rescored is not None:
        unscored &= test.lists.rescored.scored
    if unscored.any():
        yield Note(
            NoteKind.SCORES,
            f"hypotheses without a token to score, such as empty ones: {unscored.sum():,}; "
            "each got the lowest language model score of its list",
            is_warning=False,
        )


def pick_notes(scored: ScoredProblem, chosen: ChosenWeights, picks: np.ndarray) -> Iterator[Note]:
    """Yields how many picks changed, and how many hypotheses the second of two levels scored.

    `picks`, [L] int64, are those of the chosen weights.
    """
    lists = scored.problem.test.lists

    def num_changed(weights: RerankWeights) -> int:
        return int((picks != select(lists, weights)).sum())

    if chosen.weights.bonus_is_guessed:
        spared = num_changed(replace(chosen.weights, bonus_is_guessed=False))
        if spared:
            number = "1 list" if spared == 1 else f"{spared:,} lists"
            text = (
                f"the guessed length_bonus was left out of {number}, where both scores prefer "
                "another hypothesis"
            )
            yield Note(NoteKind.PICKS, text, is_warning=False)
    text = (
        f"{num_changed(FIRST_PASS):,} of {len(picks):,} picks differ from those of the first pass"
    )
    if scored.models:
        without_model = num_changed(chosen.choice.without_model)
        text += f", and {without_model:,} from those without a model"
    yield Note(NoteKind.PICKS, text, is_warning=False)
    if lists.rescored is not None:
        count = len(lists.nbest)
        few, present = lists.rescored.scored.sum() / count, lists.present.sum() / count
        text = f"rescored {few:.1f} of {present:.1f} hypotheses a list"
        yield Note(NoteKind.LEVELS, text, is_warning=False)
