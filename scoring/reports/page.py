"""The report as a page: one self-contained HTML file without scripts, for light and dark mode."""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from tta.scoring.combining.decision import Decision, decide
from tta.scoring.combining.weights import (
    FIRST_PASS,
    FIRST_PASS_SCORE,
    LM_SCORE,
    NUM_WORDS,
    RerankWeights,
)
from tta.scoring.phrases.phrases import Phrases, candidate_of
from tta.scoring.reports import table
from tta.scoring.reports.evaluation import VERDICTS, Change
from tta.scoring.reports.marked_text import mark
from tta.scoring.scorers.scorer import Scorer, TokenScores
from tta.scoring.words.confidence import Confidences, WordConfidence

if TYPE_CHECKING:
    import jinja2

# Only the utterances with the largest changes are shown, which limits a page to about a megabyte.
MAX_UTTERANCES = 200

# The natural log-probabilities at which the colour of a token changes.
LEVELS = (-1.0, -2.0, -4.0, -6.0, -9.0)

# The probabilities at which the colour of a word's confidence changes.
CONFIDENCES = (0.95, 0.85, 0.7, 0.5, 0.3)

# Utterances that are shown because their words are unsure.
MAX_UNSURE = 50

_TEMPLATES = Path(__file__).parent / "templates"

TIMES = "\N{MULTIPLICATION SIGN}"

# What a page calls the columns of a combined score; features and models have their own names.
_HEADINGS = {FIRST_PASS_SCORE: "first pass", LM_SCORE: "model", NUM_WORDS: "words"}


def write_page(
    stream: TextIO,
    report: table.Report,
    decision: Decision,
    changes: Sequence[Change],
    *,
    curve: str | None = None,
    colours: Scorer | None = None,
    confidences: Confidences | None = None,
    phrases: Phrases | None = None,
) -> None:
    """Writes the page of a report, which shows its test lists.

    Args:
        stream: where it is written.
        report: the table, notes and signatures.
        decision: the order of the test lists.
        changes: the picks that changed (`find_changes`).
        curve: an SVG file with the weight curve.
        colours: the model whose token scores give the colours of the tokens; None for no colours.
        confidences: those of the words of the picks.
        phrases: whose words are marked.
    """
    from markupsafe import Markup

    normalize = str if report.metric is None else report.metric.normalize
    evaluation = report.test.evaluation
    values = {
        "style": Markup(style()),
        "path": report.test.path,
        "num_lists": report.test.num_lists,
        "lists": table.format_count(report.test.num_lists, "list", "lists"),
        "table": _table(report),
        "notes": [*(evaluation.notes if evaluation else ()), *report.notes],
        "signatures": report.signatures,
        "curve": Markup(_themed(curve)) if curve else "",
        "num_changes": len(changes),
        "counts": {verdict: sum(c.verdict == verdict for c in changes) for verdict in VERDICTS},
        "columns": list(map(_heading, decision.weights.by_column(report.names))),
        "formula": formula(decision.weights, report.names),
        "bonus_is_guessed": decision.weights.bonus_is_guessed,
        "utterances": list(
            _utterances(
                decision,
                changes[:MAX_UTTERANCES],
                terms=decision.terms(report.names),
                colours=colours,
                normalize=normalize,
                confidences=confidences,
                phrases=phrases,
            )
        ),
        "phrases": phrases,
        "unsure": [] if confidences is None else list(_unsure(decision, confidences)),
        "expected": report.test.expected,
        "sure_legend": legend(CONFIDENCES),
        "colours": "" if colours is None else colours.name,
        "legend": legend(),
        "level": level,
        "number": table.format_number,
    }
    stream.writelines(_environment().get_template("rerank_report.html").generate(values))


def _environment() -> "jinja2.Environment":
    """What reads the templates."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,  # hypotheses may contain anything, even <script>
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _table(report: table.Report) -> dict[str, Any] | None:
    """The values of the template's table; None if nothing is measured."""
    evaluation, metric = report.test.evaluation, report.metric
    if evaluation is None or metric is None:
        return None
    rows = evaluation.rows
    *_, final = (row for row in rows if row.weights is not None)
    headings, *cells = table.table_cells(rows, metric)
    return {
        "metric": metric.name,
        "before": rows[0],
        "after": final,
        "interval": table.format_interval(final.interval, ".1f"),
        "headings": headings,
        "rows": cells,
        "differences": [
            table.format_difference(difference, metric) for difference in evaluation.differences
        ],
    }


def formula(weights: RerankWeights, model_names: Sequence[str]) -> str:
    """The combined score in words: the sum of all that counts, each times its weight."""
    parts = [
        f"{table.format_number(weight, '.3g')} {TIMES} {_heading(column)}"
        for column, weight in weights.by_column(model_names).items()
        if weight
    ]
    return f"combined = {' + '.join(parts) or '0'}".replace("+ -", "- ")


