"""tta classify in Python: runs, the best model, resuming, every family, and bad input."""

import dataclasses
import json
import signal
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

import tta
from tests.modeling.formats.test_bert import TOKENS as BERT_TOKENS
from tests.modeling.formats.test_bert import google_variables, write_google
from tests.tiny import CONFIG, of_family, without_graphs, write_model_directory
from tta.errors import InputError
from tta.modeling.formats.model_directory import load_model
from tta.papers.glue import fine_tuning
from tta.papers.glue.classify import _write, classify, finished_runs, write_predictions
from tta.papers.glue.classify_config import TASKS, ClassifyConfig
from tta.papers.glue.objective import Classification
from tta.scoring.metrics.significance import interval

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("models_are_loaded_once")]
ONE_LAYER = CONFIG.replace(num_hidden_layers=1)
OTHERS = ["ran home", "sat on the mat", "ran .", "sat", "ran on the mat", "the mat"]


def rows(count, seed=0):
    """[(label, text)]: a cat is good, a dog bad."""
    rng = np.random.default_rng(seed)
    animals = [("good", "cat"), ("bad", "dog")] * (count // 2)
    return [(label, f"the {animal} {rng.choice(OTHERS)}") for label, animal in animals]


def write(path, table):
    path.write_text("".join("\t".join(row) + "\n" for row in table))
    return str(path)


def files(folder, table=rows):
    """The flags of a training and a dev file."""
    train, dev = table(64), table(20, seed=1)
    return {
        "train_file": write(folder / "train.tsv", train),
        "dev_file": write(folder / "dev.tsv", dev),
    }


def config_of(folder, **changes):
    values = {"output_dir": str(folder / "out"), "train_batch_size": 8, "num_seeds": 1}
    values |= {"learning_rates": [0.01], "max_seq_length": 11, "num_train_epochs": 1}
    return ClassifyConfig(**values | changes)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return write_model_directory(tmp_path_factory.mktemp("start") / "tiny", ONE_LAYER)


@pytest.fixture(scope="module")
def finished(tmp_path_factory, tiny):
    """(config, report) of two rates and two seeds; the first rate learns nothing."""
    folder = tmp_path_factory.mktemp("finished")
    test = write(folder / "test.tsv", rows(10, seed=2))
    config = config_of(
        folder,
        **files(folder),
        test_file=test,
        learning_rates=[1e-9, 0.01],
        num_seeds=2,
        num_train_epochs=8,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return config, classify(config, str(tiny))


def test_it_learns_what_the_labels_mean(finished):
    _, report = finished
    control, nothing, learned = report.rows
    assert control.values == {"accuracy": [50.0], "macro_f1": [pytest.approx(100 / 3)]}
    assert learned.mean("accuracy") > 90
    assert nothing.mean("accuracy") < 80
    assert (control.name, learned.name) == ("majority class", "rate 0.01, 2 seeds")
    low, high = interval(learned.resampled)
    assert low <= learned.mean("accuracy") <= high
    text = str(report)
    assert "64 train, 20 dev, 10 test examples" in text
    assert "best of 4 runs on dev: rate 0.01, seed " in text
    assert "so this is too high" in text
    assert text in (report.directory / "README.md").read_text()
    assert report.test_values["accuracy"] > 90


def test_the_model_of_the_best_run_is_kept(finished):
    config, report = finished
    lm = tta.load(config.output_dir)
    texts = [text for _, text in rows(20, seed=1)]
    runs = finished_runs(report.directory)
    assert len(runs) == 4
    means = {run: np.mean([a == b for a, b in zip(
        outputs.argmax(axis=1), [1, 0] * 10, strict=True)]) for run, outputs in runs.items()
    }  # fmt: skip
    assert means[report.best] == max(means.values())
    np.testing.assert_allclose(lm.logits(texts), runs[report.best], atol=1e-5)
    others = [one for run, one in runs.items() if run != report.best]
    assert all(np.abs(lm.logits(texts) - one).max() > 1e-3 for one in others)


def test_predictions(finished):
    config, report = finished
    lm, texts = tta.load(config.output_dir), [text for _, text in rows(20, seed=1)]
    labels = lm.predict(texts)
    assert lm.labels == ("bad", "good")
    chances = lm.predict_probabilities(texts)
    assert chances.shape == (20, 2)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert labels == [lm.labels[row.argmax()] for row in chances]
    logits = lm.logits(texts).astype(np.float64)
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(chances, expected)
    head, *lines = (report.directory / "dev_predictions.tsv").read_text().splitlines()
    assert head == "index\tprediction\tp(bad)\tp(good)"
    assert [line.split("\t")[:2] for line in lines] == [[str(i), x] for i, x in enumerate(labels)]
    assert float(lines[0].split("\t")[2]) == pytest.approx(chances[0, 0], abs=1e-4)
    assert len((report.directory / "test_predictions.tsv").read_text().splitlines()) == 11
    assert lm.predict([]) == []


def test_a_quote_in_a_label_is_written_as_it_is(tmp_path):
    write_predictions(tmp_path / "a.tsv", np.array([[0.0, 9.0]]), ["a", 'so "so'], [7])
    lines = (tmp_path / "a.tsv").read_text().splitlines()
    assert lines == ['index\tprediction\tp(a)\tp(so "so)', '7\tso "so\t0.0001\t0.9999']


def test_predictions_of_sts_are_on_its_scale(tmp_path):
    limits = TASKS["stsb"].limits
    examples = SimpleNamespace(limits=limits, labels=())
    outputs = np.array([[-0.3], [2.5], [5.2]])
    _write(tmp_path / "a.tsv", outputs, examples, SimpleNamespace(numbers=[0, 1, 4]))
    lines = (tmp_path / "a.tsv").read_text().splitlines()
    assert lines == ["index\tprediction", "0\t0.0000", "1\t2.5000", "4\t5.0000"]
    assert [name for name, task in TASKS.items() if task.limits] == ["stsb"]


def test_a_long_input_is_cut_and_reported_or_refused(finished, capsys):
    lm = tta.load(finished[0].output_dir)
    long = "the cat " + "a " * 30
    assert lm.predict([long, "the cat"]) == lm.predict(["the cat " + "a " * 7, "the cat"])
    note = "note: out: 1 of 2 inputs were cut to 11 tokens\n"
    assert capsys.readouterr().err == note
    strict = tta.load(finished[0].output_dir, long_sentences="refuse")
    with pytest.raises(InputError, match="sentence 2 has more than 11 tokens"):
        strict.predict(["the cat", long])


def test_what_a_classifier_does_not_do(finished):
    lm = tta.load(finished[0].output_dir)
    for wrong, rule in (
        ([("a", "b")], "labels single texts, not pairs"),
        ("a", "texts must be an ordered iterable"),
        ([3], r"texts\[0\] must be a str"),
    ):
        with pytest.raises((InputError, TypeError), match=rule):
            lm.predict(wrong)
    with pytest.raises(InputError, match="a model of type classifier gives no sentence scores"):
        lm.score(["a"])
    assert lm.encode(["a b c"]).shape == (1, 12)
    with pytest.raises(InputError, match="predicts no labels; tta classify fine-tunes one"):
        tta.load().predict(["a"])
    assert "pll:" not in lm.signature
    assert "max_seq_length:11" in lm.signature


@pytest.mark.slow
def test_finished_runs_are_not_taken_again_and_more_can_be_added(finished, tiny, monkeypatch):
    config, report = finished
    taken = []
    fine_tune = fine_tuning.fine_tune

    def counted(*arguments, run, **options):
        taken.append(run)
        return fine_tune(*arguments, run=run, **options)

    monkeypatch.setattr(fine_tuning, "fine_tune", counted)
    again = classify(config, str(tiny))
    assert taken == []
    assert str(again) == str(report)
    more = dataclasses.replace(config, learning_rates=[2e-9], seed=7, num_seeds=1)
    added = classify(more, str(tiny))
    assert taken == [(2e-9, 7)]
    assert len(added.rows) == 4
    assert added.best == report.best


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"num_train_epochs": 5}, "began with --num_train_epochs=8, not 5"),
        ({"dev_file": "train_file"}, "began with other examples than those of"),
        ({"model": "small"}, "began with another model than small"),
    ],
)
def test_a_folder_is_not_continued_with_other_settings(finished, tiny, changes, rule):
    config, _ = finished
    model = changes.pop("model", str(tiny))
    if "dev_file" in changes:
        changes = {"dev_file": config.train_file}
    with pytest.raises(InputError, match=f"{rule}.*choose another --output_dir"):
        classify(dataclasses.replace(config, **changes), model)


