"""tta probe as a user sees it."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tta
from tests.commands import ROOT, run_with_fake_model, with_fake_model
from tests.fake_model import FakeModel
from tta.errors import InputError, install
from tta.papers.probing.config import ProbeConfig
from tta.papers.probing.probe import probe_files

ANIMALS, TOOLS = ("cat", "dog", "hen", "fox"), ("mill", "spool", "drill", "loom")
VERBS = ("buys", "juts")


def texts(count, seed=0):
    """[(text, label)]: the words of a label, and a word of the other one in every third text."""
    rng = np.random.default_rng(seed)
    kinds, other = (ANIMALS, TOOLS), (TOOLS, ANIMALS)
    return [
        (f"{rng.choice(kinds[i % 2])} {rng.choice(other[i % 2] if i % 3 else kinds[i % 2])}",
         ("animal", "tool")[i % 2])
        for i in range(count)
    ]  # fmt: skip


def write(path, rows, header=("sentence", "label")):
    path.write_text("".join("\t".join(row) + "\n" for row in [header, *rows]))
    return str(path)


def write_tags(path, count=8, seed=0, kind="x"):
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(count):
        lines += [f"{word}\tO" for word in rng.choice(TOOLS, 3)]
        lines += [f"{rng.choice(ANIMALS)}\tB-{kind}"]
        lines += [f"{rng.choice(VERBS)}\tI-{kind}"] * rng.integers(0, 2) + [""]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def data(tmp_path):
    return write(tmp_path / "all.tsv", texts(60))


def command(*flags):
    """Runs the command in this process."""
    return run_with_fake_model("tta-probe", *flags)


@pytest.mark.slow
def test_cross_validation_of_several_models(data):
    flags = f"--data_file={data}", "--model=one", "--model=", "--num_folds=3"
    done = with_fake_model("papers/probing/command.py", *flags)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "loaded\nloaded\n"
    counts, heading, control, one, small, difference, *signatures = done.stdout.splitlines()
    assert counts == "examples: 60 cross-validated"
    assert heading.split() == [
        *("features", "accuracy", "%", "sd", "95%", "interval", "median", "C")
    ]
    assert re.fullmatch(r"majority class +50\.00 +0\.00 +\[3\d\.\d\d, 6\d\.\d\d\]", control.strip())
    cells = one.split()
    assert (cells[:3], one.split()[1:], len(cells)) == (
        ["one,", "context", "26"], small.split()[1:], 8
    )  # fmt: skip
    low, high = float(cells[5][1:-1]), float(cells[6][:-1])
    assert 50 < low < float(cells[3]) < high <= 100
    assert difference == "small, context - one, context: +0.00 [+0.00, +0.00]"
    assert [line.partition("|")[0] for line in signatures] == ["one", "fake", "probe"]
    assert "protocol:3-fold cross-validation|choice of C:3-fold" in signatures[-1]
    assert "|seeds:0,1,2|" in signatures[-1]


def test_given_split_with_a_dev_file_has_nothing_random(tmp_path, data):
    test, dev = (write(tmp_path / f"{i}.tsv", texts(30, i)) for i in (1, 2))
    flags = f"--data_file={data}", f"--test_file={test}", f"--dev_file={dev}"
    done = command(*flags, "--num_folds=1000")  # no folds are made
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("examples: 60 train, 30 dev, 30 test\n")
    assert "protocol:given split|choice of C:dev file|seeds:0|" in done.stdout
    again = command(*flags, "--seed=7")
    assert again.stdout == done.stdout.replace("seeds:0", "seeds:7")


def test_named_entities(tmp_path):
    paths = [write_tags(tmp_path / str(i), 20, seed=i) for i in range(3)]
    train, dev, test = (
        f"--{n}_file={p}" for n, p in zip(("data", "dev", "test"), paths, strict=True)
    )
    done = command("--ner", train, test, dev, "--representation=context,embed+context")
    assert done.returncode == 0, done.stderr
    _, heading, control, one, joined, *_ = done.stdout.splitlines()
    assert heading.split()[1:3] == ["entity", "F1"]
    assert control.split()[:3] == ["majority", "class", "0.00"]
    assert (one.split()[:3], joined.split()[1:3]) == (
        ["small,", "context", "26"], ["embed+context", "52"]
    )  # fmt: skip
    assert float(one.split()[3]) > 80
    folds = command("--ner", train, test, "--num_folds=4")
    assert "choice of C:4-fold cross-validation in training|seeds:0,1,2|" in folds.stdout


def test_the_numbers_are_those_of_the_parts(data, model):
    report = probe_files(ProbeConfig(data_file=data, num_folds=3, num_seeds=2))
    [_, row] = report.rows
    assert (row.size, len(row.values), len(row.cs), row.not_converged) == (26, 2, 6, 0)
    assert row.mean == pytest.approx(sum(row.values) / 2)
    squares = [(value - row.mean) ** 2 for value in row.values]
    assert row.cells()[3] == f"{sum(squares) ** 0.5:.2f}"
    assert all(value * 60 / 100 == pytest.approx(round(value * 60 / 100)) for value in row.values)
    assert (report.measure, report.sizes) == ("accuracy", (60, 0, 0))


@pytest.mark.slow
def test_a_mix_is_trained_for_each_seed_on_embed_and_context(tmp_path, model):
    sizes = (160, 40, 40)
    train, test, dev = (write(tmp_path / f"{i}.tsv", texts(n, i)) for i, n in enumerate(sizes))
    values = {"data_file": train, "test_file": test, "dev_file": dev, "features": "mix"}
    values |= {"lstm_size": 8, "num_seeds": 2, "num_train_epochs": 9, "train_batch_size": 8}
    config = ProbeConfig(**values, learning_rate=0.02)
    report = probe_files(config)
    control, row = report.rows
    assert (row.name, row.size, len(row.values)) == ("small, embed+context", 52, 2)
    assert row.mean > control.mean + 20
    assert row.cells()[-1] == ""  # there is no C
    assert len(control.values) == 2
    expected = (
        "probe|classifier:biLSTM of 8 over a mix of layers|adam:0.02|batch:8|epochs:at most 9"
    )
    assert str(report).splitlines()[-1].startswith(expected)
    assert "|choice of epoch:dev file|seeds:0,1|" in str(report)


class Reader(FakeModel):
    """A model whose vectors say a text's label, or nothing."""

    def encode(self, texts, representation=None, pooling="mean", progress=False):
        self.encoded.append((representation, list(texts)))
        says = self.name == "good"
        vectors = [[says * ("animal" in t), len(t) % 3, 1] for t in texts]
        return np.array(vectors, np.float32).reshape(-1, 3)