def _heading(column: str) -> str:
    """The heading of a column of the combined score."""
    if column in _HEADINGS:
        return _HEADINGS[column]
    kind, _, name = column.partition(".")
    return name.removesuffix(f".{LM_SCORE}") if kind == "models" else name


def style() -> str:
    """The CSS that this page shares with that of tta demo."""
    return (_TEMPLATES / "page.css").read_text(encoding="utf-8")


def level(value: float, bounds: Sequence[float] = LEVELS) -> int:
    """The colour of a token, from 0 (probable) to `len(bounds)` (improbable)."""
    return sum(value < bound for bound in bounds)


def legend(bounds: Sequence[float] = LEVELS) -> list[str]:
    """The range of values of each level, as text: by default natural log-probabilities."""
    names = [f"≥ {bounds[0]:g}"]
    names += [f"{a:g} to {b:g}" for a, b in itertools.pairwise(bounds)]
    return [*names, f"< {bounds[-1]:g}"]


def sure_words(words: Sequence[WordConfidence]) -> list[dict[str, Any]]:
    """What pages show of the confidences of a pick: text, level and an explanation of each word."""
    return [
        {
            "text": word.word,
            "level": level(word.probability, CONFIDENCES),
            "tip": f"{word.word}: {word.probability:.0%} sure"
            + (
                f"; rival: {word.rival or '(no word)'}, {word.rival_probability:.0%}"
                if word.rival is not None
                else ""
            ),
        }
        for word in words
    ]


def _unsure(decision: Decision, confidences: Confidences) -> Iterator[dict[str, Any]]:
    """Yields the template's values for the picks with the most expected errors."""
    order = np.argsort(-confidences.errors, kind="stable")[:MAX_UNSURE]
    for number in order[confidences.errors[order] > 0]:
        nbest_list = decision.lists.nbest[number]
        yield {
            "id": nbest_list.utterance_id,
            "errors": float(confidences.errors[number]),
            "sure": sure_words(confidences.words[number]),
        }


def _utterances(
    decision: Decision,
    changes: Sequence[Change],
    *,
    terms: Mapping[str, np.ndarray],
    colours: Scorer | None,
    normalize: Callable[[str], str],
    confidences: Confidences | None,
    phrases: Phrases | None,
) -> Iterator[dict[str, Any]]:
    """Yields the template's values for each change."""
    nbest = decision.lists.nbest
    picked = [
        nbest[change.number].hypotheses[pick].text
        for change in changes
        for pick in (change.before, change.after)
    ]
    texts = list(dict.fromkeys(picked))
    token_scores = dict.fromkeys(texts, TokenScores([], np.zeros(0)))
    if colours is not None and texts:
        token_scores = dict(zip(texts, colours.score_tokens(texts), strict=True))

    first_pass = decide(decision.lists, FIRST_PASS).combined
    losses = decision.expected_losses
    for change in changes:
        number, nbest_list = change.number, nbest[change.number]
        ranks = np.argsort(np.argsort(-first_pass[number], kind="stable")) + 1
        sides = []
        for pick in (change.before, change.after):
            hypothesis = nbest_list.hypotheses[pick]
            tokens = token_scores[hypothesis.text]
            words, loose = mark(hypothesis.text, nbest_list.reference, tokens, normalize)
            inside = iter(phrases.words_inside(hypothesis.text) if phrases else ())
            words = [
                replace(w, is_in_phrase=w.error != "deleted" and next(inside, False)) for w in words
            ]
            sides.append(
                {
                    "words": words,
                    "candidate": candidate_of(hypothesis),
                    "loose": loose,
                    "errors": sum(word.error != "" for word in words),
                    "first_pass_rank": int(ranks[pick]),
                    "first_pass_score": hypothesis.score,
                    "lm_score": float(decision.lm_scores[number, pick]),
                    "terms": [float(values[number, pick]) for values in terms.values()],
                    "combined": float(decision.combined[number, pick]),
                    "posterior": float(decision.posteriors[number, pick]),
                    "expected_loss": None if losses is None else float(losses[number, pick]),
                }
            )
        yield {
            "id": nbest_list.utterance_id,
            "reference": nbest_list.reference,
            "verdict": change.verdict,
            "size": len(nbest_list.hypotheses),
            "before": sides[0],
            "after": sides[1],
            "sure": [] if confidences is None else sure_words(confidences.words[number]),
        }


def _themed(svg):
    """Replaces black by the colour of the page's text, and removes the white background."""
    svg = svg[svg.index("<svg") :]  # an XML declaration is not allowed inside a page
    svg = re.sub("(fill|stroke): ?#000000", r"\1: currentColor", svg)
    return re.sub("(fill|stroke): ?#ffffff", r"\1: none", svg)