class Stopped(Classification):
    """Asks the process to stop after step 5 of the first run."""

    def task(self, batch, step):
        def stop(step):
            if step == 5:
                signal.raise_signal(signal.SIGTERM)
            return np.float32(0.0)

        task = super().task(batch, step)
        return task._replace(weights=task.weights + tf.numpy_function(stop, [step], tf.float32))


def test_a_stopped_run_goes_on_and_ends_with_the_same_outputs(
    finished, tmp_path, tiny, monkeypatch
):
    whole, report = finished
    output = str(tmp_path / "out")
    config = dataclasses.replace(whole, output_dir=output, learning_rates=[0.01], num_seeds=1)
    with monkeypatch.context() as context:
        context.setattr(fine_tuning, "Classification", Stopped)
        assert classify(config, str(tiny)) is None
    work = tmp_path / "out/runs/rate-0.01-seed-0"
    assert (work / "checkpoints/ckpt-6.safetensors").exists()
    assert not (tmp_path / "out/model.weights.h5").exists()
    classify(config, str(tiny))
    ((run, outputs),) = finished_runs(tmp_path / "out").items()
    np.testing.assert_array_equal(outputs, finished_runs(report.directory)[run])
    assert not (work / "checkpoints").exists()


@without_graphs()
def test_bfloat16_is_for_training_alone(tmp_path, tiny, monkeypatch):
    """The products of the training are bfloat16, those of the measured and kept model float32."""
    trained = []

    class Spy(fine_tuning.Trainer):
        def train(self):
            trained.append(self.model)
            return super().train()

    monkeypatch.setattr(fine_tuning, "Trainer", Spy)
    config = config_of(tmp_path, **files(tmp_path), mixed_precision="bfloat16")
    report = classify(config, str(tiny))
    assert [model.encoder.compute_dtype for model in trained] == ["bfloat16"]
    kept, (outputs,) = tta.load(config.output_dir), finished_runs(report.directory).values()
    texts = [text for _, text in rows(20, seed=1)]
    np.testing.assert_allclose(kept.logits(texts), outputs, atol=1e-5)
    for name, weight in kept.model.named_weights().items():
        np.testing.assert_array_equal(weight, trained[0].named_weights()[name])
    with pytest.raises(InputError, match="began with --mixed_precision=bfloat16, not float32"):
        classify(dataclasses.replace(config, mixed_precision="float32"), str(tiny))