def test_models_are_compared_pairwise(tmp_path, monkeypatch):
    rows = [(f"{label} {'x' * i}", label) for i, (_, label) in enumerate(texts(60))]
    models = {name: Reader(name) for name in ("good", "bad")}
    monkeypatch.setattr(tta, "load", lambda name, **options: models[name])
    config = ProbeConfig(data_file=write(tmp_path / "f", rows), num_folds=3, num_seeds=1)
    report = probe_files(config, ["good", "bad"])
    _, good, bad = report.rows
    assert (good.mean, good.interval) == (100, (100, 100))
    [one] = report.differences
    assert (one.first, one.second) == ("bad, context", "good, context")
    assert one.value == pytest.approx(bad.mean - 100)
    # Against a model that is always right, the difference's interval is the other's, less 100.
    assert one.interval == pytest.approx(tuple(bound - 100 for bound in bad.interval))
    assert good.cells()[3] == ""  # no deviation of a single seed
    assert all(len(texts) in (0, 60) for m in models.values() for _, texts in m.encoded)


NO_LABEL = "sentence\tlabel\nthe\t\n"


@pytest.mark.parametrize(
    ("train", "test", "flags", "message"),
    [
        (None, None, {}, "train: no such file"),
        (NO_LABEL, None, {}, "train:2: the column 'label' is empty"),
        ("sentence\tlabel\n" + "a\tx\n" * 20 + "b\ty\n" * 11, None, {},
         "train: the label 'y' has too few rows: 10 folds need 12, got 11"),
        ("sentence\tlabel\n" + "a\tx\n" * 20 + "b\ty\n" * 11, "sentence\tlabel\na\tx\nb\tz\n", {},
         "test:3: unknown label 'z'; the labels are 'x', 'y'"),
        ("sentence1\tsentence2\tlabel\n" + "a\tb\tx\na\tb\ty\n" * 10, "sentence\tlabel\na\tx\n", {},
         "test:1: the column 'sentence1' is missing"),
        ("a\tB-x\n", "a\tB-x\n", {"ner": True}, "train: 10 folds need 10 sentences, got 1"),
        ("a\tO\n\n" * 10, "a\tB-x\n", {"ner": True}, "train: the file has no entities"),
        ("a\tB-x\n\n" * 10, "a\tO\n", {"ner": True}, "test: the file has no entities"),
        ("a\tB-x\n\n" * 10, "a\tO\nb\tB-x\nc\tB-y\n", {"ner": True},
         "test:3: unknown type of entity 'y'; the training part has 'x'"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_before_the_model_is_loaded(
    tmp_path, monkeypatch, no_model, train, test, flags, message
):
    monkeypatch.chdir(tmp_path)
    for name, content in ("train", train), ("test", test):
        if content is not None:
            Path(name).write_text(content)
    paths = {"data_file": "train"} | ({"test_file": "test"} if test else {})
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        probe_files(ProbeConfig(**paths | flags))


class Broken(FakeModel):
    def encode(self, texts, representation=None, pooling="mean", progress=False):
        vectors = super().encode(texts, representation)
        vectors[1:2, 3] = np.inf
        return vectors


def test_a_vector_that_is_not_finite_is_refused(data, monkeypatch):
    monkeypatch.setattr(tta, "load", lambda name, **options: Broken())
    with pytest.raises(InputError, match=r"^small, context: the vector of row 2 is not"):
        probe_files(ProbeConfig(data_file=data, num_folds=2))


def test_a_missing_package_is_named():
    code = """
import runpy, sys
sys.modules["sklearn"] = None
runpy.run_module("tta.papers.probing.command", run_name="__main__", alter_sys=True)
"""
    run = [sys.executable, "-c", code, "--data_file=x"]
    done = subprocess.run(run, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1
    assert done.stderr == f"error: scikit-learn is missing: {install('probe')}\n"


def test_notes_on_tags_and_on_convergence(tmp_path, monkeypatch, model):
    paths = [tmp_path / name for name in ("train", "test")]
    for path in paths:
        write_tags(path)
    paths[1].write_text(paths[1].read_text() + "cat\tB-x\nmill\tI-y\n")
    paths[0].write_text(paths[0].read_text() + "mill\tB-y\n")
    monkeypatch.setattr("tta.papers.probing.classifier.MAX_ITERATIONS", 2)
    train, test = map(str, paths)
    report = str(probe_files(ProbeConfig(ner=True, data_file=train, test_file=test, dev_file=test)))
    assert "note: small, context: the optimizer did not converge in 1 split\n" in report
    line = len(paths[1].read_text().splitlines())
    note = f"note: {test}: I- tags that continue an entity of another type, and so belong to none: "
    assert f"{note}1 (first: line {line})\n" in report


def test_a_part_may_have_several_files(tmp_path, model):
    (tmp_path / "parts").mkdir()
    rows = texts(60)
    one = write(tmp_path / "all.tsv", rows)
    write(tmp_path / "parts/a.tsv", rows[:31])
    write(tmp_path / "parts/b.tsv", rows[31:])
    reports = [
        probe_files(ProbeConfig(data_file=path, num_folds=3, num_seeds=1))
        for path in (one, str(tmp_path / "parts"))
    ]
    assert str(reports[0]) == str(reports[1])


def test_tagged_parts_may_have_several_files(tmp_path):
    from tta.papers.glue.data.conll import read_conll
    from tta.papers.probing.tasks import read_parts

    paths = [write_tags(tmp_path / f"{i}.conll", 5, seed=i) for i in range(2)]
    ((train, dev, test), notes) = read_parts([str(tmp_path / "*.conll"), None, paths[1]], 0)
    assert [one.tokens for one in train] == [s.tokens for p in paths for s in read_conll(p)]
    assert (dev, len(test), notes) == ([], 5, [])
