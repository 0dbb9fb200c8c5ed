"""Fine-tuning on N-best lists: what is held out, what it learns, and which input it refuses."""

import dataclasses
import functools
import itertools
import json
import os
import signal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tta
from tests.tiny import CONFIG, without_graphs, write_model_directory
from tta.data.nbest.files import read_nbest
from tta.errors import InputError
from tta.scoring.adaptation import list_training, lists
from tta.scoring.adaptation.adapt import adapt
from tta.scoring.adaptation.config import AdaptationConfig
from tta.scoring.combining.decision import decide
from tta.scoring.combining.scored_lists import ListStatistics, ScoredLists
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.metrics.metric import load_metric
from tta.scoring.metrics.risk import PairwiseLosses

pytestmark = pytest.mark.tensorflow

NAMES = ("cat", "dog", "mat", "a", "b", "c", "d", "e")
WER = load_metric("wer")
ONE_LAYER = CONFIG.replace(num_hidden_layers=1)  # where nothing is to be learned


def some_lists():
    """120 lists of 60 references: after "sat" comes "on", after "ran" comes "home"."""
    rng = np.random.default_rng(0)
    triples = list(itertools.product(NAMES, ("sat", "ran"), NAMES))
    found = []
    for number in rng.permutation(len(triples))[:60].repeat(2):
        name, verb, other = triples[number]
        reference = f"the {name} {verb} {'on' if verb == 'sat' else 'home'} {other}"
        wrong = f"the {name} {verb} {'home' if verb == 'sat' else 'on'} {other}"
        texts = np.array([reference, wrong, f"{wrong} mat", f"{reference} mat"])
        scores = rng.normal([1.0, 0.5, 0.0, 0.5])
        order = np.argsort(-scores)
        found.append((texts[order].tolist(), scores[order].round(3).tolist(), reference))
    return found


def write_lists(path, found):
    """Writes (texts, scores, reference) as jsonl; None leaves scores or references out."""
    with path.open("w") as file:
        for number, (texts, scores, reference) in enumerate(found):
            hypotheses = [
                {"text": text} | ({} if scores is None else {"score": scores[i]})
                for i, text in enumerate(texts)
            ]
            item = {"id": f"u{number}", "hypotheses": hypotheses}
            file.write(json.dumps(item | ({} if reference is None else {"reference": reference})))
            file.write("\n")
    return path