def pairs(count, seed=0):
    """[(label, text, text)]: whether both are about the same animal."""
    animals = "cat", "dog"
    return [
        (str(i % 2), f"the {animals[i // 2 % 2]} sat", f"a {animals[(i + i // 2) % 2]}")
        for i in range(count)
    ]


@pytest.mark.parametrize(
    "model_type",
    ["tta", *(pytest.param(one, marks=pytest.mark.slow) for one in ("unilm", "cloze"))],
)
@without_graphs()
def test_every_family_is_fine_tuned_on_pairs(tmp_path, model_type, finished):
    """The T-TA has been fine-tuned before, on single texts. The test below has a biLM, BERT."""
    start = tmp_path / "start"
    if model_type == "tta":
        start = Path(finished[0].output_dir)
    else:
        write_model_directory(start, of_family(model_type, ONE_LAYER))
    chosen = {"pooling": "last"} if model_type == "unilm" else {}
    config = config_of(tmp_path, **files(tmp_path, pairs), **chosen)
    assert classify(config, str(start)) is not None
    lm = tta.load(config.output_dir)
    assert lm.model.config.encoder.model_type == model_type
    assert lm.model.config.pooling == chosen.get("pooling", "mean")
    found = lm.logits([("the cat sat", "a cat"), ("the cat sat", "a dog")])
    assert np.abs(found[0] - found[1]).max() > 1e-6
    with pytest.raises(InputError, match=r"labels pairs of texts; texts\[1\] is a single text"):
        lm.predict([("a", "b"), "a"])
    before, after = (m.named_weights() for m in (tta.load(start).model, lm.model))
    for name, value in after.items():
        if name.startswith("encoder/"):
            assert np.abs(np.asarray(value) - np.asarray(before[name])).max() > 0, name


@without_graphs()
def test_a_bert_has_two_segments(tmp_path):
    start = write_google(tmp_path / "bert", google_variables())
    tokens = BERT_TOKENS[: load_model(start).config.vocab_size]
    (start / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens))
    config = config_of(tmp_path, **files(tmp_path, pairs))
    classify(config, str(start))
    lm = tta.load(config.output_dir)
    assert lm.model.config.encoder.num_segments == 2
    assert lm.model.config.pooling == "first"
    table = np.asarray(lm.model.named_weights()["encoder/embeddings/segment_table"])
    begun = google_variables()["bert/embeddings/token_type_embeddings"]
    assert np.abs(table - begun).max() < 0.2
    assert (table != begun).all(), "both segments are trained"


