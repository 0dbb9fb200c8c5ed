"""Scores N-best lists on many machines with Apache Beam.

files -> N-best lists -> Beam's RunInference around `tta.load` -> rows of scores -> JSON lines

Each list is one element of the pipeline, so no list is split and joined again. Output files are
renamed into place when all are complete, `scores.json` last.
"""

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from apache_beam.io import WriteToText
from apache_beam.ml.inference.base import ModelHandler, PredictionResult, RunInference
from apache_beam.pvalue import AsList, AsSingleton

from tta.data.corpus.beam_common import (
    FileSystems,
    add_counts,
    beam,
    find_files,
    names_in,
    open_file,
    output_work_folder,
    publish,
    run_pipeline,
)
from tta.data.nbest.files import iter_nbest
from tta.data.text.lines import iter_lines
from tta.errors import InputError, located, shown
from tta.scoring.combining.decision import decide
from tta.scoring.combining.guess import guess
from tta.scoring.combining.levels import Levels, load_levels
from tta.scoring.combining.part import Part, score_by_each
from tta.scoring.combining.phrases import Phrases, weigh
from tta.scoring.combining.weights import FIRST_PASS, FixedWeights, RerankWeights
from tta.scoring.metrics.metric import load_metric
from tta.scoring.reranking.config import BeamScoreConfig, keeps_non_words, parse_features
from tta.scoring.reranking.outputs import score_rows
from tta.scoring.scorers.options import RerankOptions
from tta.scoring.scorers.scorer import Scorer

INFO_FILE, PREFIX, SUFFIX = "scores.json", "scores", ".jsonl"

SAMPLE_LISTS = 300  # from which weights are guessed

# Hypotheses scored at a time: enough to form batches of similar lengths.
BATCH_HYPOTHESES = 4096


@dataclass(frozen=True)
class SignedScorer:  # not a tuple: Beam needs weak references to it
    """A scorer and its signature, computed once because it is a checksum of all weights."""

    scorer: Scorer
    signature: str


class ScorerHandler(ModelHandler):
    """Lets RunInference score N-best lists with a `tta.scoring.scorers.scorer.Scorer`.

    An example is (file, `NBestList`). Its inference is the `ModelScores` of the list, and its
    `model_id` is the scorer's signature. The arguments are those of `tta.load`; the workers must be
    able to read the model. `Levels` need the weights of the first level, and the metric.
    """

    def __init__(
        self,
        model: str | Levels | None = None,
        first_level: RerankWeights | None = None,
        metric: str = "wer",
        **options,
    ):
        super().__init__(
            min_batch_size=BATCH_HYPOTHESES,
            max_batch_size=BATCH_HYPOTHESES,
            element_size_fn=lambda item: len(item[1].hypotheses),
        )
        self._model, self._options = model, RerankOptions().for_load() | options
        self._given, self._metric = FixedWeights(first_level=first_level), metric

    def load_model(self) -> SignedScorer:
        """Loads the model."""
        scorer = load_levels(self._model, **self._options)
        return SignedScorer(scorer, scorer.signature)

    def run_inference(self, batch, model, inference_args=None):
        """Scores every distinct text of a batch once: a list of `PredictionResult`."""
        metric, levels = load_metric(self._metric), isinstance(model.scorer, Levels)
        parts = []
        for path, one in batch:
            part = Part.build([one], path)
            parts.append(part.compared(metric, False) if levels else part)
        parts, _ = score_by_each(parts, [model.scorer], _ready, self._given, False)
        pairs = zip(batch, parts, strict=True)
        return [
            PredictionResult(item, part.lists.models[0], model.signature) for item, part in pairs
        ]


def score_files(
    config: BeamScoreConfig,
    model: str | Levels | None = None,
    arguments: Sequence[str] = (),
    **load_options,
) -> dict[str, Any]:
    """Scores files of N-best lists and writes the rows of `run_rerank.py --scores_file`.

    Every worker must be able to read the files and the model. `model` and `load_options` are the
    arguments of `tta.load`; `arguments` are Beam's options, such as `--runner=...`.

    Returns:
        The contents of scores.json: `signature`, `lm_weight`, `length_bonus`, `reduction`,
        `decision`, `scale`, `features`, `counts` of `lists`, `hypotheses` and `tokens`, and
        `sources`; of `Levels` also `first_level`, the weights.

    Raises:
        InputError: a file is missing or malformed, the output folder has scores already, the model
            is missing or damaged or gives a score that is not finite, a hypothesis has no feature
            of a name in `features`, or the runner is unknown.
    """
    paths = find_files(config.nbest_file)
    output_dir = config.output_dir
    with output_work_folder(output_dir) as work:
        found = next(filter(_is_output, names_in(output_dir)), None)
        if found is not None and not config.overwrite:
            path = FileSystems.join(output_dir, found)
            raise InputError("exists; pass --overwrite to replace the scores", path)
        [lm] = config.levels([model])
        weights, phrases, first_level = config.weights, None, None
        if weights is None or config.phrases_file is not None or isinstance(lm, Levels):
            weights, phrases = _guess(config, paths, ScorerHandler(lm, **load_options))
            first_level = weights.first_level
        handler = ScorerHandler(lm, first_level, config.metric, **load_options)

        def build(pipeline):
            scored = (
                pipeline
                | "Files" >> beam.Create(paths)
                | "SpreadFiles" >> beam.Reshuffle()
                | "Read" >> beam.FlatMap(_read, config)
                | "SpreadLists" >> beam.Reshuffle()
                | "Score" >> RunInference(handler)
            )
            rows = scored | "Rows" >> beam.FlatMap(_rows, weights, config.metric, phrases)
            start = FileSystems.join(work, PREFIX)
            files = rows | "Write" >> WriteToText(start, SUFFIX, num_shards=config.num_shards)
            each = scored | "Each" >> beam.Map(_counts)
            counts = each | "Count" >> beam.CombineGlobally(add_counts)
            results = AsList(files), AsSingleton(counts)
            settings = output_dir, work, weights, paths
            end = pipeline | "End" >> beam.Create([None])
            _ = end | "Publish" >> beam.Map(_publish, *results, settings)

        run_pipeline(build, arguments)
    with open_file(FileSystems.join(output_dir, INFO_FILE)) as file:
        return json.load(file)


