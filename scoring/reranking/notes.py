"""The notes of run_rerank.py: what a reader of its numbers must know."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tta.data.nbest.files import NBestFile
from tta.data.nbest.notes import (
    blank_notes,
    bleu_notes,
    feature_notes,
    mixture_notes,
    score_notes,
    text_notes,
)
from tta.errors import InputError, shown
from tta.scoring.combining.decision import select
from tta.scoring.combining.guess import extreme
from tta.scoring.combining.list_features import LIST_FEATURES
from tta.scoring.combining.part import Part
from tta.scoring.combining.scored_lists import RANK, ListStatistics
from tta.scoring.combining.systems import WITHOUT_MODEL, Systems
from tta.scoring.combining.weights import FIRST_PASS
from tta.scoring.metrics.folding import folding_notes
from tta.scoring.metrics.metric import load_metric
from tta.scoring.reports.table import PartReport
from tta.scoring.reranking.config import RerankConfig

# Fewer dev lists than this hardly move the weights (docs/reranking.md, the learning curve).
FEW_LISTS = 30


def find_notes(
    config: RerankConfig,
    files: Sequence[NBestFile],
    dev: Part | None,
    test: Part,
    systems: Systems,
    report: PartReport,
) -> Iterator[str]:
    """Yields what a reader of the numbers must know, one line each.

    Args:
        files: the files of the lists, that of the test lists last.
        dev, test: the lists with the models' scores.
        report: what was measured on the test lists.
    """
    yield from _worse(report, test, list(systems.reranked)[-1])
    yield from _conventions(config, test, files[-1])
    texts_of_lists = (
        [*(h.text for h in one.hypotheses), one.reference or ""] for one in test.nbest
    )
    yield from folding_notes(config.normalize, texts_of_lists)
    yield from _first_pass(test)
    for part, file in zip(filter(None, (dev, test)), files, strict=True):
        found = [*file.notes, *mixture_notes(file), *text_notes(file), *feature_notes(file, files)]
        yield from (f"{part.path}: {note}" for note in found)
        if config.scores is None:
            yield from (f"{part.path}: {note}" for note in score_notes(file))
    yield from _lists(dev, test)
    yield from _weights(config, dev, test, systems)
    yield from _picks(test, systems)
    for part in filter(None, (dev, test)):
        yield from _extremes(part)
    yield from _unmeasured(test)
    if (rescored := test.lists.rescored) is not None:
        few, all = (one.sum() / len(test.nbest) for one in (rescored.scored, test.lists.present))
        yield f"rescored {few:.1f} of {all:.1f} hypotheses a list"


def _first_pass(test: Part) -> Iterator[str]:
    """Yields a note if the lists lack usable first-pass scores."""
    if test.lists.ranked:
        yield (
            "no first-pass scores: -ln(rank in the list) is used, because lists are usually "
            "ordered best first (--norank_scores)"
        )
    elif not test.has_scores and not test.lists.models:
        yield "no first-pass scores and no model: only the texts of a list decide"
    elif not test.has_scores:
        yield "no first-pass scores: reranked by the language model and the texts of a list"
    elif not test.lists.has_scores:
        yield "the first-pass scores of a list are all equal: they do not decide"


def _lists(dev: Part | None, test: Part) -> Iterator[str]:
    """Yields notes on the lists themselves."""
    if dev is not None:
        known, ours = ([frozenset(x.hypotheses) for x in part.nbest] for part in (dev, test))
        count = sum(len(one) > 1 for one in set(known).intersection(ours))
        which = f"test lists that are also dev lists: {count:,} of {len(set(ours)):,}"
        if set(known) == set(ours):
            which = "the dev lists equal the test lists"
        if count:
            yield f"{which}: the gain is overestimated, because the weights were tuned on them"
    for part in filter(None, (dev, test)):
        empty = [one.utterance_id for one in part.nbest if not one.hypotheses]
        if empty:
            yield (
                f"lists without hypotheses in {part.path}: {len(empty):,}, "
                f"first {shown(empty[0])}; they stay empty, and are measured as an empty hypothesis"
            )


def _weights(config: RerankConfig, dev: Part | None, test: Part, systems: Systems) -> Iterator[str]:
    """Yields how the weights were found, if they were not given."""
    weights, models = systems.final, test.lists.models
    chosen = {"lm_weight": bool(models), "length_bonus": True, "scale": weights.decision == "mbr"}
    free = [name for name, is_used in chosen.items() if is_used and getattr(config, name) is None]
    if weights.lm_weight == 1 and config.lm_weight is None and test.has_scores:
        yield "first-pass scores differ so much that lm_weight rounds to 1: divide them to use them"
    if dev is None and free:
        yield f"guessed, as there is no --dev_nbest_file: {', '.join(free)}"
        if len(models) > 1 and "lm_weight" in free:
            yield "the models have equal weights"
    elif dev is not None and free:
        if len(dev.nbest) < FEW_LISTS:
            words = sum(len((one.reference or "").split()) for one in dev.nbest)
            free += [name for name in weights.features if name not in (config.features or ())]
            yield (
                f"few dev lists: {len(dev.nbest)}, with {words:,} words, for {len(free)} weights; "
                "so the weights stay near those that are guessed without dev lists"
            )
        for name, one in systems.reranked.items():
            if one.shares and not (one.lm_weight or config.lm_weight):
                yield f"{name}: on the dev lists the model does not help: its weight is 0"
    unused = sorted(test.lists.features.keys() - weights.features.keys() - {RANK, *LIST_FEATURES})
    if dev is None and config.features is None and unused:
        yield f"features not used, because nothing is tuned: {', '.join(unused)}"
    if config.decision is None and test.lists.losses is None:
        yield "the decision mbr was not tried: the pairs of hypotheses do not fit into memory"


def _picks(test: Part, systems: Systems) -> Iterator[str]:
    """Yields how many picks changed."""
    picks = select(test.lists, systems.final)

    def changed(weights):
        return f"{(picks != select(test.lists, weights)).sum():,}"

    if systems.final.bonus_is_guessed:
        kept = select(test.lists, replace(systems.final, bonus_is_guessed=False))
        if lost := (picks != kept).sum():
            yield (
                f"the guessed length_bonus was left out of {lost:,} lists, where both scores "
                "prefer another hypothesis"
            )
    note = f"of {len(picks):,} picks, {changed(FIRST_PASS)} differ from those of the first pass"
    if WITHOUT_MODEL in systems.alone:
        note += f", and {changed(systems.alone[WITHOUT_MODEL])} from those without a model"
    yield note


def _extremes(part: Part) -> Iterator[str]:
    """Yields a note on scores so extreme that the scale of the scores is measured without them."""
    columns = [("first-pass", part.lists.first_pass)]
    columns += [("model", model.reduced["sum"]) for model in part.lists.models]
    for name, scores in columns:
        found = extreme(part.lists, scores)
        if found.any():
            i, j = np.argwhere(found)[0]
            yield (
                f"extreme {name} scores in {part.path}: {found.sum():,}, first {scores[i, j]:g} in "
                f"list {shown(part.nbest[i].utterance_id)}; the scale of the scores is measured "
                "without them"
            )


def _unmeasured(test: Part) -> Iterator[str]:
    """Yields what could not be measured or scored."""
    if not test.has_references:
        yield "no references: nothing measured"
    elif missing := sum(one.reference is None for one in test.nbest):
        yield (
            f"measured on {len(test.nbest) - missing:,} of {len(test.nbest):,} lists: the others "
            "have no reference"
        )
    unscored = test.lists.present & np.any(
        [one.num_tokens == 0 for one in test.lists.models], axis=0
    )
    if test.lists.rescored is not None:
        unscored &= test.lists.rescored.scored
    if unscored.any():
        yield (
            f"hypotheses without a token to score, such as empty ones: {unscored.sum():,}; "
            "each got the lowest language model score of its list"
        )


def _conventions(config: RerankConfig, test: Part, file: NBestFile) -> Iterator[str]:
    """Yields notes on what the metric compares: blanks between words, case and punctuation."""
    if test.statistics is None:
        return
    name = test.statistics.metric.name
    if several := sum(bool(one.more_references) for one in test.nbest):
        yield f"several references of {several:,} lists: {name} compares with all of them"
    if name == "BLEU":
        yield from bleu_notes(file, config.bleu_tokenize)
    if name not in ("WER", "CER"):
        return
    if name == "WER":
        yield from blank_notes(file)
    picks = select(test.lists, FIRST_PASS)
    picked = [
        replace(one, hypotheses=one.hypotheses[i : i + 1])
        for one, i in zip(test.nbest, picks, strict=True)
    ]
    basic = ListStatistics.build(picked, load_metric(name.lower(), normalize="basic"))
    with contextlib.suppress(InputError):  # the references are nothing but punctuation
        before, after = test.statistics.value(picks), basic.value(np.zeros(len(picked), int))
        if after < 0.9 * before:
            yield (
                f"case and punctuation count as errors: with --normalize=basic, the {name} of the "
                f"first pass is {after:.2f}, not {before:.2f}"
            )


def _worse(report: PartReport, test: Part, name: str) -> Iterator[str]:
    """Yields a note if the references show that the system of that name made the lists worse."""
    if test.statistics is None:
        return
    metric = test.statistics.metric
    before, after = report.row("first pass"), report.row(name)
    change = round(after.value - before.value, 2)  # as printed
    if change < 0 if metric.higher_is_better else change > 0:
        values = f"{metric.name} {after.value:.2f}, first pass {before.value:.2f}"
        chance = "" if after.interval[1] < 0 else "; the difference may be chance"
        yield f"{name} is worse than the first pass: {values}{chance}"
