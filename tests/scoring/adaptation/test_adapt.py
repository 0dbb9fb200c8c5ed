"""adapt(config): what it learns, keeps and writes, and which text and models it refuses."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tta
from tests.tiny import CONFIG, of_family, write_model_directory
from tta import names
from tta.atomic import LOCK_FILE
from tta.data.corpus.config import LocalCorpusConfig
from tta.data.corpus.output import WORK_FOLDER
from tta.data.corpus.prepare import create_tfrecords
from tta.data.records import pipeline
from tta.data.records.dataset import load_dataset_info, shard_paths
from tta.errors import InputError
from tta.modeling.objectives import OBJECTIVES
from tta.modeling.training.trainer import Trainer
from tta.scoring.adaptation.adapt import adapt, check_output_dir
from tta.scoring.adaptation.config import AdaptationConfig

pytestmark = pytest.mark.tensorflow

ONE_LAYER = CONFIG.replace(num_hidden_layers=1)
MODEL_FILES = [names.VOCABULARY, names.CONFIG, names.README, names.WEIGHTS]
NOUNS, VERBS = ("cat", "dog", "mat"), ("sat", "ran")


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """800 sentences in which every noun and verb is followed by "on" or "home".

    They have the same length, so that few functions are compiled.
    """
    path = tmp_path_factory.mktemp("text") / "domain.txt"
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(800):
        verb = rng.choice(VERBS)
        place = "on mat" if verb == "sat" else "home ."
        letters = " ".join(rng.choice(list("abcdefgh"), 3))
        lines.append(f"the {rng.choice(NOUNS)} {verb} {place} {letters}")
    path.write_text("\n".join(lines) + "\n")
    return path


def config(text, folder, **changes):
    values: dict[str, Any] = {"learning_rate": 0.01, "max_passes": 2}
    values |= {"input_file": [str(text)], "output_dir": str(folder)} | changes
    return AdaptationConfig(**values)


def adapted(config, model):
    """The report about the text."""
    report = adapt(config, model)
    assert report is not None
    assert report.text is not None
    assert report.lists is None
    return report.text


def heldout_nll(directory, text, work):
    """The nll per inner token of the held-out sentences under a T-TA, in NumPy."""
    lm = tta.load(directory)
    create_tfrecords(
        LocalCorpusConfig(
            input_file=[str(text)],
            vocab_file=str(directory / "vocab.txt"),
            output_dir=str(work),
            num_shards=1,
            max_seq_length=CONFIG.max_position_embeddings,
            heldout_fraction=0.1,
        )
    )
    info = load_dataset_info(work)
    paths = shard_paths(work, info, "heldout")
    total, count = 0.0, 0
    for batch in pipeline.eval_batches(paths, info["features"], 1024, 11, 0):
        logits = np.asarray(lm.model(batch)["logits"], np.float64)
        logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        for ids, row, mask in zip(
            batch["input_ids"].numpy(), logs, batch["padding_mask"].numpy(), strict=True
        ):
            inner = np.arange(1, mask.sum() - 1)
            total, count = total - row[inner, ids[inner]].sum(), count + len(inner)
    return total / count, count


def test_the_model_learns_the_text_and_keeps_the_weights_of_the_best_pass(
    text, tmp_path, monkeypatch
):
    model = write_model_directory(tmp_path / "tiny", ONE_LAYER)
    measured = []
    train = Trainer.train

    def spoiled(self, until):
        """From the third pass on, the model gets worse."""
        done = train(self, until)
        if len(measured) >= 2:
            self.model.head.bias.assign_add(np.linspace(0, 9, CONFIG.vocab_size))
            self._evaluate(_Silent(), self.step)
        measured.append(self.last_evaluation.values["nll"])
        return done

    monkeypatch.setattr(Trainer, "train", spoiled)
    report = adapted(config(text, tmp_path / "new", max_passes=9), str(model))
    assert len(measured) == report.passes == 4  # stopped after two worse passes
    assert report.best_pass == 2
    assert min(measured) == measured[1] < measured[0]
    assert report.after.values["nll"] == measured[1]
    before, count = heldout_nll(model, text, tmp_path / "before")
    after, _ = heldout_nll(tmp_path / "new", text, tmp_path / "after")
    assert report.before.num_tokens == report.after.num_tokens == count
    np.testing.assert_allclose(report.before.values["nll"], before, rtol=1e-5)
    np.testing.assert_allclose(report.after.values["nll"], after, rtol=1e-5)
    assert after < 0.8 * before
    lines = Path(text).read_text(encoding="utf-8").splitlines()
    assert report.num_unknown == tta.load(model).count_unknown(lines).sum()
    told = str(dataclasses.replace(report, num_unknown=7))
    assert "\nnote: 7 words are unknown to the vocabulary" in told
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "README.md",
        "config.json",
        "light.safetensors",
        "model.weights.h5",
        "standardization.safetensors",
        "vocab.txt",
    ]
    assert "precision:int8" in tta.load(tmp_path / "new", precision="int8").signature
    readme = (tmp_path / "new/README.md").read_text()
    assert "`tiny`" in readme
    assert "domain.txt" in readme
    assert str(report.after) in readme


def test_a_pass_reads_the_whole_text(tmp_path, monkeypatch):
    """Batches have sentences of one length, and the last one of each length is not full."""
    rng, seen = np.random.default_rng(0), []
    lines = [" ".join(rng.choice(NOUNS, n)) for n in rng.integers(2, 30, 500)]
    (tmp_path / "text").write_text("\n".join(dict.fromkeys(lines)) + "\n")
    train = Trainer.train

    def counted(self, until):
        done = train(self, until)
        seen.append((self.position["tokens"], self.position["epoch"]))
        return done

    monkeypatch.setattr(Trainer, "train", counted)
    given = config(tmp_path / "text", tmp_path / "new", max_passes=3, learning_rate=1e-3)
    longer = ONE_LAYER.replace(max_position_embeddings=37)
    model = write_model_directory(tmp_path / "tiny", longer)
    monkeypatch.setattr("tta.scoring.adaptation.text.create_tfrecords", kept := Kept())
    adapt(given, str(model))
    tokens = kept.info["splits"]["train"]["tokens"]
    assert len(seen) == 3
    assert seen == [(number * tokens, number - 1) for number in (1, 2, 3)]


class Kept:
    """`create_tfrecords`, which keeps the description that it returns."""

    def __call__(self, *arguments):
        self.info = create_tfrecords(*arguments)
        return self.info


class _Silent:
    fp = None

    def write(self, *_, **__):
        pass


@pytest.mark.parametrize(
    ("model_type", "objective"), [("bilm", "mlm"), ("unilm", "clm"), ("cloze", "lae")]
)
@pytest.mark.slow
def test_other_types_learn_by_their_own_objective(
    model_type, objective, text, tmp_path, monkeypatch
):
    seen, train = [], Trainer.train

    def seeing(self, until):
        seen.append(type(self.objective))
        return train(self, until)

    monkeypatch.setattr(Trainer, "train", seeing)
    family = of_family(model_type, ONE_LAYER)
    model = write_model_directory(tmp_path / "tiny", family)
    report = adapted(config(text, tmp_path / "new", max_passes=1), str(model))
    assert tta.load(tmp_path / "new").model.config.model_type == model_type
    assert set(seen) == {OBJECTIVES.load(objective)}
    assert report.after.values["nll"] < 0.9 * report.before.values["nll"]


@pytest.fixture(scope="module")
def learned(text, tmp_path_factory):
    """(a model with a learned normalizer, the folder of the same after one pass)."""
    folder = tmp_path_factory.mktemp("learned")
    model = write_model_directory(folder / "tiny", ONE_LAYER.replace(learned_normalizer=True))
    adapt(config(text, folder / "new", max_passes=1), str(model))
    return model, folder / "new"


def test_a_learned_normalizer_is_kept(learned):
    start, one = map(tta.load, learned)
    assert _normalizer_error(one) < _normalizer_error(start) / 3


def _normalizer_error(lm):
    """The largest difference between a learned and an exact score: a sum of log-normalizers."""
    vocabulary = lm.tokenizer.vocabulary
    (pieces,) = lm.tokenizer.encode(["the cat sat on the mat a b"])
    ids = np.array([[vocabulary.bos_id, *pieces, vocabulary.eos_id]], np.int32)
    inputs = {"input_ids": ids, "padding_mask": np.ones_like(ids, bool)}
    logits = np.asarray(lm.model(inputs)["logits"], np.float64)[0, 1:-1]
    return abs(np.log(np.exp(logits).sum(axis=-1)).sum())


def test_written_text_can_be_read_as_spoken(text, tmp_path, monkeypatch):
    model = write_model_directory(tmp_path / "tiny", ONE_LAYER)
    written = tmp_path / "written.txt"
    written.write_text("".join(f"{line.capitalize()}.\n" for line in text.read_text().split("\n")))
    seen = []  # `append` returns None: the training was stopped
    monkeypatch.setattr(Trainer, "train", lambda self, until: seen.append(_ids(self)))
    for fraction in (0.0, 1.0):
        given = config(written, tmp_path / "new", spoken_fraction=fraction)
        assert adapt(given, str(model)) is None
        assert not (tmp_path / "new").exists()
    full_stop = tta.load(model).tokenizer.vocabulary.ids["."]
    assert full_stop in seen[0]
    assert full_stop not in seen[1]


def _ids(trainer):
    return {i for batch in trainer.epoch_batches(0) for i in batch["input_ids"].numpy().ravel()}


@pytest.mark.slow
def test_no_improvement_is_refused(text, tmp_path, monkeypatch):
    def train(self, until):
        """Takes no step, and says what the evaluation gave."""
        self.last_evaluation = SimpleNamespace(values={"nll": 99.0})
        return True

    model = write_model_directory(tmp_path / "tiny", ONE_LAYER)
    monkeypatch.setattr(Trainer, "train", train)
    with pytest.raises(InputError, match="held-out nll never improved on its start") as caught:
        adapt(config(text, tmp_path / "new"), str(model))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "new").exists()


def no_vocabulary(folder):
    (write_model_directory(folder) / "vocab.txt").unlink()
    return str(folder)


@pytest.mark.parametrize(
    ("changes", "model", "rule"),
    [
        ({"text": ""}, None, "the file is empty|no sentence is left"),
        ({"text": "the cat sat\n" * 900}, None, "not 0 and 900|not 900 and 0"),
        ({"lines": 100}, None, r"at least 30 sentences must be held out .*, not \d+ and \d+"),
        ({"heldout_fraction": 1.0}, None, "not 800 and 0"),
        ({"input_file": ["none.txt"]}, None, "none.txt: no file matches"),
        ({}, lambda folder: "none", "none: no such model directory"),
        ({}, no_vocabulary, "tiny: no vocab.txt"),
    ],
)
def test_bad_input_is_refused_and_leaves_nothing(changes, model, rule, text, tmp_path):
    changes = dict(changes)
    path = tmp_path / "text.txt"
    lines = text.read_text().splitlines(keepends=True)
    path.write_text(changes.pop("text", "".join(lines[: changes.pop("lines", None)])))
    name = (model or (lambda folder: str(write_model_directory(folder))))(tmp_path / "tiny")
    with pytest.raises(InputError, match=rule) as caught:
        adapt(config(path, tmp_path / "new", **changes), name)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("found", "is_refused"),
    [
        ([], False),
        ([WORK_FOLDER, LOCK_FILE], False),
        ([WORK_FOLDER, LOCK_FILE, names.VOCABULARY], False),  # killed while it moved its files
        ([WORK_FOLDER, *MODEL_FILES], False),
        ([WORK_FOLDER, names.VOCABULARY, "notes"], True),
        ([names.VOCABULARY], True),
        (MODEL_FILES, True),
    ],
)
def test_a_run_that_was_killed_at_its_end_can_be_repeated(tmp_path, found, is_refused):
    for name in found:
        (tmp_path / name).touch()
    if is_refused:
        with pytest.raises(InputError, match="expected a new or an empty folder"):
            adapt(config("unused", tmp_path))
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(found)
    else:
        check_output_dir(tmp_path)