def _guess(
    config: BeamScoreConfig, paths: Sequence[str], handler: ScorerHandler
) -> tuple[RerankWeights, Phrases | None]:
    """Guesses the weights that are not given from the first `SAMPLE_LISTS` lists; the phrases."""
    metric, phrases = load_metric(config.metric), None
    if config.phrases_file is not None:
        lines = iter_lines(config.phrases_file, open_file)
        phrases = Phrases(lines, metric, config.phrases_file, keeps_non_words(config))
    lists = (one for path in paths for _, one in _read(path, config) if one.hypotheses)
    sample = list(itertools.islice(lists, SAMPLE_LISTS))
    if not sample:
        return config.weights or FIRST_PASS, None
    part = Part.build(sample).compared(metric, measured=False)
    features = parse_features(config.features)
    given = FixedWeights(
        length_bonus=config.length_bonus,
        reduction=config.reduction,
        scale=config.scale,
        features=dict.fromkeys(part.lists.features) if features is None else features,
    )
    scorer = handler.load_model().scorer
    (part,), lm = score_by_each([part], [scorer], _ready, given, False)
    weights = config.weights or guess(part.lists, given).rounded(given)
    weights = replace(weights, first_level=part.lists.rescored and part.lists.rescored.weights)
    if phrases is not None and lm is not None:
        phrases.leave_out(lm.is_common)
        weights = weigh(part.lists, phrases, weights, config.phrases_weight).weights
    return weights, phrases


def _ready(lm: Scorer) -> Scorer:
    """Loads nothing: the model is loaded."""
    return lm


def _read(path, config):
    """Yields (file, list)."""
    given = config.format, config.beam_size, open_file, config.scores, keeps_non_words(config)
    for one in iter_nbest(path, *given):
        yield path, one


def _rows(result, weights, metric, phrases):
    """Yields the rows of a list as JSON lines, best first, or nothing if the list is empty.

    The rows are one str, which keeps them together in a file.
    """
    path, one = result.example
    if not one.hypotheses:
        return
    losses = weights.decision == "mbr"
    part = Part.build([one], path).compared(load_metric(metric), False, losses)
    with located(path=path):
        part = replace(part, lists=replace(part.lists, models=(result.inference,)))
        with located(f"list {shown(one.utterance_id)}"):
            lists = part.lists if phrases is None else weigh(part.lists, phrases, weights).lists
            decision = decide(lists, weights)
    rows = score_rows(decision, ["lm"])
    yield "\n".join(json.dumps({"file": path, **row}, ensure_ascii=False) for row in rows)


def _counts(result):
    """What a list adds to the counts. Counting signatures shows whether all are the same."""
    _, one = result.example
    return {
        "lists": 1,
        "hypotheses": len(one.hypotheses),
        "tokens": int(result.inference.num_tokens.sum()),
        result.model_id: 1,
    }


def _publish(_, files, counts, settings):
    output_dir, work, weights, paths = settings
    counted = {name: counts.pop(name) for name in ("lists", "hypotheses", "tokens")}
    if len(counts) > 1:
        raise InputError(f"workers used different models: {' and '.join(counts)}")
    used = weights.to_dict()
    kept = ("lm_weight", "length_bonus", "reduction", "decision", "scale", "features")
    info = {
        "signature": next(iter(counts)),
        **{name: used[name] for name in kept},
        **({"first_level": used["first_level"]} if weights.first_level else {}),
        "counts": counted,
        "sources": paths,
    }
    names = [FileSystems.split(path)[1] for path in files]
    texts = {INFO_FILE: json.dumps(info, indent=2) + "\n"}
    publish(output_dir, work, {name: name for name in names}, texts, _is_output)


def _is_output(name):
    return name == INFO_FILE or (name.startswith(f"{PREFIX}-") and name.endswith(SUFFIX))
