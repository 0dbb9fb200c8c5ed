"""Scores of N-best lists on Apache Beam: `tta.scoring.reranking.rerank` over many machines.

files -> N-best lists -> Beam's RunInference around `tta.load` -> rows of scores -> JSON lines,
moved into place when all are complete, with `scores.json` last

A list is an element: nothing of it is split up, and nothing has to be joined again.
"""

import json
from dataclasses import dataclass

from apache_beam.io import WriteToText
from apache_beam.ml.inference.base import ModelHandler, PredictionResult, RunInference

import tta
from tta.data.corpus.beam_common import (
    FileSystems,
    add_counts,
    beam,
    names_in,
    open_file,
    output_work_folder,
    publish,
    run_pipeline,
)
from tta.data.nbest.files import iter_nbest
from tta.errors import InputError
from tta.scoring.combining.mixture import MixtureWeights
from tta.scoring.combining.scored_lists import ScoredLists
from tta.scoring.reranking.outputs import score_rows
from tta.scoring.scorers.scorer import Scorer

INFO_FILE, PREFIX, SUFFIX = "scores.json", "scores", ".jsonl"

# Hypotheses scored at a time: enough to sort them into batches of about one length.
BATCH_HYPOTHESES = 4096


@dataclass(frozen=True)
class SignedScorer:
    """A scorer with its signature, which is a sum over all weights: computed once."""

    scorer: Scorer
    signature: str


class ScorerHandler(ModelHandler):
    """Lets RunInference score N-best lists with a `tta.scoring.scorers.scorer.Scorer`.

    An example is (file, `NBestList`); its inference is {text: (sum of its token scores, natural
    log; number of tokens)}, and the `model_id` the scorer's signature.

    Args:
        model: what `tta.load` takes, within the workers' reach; None is the built-in model.
        **options: what else `tta.load` takes.
    """

    def __init__(self, model=None, **options):
        super().__init__(
            min_batch_size=BATCH_HYPOTHESES,
            max_batch_size=BATCH_HYPOTHESES,
            element_size_fn=_num_hypotheses,
        )
        self._model, self._options = model, options

    def load_model(self):
        """Loads the model: a `SignedScorer`."""
        scorer = tta.load(self._model, **self._options)
        return SignedScorer(scorer, scorer.signature)

    def run_inference(self, batch, model, inference_args=None):
        """Scores every distinct text of a batch once; a list of `PredictionResult`."""
        texts = list(dict.fromkeys(h.text for _, one in batch for h in one.hypotheses))
        sums, counts = model.scorer.score_with_counts(texts)
        pairs = zip(sums.tolist(), counts.tolist(), strict=True)
        scores = dict(zip(texts, pairs, strict=True))
        return [
            PredictionResult(
                item, {h.text: scores[h.text] for h in item[1].hypotheses}, model.signature
            )
            for item in batch
        ]

    def get_num_bytes(self, batch):
        """Bytes of text in a batch, for Beam's metrics."""
        return sum(len(h.text) for _, one in batch for h in one.hypotheses)


def score_files(
    paths,
    output_dir,
    weights,
    arguments=(),
    model=None,
    format=None,
    beam_size=None,
    num_shards=0,
    overwrite=False,
    **load_options,
):
    """Scores files of N-best lists and writes the rows of `run_rerank.py --scores_file`.

    Args:
        paths: files (str) that every worker can read.
        output_dir: the folder (str) to write to, within every worker's reach; made if missing.
        weights: `RerankWeights`, what `combined` is made with.
        arguments: Beam's options, a list of str, `--runner` and so on.
        model, **load_options: what `tta.load` takes; a model directory within the workers' reach.
        format, beam_size: as `read_nbest` takes them.
        num_shards: number of files to write; 0 leaves it to the engine.
        overwrite: whether to replace scores in that folder.

    Returns:
        A dict, as in scores.json: `signature`, `lm_weight`, `length_bonus`, `reduction`, `counts`
        of `lists`, `hypotheses` and `tokens`, and `sources`.

    Raises:
        InputError: a file is malformed, scores are there already, the model is missing or damaged
            or gave a score that is not finite, or the runner is unknown.
    """
    with output_work_folder(output_dir) as work:
        if not overwrite:
            _refuse_existing(output_dir)

        def build(pipeline):
            scored = (
                pipeline
                | "Files" >> beam.Create(paths)
                | "SpreadFiles" >> beam.Reshuffle()
                | "Read" >> beam.FlatMap(_read, format, beam_size)
                | "SpreadLists" >> beam.Reshuffle()
                | "Score" >> RunInference(ScorerHandler(model, **load_options))
            )
            files = (
                scored
                | "Rows" >> beam.Map(_rows, weights)
                | "Write"
                >> WriteToText(FileSystems.join(work, PREFIX), SUFFIX, num_shards=num_shards)
            )
            counts = (
                scored | "Each" >> beam.Map(_counts) | "Count" >> beam.CombineGlobally(add_counts)
            )
            _ = (
                pipeline
                | "End" >> beam.Create([None])
                | "Publish"
                >> beam.Map(
                    _publish,
                    beam.pvalue.AsList(files),
                    beam.pvalue.AsSingleton(counts),
                    (output_dir, work, weights, paths),
                )
            )

        run_pipeline(build, arguments)
    with open_file(FileSystems.join(output_dir, INFO_FILE)) as file:
        return json.load(file)


def _num_hypotheses(item):
    return len(item[1].hypotheses)


def _read(path, format, beam_size):
    for one in iter_nbest(path, format, beam_size, open_file):
        yield path, one


def _rows(result, weights):
    """A list's rows as lines of JSON, best first: one str, for they stay together in a file."""
    path, one = result.example
    models = [ScoredLists.build([one], result.inference)]
    rows = score_rows([one], ["lm"], models, MixtureWeights.single(0, 1, weights))
    return "\n".join(json.dumps({"file": path, **row}, ensure_ascii=False) for row in rows)


def _counts(result):
    """What a list adds to the counts; under its signature, that all of them may be compared."""
    _, one = result.example
    return {
        "lists": 1,
        "hypotheses": len(one.hypotheses),
        "tokens": sum(result.inference[h.text][1] for h in one.hypotheses),
        result.model_id: 1,
    }


def _publish(_, files, counts, settings):
    output_dir, work, weights, paths = settings
    counted = {name: counts.pop(name) for name in ("lists", "hypotheses", "tokens")}
    if len(counts) > 1:
        raise InputError(f"the workers scored with different models: {' and '.join(counts)}")
    info = {
        "signature": next(iter(counts)),
        "lm_weight": weights.lm_weight,
        "length_bonus": weights.length_bonus,
        "reduction": weights.reduction,
        "counts": counted,
        "sources": paths,
    }
    names = [FileSystems.split(path)[1] for path in files]
    publish(
        output_dir,
        work,
        {name: name for name in names},
        {INFO_FILE: json.dumps(info, indent=2) + "\n"},
        _is_scores,
    )


def _refuse_existing(output_dir):
    for name in names_in(output_dir):
        if name == INFO_FILE or _is_scores(name):
            path = FileSystems.join(output_dir, name)
            raise InputError("scores are here; pass --overwrite to replace them", path)


def _is_scores(name):
    return name.startswith(f"{PREFIX}-") and name.endswith(SUFFIX)
