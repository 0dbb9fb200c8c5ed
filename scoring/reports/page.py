"""The report as a page: one self-contained HTML file, without scripts, for light and dark mode."""

import itertools
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tta.scoring.combining.mixture import MixtureWeights
from tta.scoring.combining.scored_lists import FIRST_PASS, combine, mix, select
from tta.scoring.reports.marked_text import mark
from tta.scoring.reports.table import format_difference, format_interval, format_row, headings

# Utterances shown, those with the largest change first: a page of at most about a megabyte.
MAX_UTTERANCES = 200

# Natural log-probabilities at which a token's colour changes.
LEVELS = (-1.0, -2.0, -4.0, -6.0, -9.0)

VERDICTS = ("better", "worse", "neither")

_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Change:
    """An utterance whose pick changed.

    Attributes:
        number: of its list, from 0.
        before, after: the number of the first pass's and of the reranked hypothesis.
        verdict: "better", "worse" or "neither"; "" where there is no reference.
        size: how much it changed, to sort by: the difference in the metric's goodness, or of the
            combined scores where there is no reference.
    """

    number: int
    before: int
    after: int
    verdict: str
    size: float


def find_changes(nbest_lists, models, mixture, metric=None, statistics=None):
    """The utterances for which reranking picks another text than the first pass.

    Args:
        nbest_lists: L `NBestList`.
        models: K `ScoredLists` of them.
        mixture: `MixtureWeights`.
        metric: `WordErrorRate` or `Bleu`, or None where nothing is measured.
        statistics: [L, N, S] int64, see `reranking.count_statistics`; None without a metric.

    Returns:
        A list of `Change`, the largest first.
    """
    lists = mix(models, mixture.shares)
    before, after = select(lists, FIRST_PASS), select(lists, mixture.weights)
    goodness = combine(lists, mixture.weights) if metric is None else metric.goodness(statistics)
    changes = []
    for number, (one, i, j) in enumerate(zip(nbest_lists, before, after, strict=True)):
        if one.hypotheses[i].text != one.hypotheses[j].text:
            size = float(goodness[number, j] - goodness[number, i])
            verdict = "better" if size > 0 else "worse" if size < 0 else "neither"
            verdict = "" if metric is None else verdict
            changes.append(Change(number, int(i), int(j), verdict, abs(size)))
    return sorted(changes, key=lambda change: -change.size)


@dataclass(frozen=True)
class Page:
    """What a page is made of.

    Attributes:
        part: the lists that were reranked: `path`, `nbest`, `models`, `statistics`, `evaluation`.
        mixture: `MixtureWeights` of the reranking.
        metric: `WordErrorRate` or `Bleu`, or None where nothing is measured.
        notes, signatures: lines of text.
        curve: the weight curve, an SVG file's bytes; empty where there is none.
    """

    part: object
    mixture: MixtureWeights
    metric: object
    notes: list
    signatures: list
    curve: bytes


def write_report(stream, page, colours):
    """Writes a page.

    Args:
        stream: a text stream.
        page: a `Page`.
        colours: the model that colours tokens: its `score_tokens` and `name` are used.
    """
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,  # hypotheses may hold anything, <script> too
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    part = page.part
    metric = page.metric if part.evaluation else None  # the dev lists alone may have references
    changes = find_changes(part.nbest.lists, part.models, page.mixture, metric, part.statistics)
    values = {
        "path": part.path,
        "num_lists": len(part.nbest.lists),
        "table": None,
        "notes": page.notes,
        "signatures": page.signatures,
        "curve": Markup(_themed(page.curve.decode())) if page.curve else "",
        "num_changes": len(changes),
        "counts": {verdict: sum(c.verdict == verdict for c in changes) for verdict in VERDICTS},
        "utterances": list(_utterances(part, page.mixture, changes[:MAX_UTTERANCES], colours)),
        "colours": colours.name,
        "legend": legend(),
        "level": level,
    }
    if part.evaluation is not None:
        rows = part.evaluation.rows
        *_, final = (row for row in rows if row.weights is not None)
        values["table"] = {
            "metric": page.metric.name,
            "before": rows[0],
            "after": final,
            "interval": format_interval(final.interval, ".1f"),
            "headings": headings(rows, page.metric),
            "rows": [format_row(row) for row in rows],
            "differences": [
                format_difference(one, page.metric) for one in part.evaluation.differences
            ],
        }
    environment.get_template("rerank_report.html").stream(values).dump(stream)


def level(log_probability):
    """The colour of a token: 0, probable, to `len(LEVELS)`, improbable."""
    return sum(log_probability < bound for bound in LEVELS)


def legend():
    """What each level means, as text: natural log and probability."""
    names = [f"≥ {LEVELS[0]:g}"]
    names += [f"{a:g} to {b:g}" for a, b in itertools.pairwise(LEVELS)]
    return [*names, f"< {LEVELS[-1]:g}"]


def _utterances(part, mixture, changes, colours):
    """Yields what the template shows of each change."""
    picked = [
        part.nbest.lists[change.number].hypotheses[pick].text
        for change in changes
        for pick in (change.before, change.after)
    ]
    texts = list(dict.fromkeys(picked))
    token_scores = dict(zip(texts, colours.score_tokens(texts), strict=True)) if texts else {}

    lists = mix(part.models, mixture.shares)
    combined = combine(lists, mixture.weights)
    first_pass = combine(lists, FIRST_PASS)
    for change in changes:
        one, number = part.nbest.lists[change.number], change.number
        ranks = np.argsort(np.argsort(-first_pass[number], kind="stable")) + 1
        sides = []
        for pick in (change.before, change.after):
            hypothesis = one.hypotheses[pick]
            words, loose = mark(hypothesis.text, one.reference, token_scores[hypothesis.text])
            sides.append(
                {
                    "words": words,
                    "loose": loose,
                    "errors": sum(word.error != "" for word in words),
                    "first_pass_rank": int(ranks[pick]),
                    "first_pass_score": hypothesis.score,
                    "lm_score": float(lists.lm[mixture.weights.reduction][number, pick]),
                    "combined": float(combined[number, pick]),
                }
            )
        yield {
            "id": one.utterance_id,
            "reference": one.reference,
            "verdict": change.verdict,
            "size": len(one.hypotheses),
            "before": sides[0],
            "after": sides[1],
        }


def _themed(svg):
    """A figure of matplotlib's with the page's own ink in place of black, on no background."""
    svg = svg[svg.index("<svg") :]  # an XML declaration has no place within a page
    svg = re.sub("(fill|stroke): ?#000000", r"\1: currentColor", svg)
    return re.sub("(fill|stroke): ?#ffffff", r"\1: none", svg)