def test_a_regression(tmp_path, tiny):
    def table(count, seed=0):
        return [("4.0" if label == "good" else "3", text) for label, text in rows(count, seed)]

    config = config_of(tmp_path, **files(tmp_path, table), regression=True, num_train_epochs=12)
    report = classify(config, str(tiny))
    control, learned = report.rows
    assert control.name == "training mean"
    assert control.values == {"pearson": [0.0], "spearman": [0.0]}
    assert learned.mean("pearson") > 80
    lm = tta.load(config.output_dir)
    numbers = lm.predict(["the cat ran home", "the dog ran home"])
    assert numbers.dtype == np.float64
    assert 2.5 < numbers[1] < numbers[0] < 4.5
    with pytest.raises(InputError, match="predicts numbers, not labels"):
        lm.predict_probabilities(["a"])
    assert (report.directory / "dev_predictions.tsv").read_text().startswith("index\tprediction\n")


@pytest.mark.parametrize("seed", [0, 1])
def test_an_epoch_has_every_example_once_in_another_order(seed):
    lengths = np.random.default_rng(0).integers(3, 60, 101)
    examples = [np.full(length, number) for number, length in enumerate(lengths)]
    epochs = [
        list(fine_tuning.make_batches(examples, np.arange(101), 8, 999, 50, seed, epoch))
        for epoch in (0, 0, 1)
    ]
    orders = [np.concatenate([b["target"].numpy() for b in epoch]) for epoch in epochs]
    for order, epoch in zip(orders, epochs, strict=True):
        assert sorted(order) == list(range(101))
        for b in epoch:
            ids, mask = b["input_ids"].numpy(), b["padding_mask"].numpy()
            assert (mask.sum(axis=1) == lengths[b["target"].numpy().astype(int)]).all()
            assert (ids[mask] == np.repeat(b["target"].numpy(), mask.sum(axis=1))).all()
            assert (ids[~mask] == 999).all()
    assert (orders[0] == orders[1]).all()
    assert (orders[0] != orders[2]).any()


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        ("train_file", "x\ta\nx\tb\n", "train.tsv: expected two labels or more, all examples have"),
        ("dev_file", "good\ta\nodd\tb\n", "dev.tsv:2: unknown label 'odd'; the labels are 'bad'"),
        ("dev_file", None, "dev.tsv: no such file"),
    ],
)
def test_bad_input_is_one_line_and_leaves_no_folder(tmp_path, tiny, name, content, rule):
    config = config_of(tmp_path, **files(tmp_path))
    path = tmp_path / f"{name[:-5]}.tsv"
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(InputError) as error:
        classify(config, str(tiny))
    assert rule in str(error.value)
    assert not (tmp_path / "out").exists()


def test_a_model_that_has_no_encoder_and_a_folder_with_something_else(tmp_path, tiny):
    config = config_of(tmp_path, **files(tmp_path))
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("cat 1 2\ndog 2 1\n")
    with pytest.raises(InputError, match="only a model with an encoder can be fine-tuned"):
        classify(config, f"glove:{vectors}")
    with pytest.raises(InputError, match="no such model directory"):
        classify(config, "nothing")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine").touch()
    with pytest.raises(InputError, match="out: expected a new or an empty folder"):
        classify(config, str(tiny))


def test_a_model_whose_run_is_gone_is_not_replaced(tmp_path):
    config = config_of(tmp_path, **files(tmp_path))
    (tmp_path / "out").mkdir()
    (tmp_path / "out/run.json").write_text(json.dumps(dataclasses.asdict(config)))
    (tmp_path / "out/best.json").write_text('{"learning_rate": 0.01, "seed": 0}')
    with pytest.raises(InputError, match=r"out/runs/rate-0\.01-seed-0: the run of the model"):
        classify(config, "nothing")
    (tmp_path / "out/runs/rate-0.01-seed-0").mkdir(parents=True)
    with pytest.raises(InputError, match="no such model directory"):
        classify(config, "nothing")


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({}, "train_file and dev_file are required, or task and data_dir"),
        ({"train_file": "a"}, "train_file and dev_file are required"),
        ({"data_dir": "a"}, "data_dir needs task"),
        ({"task": "rte", "data_dir": "a", "regression": True}, "regression has no meaning with"),
        ({"task": "x", "data_dir": "a"}, "task must be cola or"),
        (
            {"train_file": "a", "dev_file": "b", "learning_rates": [1.0, 1.0]},
            "must name none twice",
        ),
        ({"train_file": "a", "dev_file": "b", "text_columns": ["a"] * 2}, "text_columns must be"),
    ],
)
def test_settings_that_do_not_fit(changes, rule):
    with pytest.raises(InputError, match=rule):
        ClassifyConfig(output_dir="x", **changes)