@pytest.fixture(scope="module")
def nbest(tmp_path_factory):
    return write_lists(tmp_path_factory.mktemp("lists") / "lists.jsonl", some_lists())


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A model directory that no test changes."""
    return write_model_directory(tmp_path_factory.mktemp("start") / "tiny")


@pytest.fixture(scope="module")
def adapted(nbest, tiny, tmp_path_factory):
    """(folder, report) of the tiny model after one pass."""
    folder = tmp_path_factory.mktemp("adapted") / "new"
    return folder, fine_tuned(config(nbest, folder, max_passes=1), tiny)


def config(nbest, folder, **changes):
    values: dict[str, Any] = {"learning_rate": 0.01, "max_passes": 3}
    values |= {"nbest_file": str(nbest), "output_dir": str(folder)} | changes
    return AdaptationConfig(**values)


def fine_tuned(config, model):
    """The report about the lists."""
    report = adapt(config, str(model))
    assert report is not None
    assert report.text is None
    assert report.lists is not None
    return report.lists


@functools.cache
def load(model):
    """The model of a folder, once for all tests; they do not train it."""
    return tta.load(model, normalizer="auto")


def scored(model, nbest):
    """`ScoredLists` and statistics of some lists under a model, as they are reranked."""
    lm = load(model)
    texts = list({h.text for one in nbest for h in one.hypotheses})
    sums, counts = lm.score_with_counts(texts)
    scores: Any = dict(zip(texts, zip(sums, counts, strict=True), strict=True))
    losses = PairwiseLosses.build(nbest, WER)
    return ScoredLists.build(nbest, scores, losses=losses), ListStatistics.build(nbest, WER)


def expected_errors(model, nbest):
    """The mean expected number of errors under the scores of a model alone."""
    arrays, statistics = scored(model, nbest)
    probabilities = decide(arrays, RerankWeights(1.0, scale=1.0)).posteriors
    return (probabilities * WER.errors(statistics.counts)).sum(axis=1).mean()


def test_lists_of_several_files_are_split_as_those_of_one(nbest, tmp_path):
    lines = nbest.read_text().splitlines(keepends=True)
    parts = [tmp_path / "1.jsonl", tmp_path / "2.jsonl"]
    parts[0].write_text("".join(lines[:50]))
    parts[1].write_text("".join(lines[50:]))
    whole = lists.read_split(config(nbest, tmp_path / "new"))
    for files in [str(part) for part in parts], str(tmp_path / "*.jsonl"):
        split = lists.read_split(config(nbest, tmp_path / "new", nbest_file=files))
        assert (split.train, split.heldout) == (whole.train, whole.heldout)


def test_no_reference_is_in_both_parts(nbest, tmp_path):
    found = [
        (texts, scores, reference.upper() + "." if number % 2 else reference)
        for number, (texts, scores, reference) in enumerate(some_lists())
    ]  # every reference is there twice, once written
    path = write_lists(tmp_path / "lists.jsonl", found)
    split = lists.read_split(config(path, tmp_path / "new"))
    train, heldout = (
        [str(one.reference).lower().strip(".") for one in part]
        for part in (split.train, split.heldout)
    )
    assert not set(train) & set(heldout)
    assert len(set(train)) == 40
    assert len(set(heldout)) == 20  # a third
    assert len(train) + len(heldout) == len(found)
    again = lists.read_split(config(path, tmp_path / "new"))
    assert again.heldout == split.heldout
    other = lists.read_split(config(path, tmp_path / "new", seed=1))
    assert other.heldout != split.heldout
    half = lists.read_split(config(path, tmp_path / "new", heldout_fraction=0.5))
    assert len(half.heldout) == 60


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_an_example_is_the_combined_score_in_parts(nbest, tiny, reduction, monkeypatch):
    monkeypatch.setattr(list_training, "NUM_PROBABLE", 2)
    some = read_nbest(nbest).lists[:22:2]  # of different references
    empty = dataclasses.replace(some[0].hypotheses[0], text="", score=50.0)
    some[0] = dataclasses.replace(some[0], hypotheses=(empty, *some[0].hypotheses[1:]))
    some[1] = dataclasses.replace(some[1], hypotheses=())
    some[2] = dataclasses.replace(some[2], hypotheses=some[2].hypotheses[:1] * 3)
    arrays, statistics = scored(tiny, some)
    weights = RerankWeights(0.4, 0.7, reduction, scale=1.7, features={"rank": 0.3})
    decision = decide(arrays, weights)
    examples = list_training.make_examples(arrays, statistics, weights)
    usable = [i for i in range(len(some)) if i not in (1, 2)]
    assert len(examples) <= len(usable)
    assert any("" in example.texts for example in examples)
    scores = load(tiny)
    with_best = 0
    for example in examples:
        i = next(i for i in usable if set(example.texts) <= {h.text for h in some[i].hypotheses})
        texts = [h.text for h in some[i].hypotheses]
        places = [texts.index(text) for text in example.texts]
        np.testing.assert_array_equal(places[:2], np.argsort(-decision.combined[i])[:2])
        # The empty hypothesis has no token, and its score counts with the others.
        parts = example.token_weights * scores.score(example.texts)
        expected = weights.scale * decision.combined[i, places]
        np.testing.assert_allclose(example.other_scores + parts, expected, rtol=1e-4, atol=1e-5)
        errors = WER.errors(statistics.counts[i])
        np.testing.assert_array_equal(example.errors, errors[places])
        assert min(example.errors) == errors[: len(texts)].min()
        with_best += len(places) == 3
    assert with_best


def test_the_model_learns_which_hypotheses_have_few_errors(nbest, tiny, adapted):
    folder, report = adapted
    assert report.after.expected_errors < 0.8 * report.before.expected_errors
    assert report.after.wer < report.before.wer
    split = lists.read_split(config(nbest, folder))
    for part in (split.train, split.heldout):
        assert expected_errors(folder, part) < 0.8 * expected_errors(tiny, part)
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md",
        "config.json",
        "heldout.jsonl",
        "light.safetensors",
        "model.weights.h5",
        "vocab.txt",
    ]
    assert "precision:int8" in tta.load(folder, precision="int8").signature
    assert read_nbest(folder / "heldout.jsonl").lists == split.heldout
    readme = (folder / "README.md").read_text()
    assert "`tiny`" in readme
    assert str(report.after) in readme
    assert f"--dev_nbest_file={folder / 'heldout.jsonl'}" in str(report)


@pytest.mark.slow
def test_lists_without_scores_and_long_hypotheses_are_used(tiny, tmp_path):
    long = " a b c d e f g h" * 2  # more pieces than the model takes
    found = [([f"{t}{long}" for t in texts], None, r + long) for texts, _, r in some_lists()]
    path = write_lists(tmp_path / "lists.jsonl", found)
    report = fine_tuned(config(path, tmp_path / "new", max_passes=1), tiny)
    assert report.after.expected_errors < 0.9 * report.before.expected_errors
    heldout = read_nbest(tmp_path / "new/heldout.jsonl").lists
    assert heldout[0].hypotheses[0].score is None


def test_lists_are_read_as_the_flags_say(nbest, tmp_path, monkeypatch):
    flags = {"format": "kaldi", "reference_file": ["refs"], "score_file": ["costs"]}
    flags |= {"beam_size": 4, "scores": "cost", "score_field": "s", "text_field": "t"}
    flags |= {"keep_non_words": True}
    seen = {}

    def read(path, format, **options):
        seen.update(options, path=path, format=format)
        return read_nbest(nbest)

    monkeypatch.setattr(lists, "read_nbest", read)
    lists.read_split(config("lists", tmp_path / "new", **flags))
    assert seen == {"path": ["lists"]} | flags


@pytest.mark.slow
def test_with_text_and_lists_the_text_comes_first(nbest, tmp_path, monkeypatch):
    model = write_model_directory(tmp_path / "tiny", ONE_LAYER)
    text = tmp_path / "text.txt"
    rng = np.random.default_rng(0)
    text.write_text("".join(f"the {' '.join(rng.choice(NAMES, 4))}\n" for _ in range(800)))
    original, starts = lists.fine_tune, []

    def watched(config, lm, *arguments):
        starts.append(lm.score(["the cat a dog", "the cat sat on a"]))
        return original(config, lm, *arguments)

    monkeypatch.setattr("tta.scoring.adaptation.adapt.fine_tune", watched)
    both = config(nbest, tmp_path / "new", input_file=[str(text)], max_passes=1)
    report = adapt(both, str(model))
    assert report is not None
    assert report.text is not None
    assert report.lists is not None
    before, after = (
        tta.load(one).score(["the cat a dog", "the cat sat on a"])
        for one in (model, tmp_path / "new")
    )
    assert starts[0][0] > before[0]  # it has learned the text
    assert abs(after - starts[0]).max() > 1e-3
    readme = (tmp_path / "new/README.md").read_text()
    assert readme.index("`tiny`") < readme.index("text.txt") < readme.index("N-best lists")


@pytest.mark.parametrize(
    ("change", "changes", "family", "rule"),
    [
        (lambda t, s, r: (t, s, None), {}, {}, "lists.jsonl: fine-tuning needs references"),
        (lambda t, s, r: (t, s, "the cat"), {}, {}, "not 0 and 120; give more lists"),
        (None, {"heldout_fraction": 1.0}, {}, "not 120 and 0; give more lists"),
        (None, {"heldout_fraction": 0.1}, {}, "not 12 and 108; give more lists"),
        (lambda t, s, r: (t[:1] * 4, s, r), {}, {}, "lists.jsonl: in no list .* different numbers"),
        (lambda t, s, r: (t, s, ""), {"heldout_fraction": 0.0}, {}, "not 0 and 120"),
        (None, {"nbest_file": "none.jsonl"}, {}, "none.jsonl: "),
        (None, {}, {"model_type": "bilm"}, "tiny: fine-tuning on lists needs .*; this is a bilm"),
    ],
)
def test_bad_input_is_refused_and_leaves_nothing(change, changes, family, rule, tmp_path):
    found = some_lists() if change is None else [change(*one) for one in some_lists()]
    path = write_lists(tmp_path / "lists.jsonl", found)
    model = write_model_directory(tmp_path / "tiny", dataclasses.replace(CONFIG, **family))
    with pytest.raises(InputError, match=rule) as caught:
        adapt(config(path, tmp_path / "new", **changes), str(model))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "new").exists()


def test_a_model_that_tuning_gives_no_weight_is_refused(nbest, tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(lists, "tune", lambda *_: RerankWeights(0.0, scale=1.0))
    with pytest.raises(InputError, match="gives the model the weight 0"):
        adapt(config(nbest, tmp_path / "new"), str(tiny))
    assert not (tmp_path / "new").exists()


@without_graphs()
def test_a_training_that_diverges_is_refused(nbest, tmp_path):
    model = write_model_directory(tmp_path / "tiny", ONE_LAYER)
    with pytest.raises(InputError, match=r"the loss became nan at step \d+; the last good") as e:
        adapt(config(nbest, tmp_path / "new", learning_rate=1e20), str(model))
    assert str(e.value).endswith("Start anew with a lower --learning_rate")  # the flag that it has
    assert not (tmp_path / "new").exists()


@without_graphs()
def test_a_training_that_ctrl_c_stopped_leaves_nothing(nbest, tmp_path, monkeypatch, capfd):
    model = write_model_directory(tmp_path / "tiny", ONE_LAYER)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    original = list_training._batch
    calls = itertools.count()

    def batch(*arguments):
        if next(calls) == 2:
            os.kill(os.getpid(), signal.SIGINT)  # the batch is made in another thread
        return original(*arguments)

    monkeypatch.setattr(list_training, "_batch", batch)
    with pytest.raises(KeyboardInterrupt):
        adapt(config(nbest, tmp_path / "new"), str(model))
    assert not (tmp_path / "new").exists()
    assert capfd.readouterr().err.endswith("; repeat the command to begin anew\n")
    signal.signal(signal.SIGINT, handler)


@pytest.mark.parametrize("number", [1, 16, 17, 40])
def test_a_pass_has_every_list_once(number):
    examples = [SimpleNamespace(texts=["a" * (1 + i % 7)]) for i in range(number)]
    for epoch in (0, 2):
        batches = list(list_training._order(examples, 0, epoch))
        assert len(batches) == list_training.num_steps(examples)
        assert sorted(np.concatenate(batches)) == list(range(number))
