"""run_sts.py as a user sees it."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import tta
from tests.commands import run_with_fake_model
from tests.fake_model import FakeModel
from tta.errors import InputError
from tta.scoring.similarity.config import StsConfig
from tta.scoring.similarity.sts import compare_files

PAIRS = [
    ("A cat sat.", "A cat sat.", 5.0),
    ("A cat sat.", "The cat sat on a mat.", 3.5),
    ("A dog ran home.", "A cat sat.", 1.25),
    ("A red door, open", "Blue", 0.0),
]


def write(path, pairs):
    with open(path, "w", newline="") as stream:
        csv.writer(stream).writerows(pairs)
    return path


@pytest.fixture
def sts(tmp_path):
    return write(tmp_path / "pairs.csv", PAIRS)


def command(*flags):
    """Runs the command in this process."""
    return run_with_fake_model("tta-sts", *flags)


def compare(*paths, models=(None,), **values):
    """`compare_files` with a config of these files."""
    return compare_files(StsConfig(sts_file=list(map(str, paths)), **values), models)


def loop_cosines(representation):
    first, second, _ = zip(*PAIRS, strict=True)
    a, b = (FakeModel().encode(list(texts), representation) for texts in (first, second))
    return [x @ y / np.sqrt((x @ x) * (y @ y)) for x, y in zip(a, b, strict=True)]


def test_prints_both_correlations_of_both_representations(sts):
    done = command(f"--sts_file={sts}", "--representation=context,embed")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "loaded\n"
    heading, *rows, signature = done.stdout.splitlines()
    assert heading.split() == ["x", "100", "pairs", "model", "vectors", "Pearson", "Spearman"]
    gold = [pair[2] for pair in PAIRS]
    for row, representation in zip(rows, ("context", "embed"), strict=True):
        cosines = loop_cosines(representation)
        pearson, spearman = stats.pearsonr(cosines, gold)[0], stats.spearmanr(cosines, gold)[0]
        numbers = [f"{100 * pearson:.2f}", f"{100 * spearman:.2f}"]
        assert row.split() == [str(sts), "4", "small", representation, *numbers]
    assert signature == "fake|version:0|similarity:cosine"


def test_every_distinct_sentence_of_all_files_is_encoded_once(sts, tmp_path, model):
    other = write(tmp_path / "other.csv", [*PAIRS[:2], ("Blue", "Some new sentence", 2.0)])
    report = str(compare(sts, other, representation=["context", "embed"]))
    assert [representation for representation, _ in model.encoded] == ["context", "embed"]
    for _, sentences in model.encoded:
        assert len(sentences) == len(set(sentences)) == 6
    assert [line.split()[0] for line in report.splitlines()[1:-1]] == [str(sts), str(other)] * 2


def test_pairs_are_compared_by_their_words(sts, tmp_path):
    write(sts, [*PAIRS, ("", "Blue", 0.5)])
    lm, output = tta.load(), tmp_path / "values.csv"
    report = compare(sts, representation=["aligned", "token"], output_file=str(output))
    result = report.results[0]
    first, second = [pair.first for pair in result.pairs], [pair.second for pair in result.pairs]
    np.testing.assert_allclose(
        result.similarities, lm.similarity(first, second, "aligned"), atol=1e-6
    )
    assert (result.vectors, result.unknown.tolist()) == ("aligned", [False] * 4 + [True])
    assert report.signatures == [lm.comparison_signature(n) for n in ("aligned", "token")]
    with pytest.raises(InputError, match=r"small: pooling of aligned must be mean, not 'sif'"):
        compare(sts, representation=["aligned"], pooling=["sif"])


class WordCounts(FakeModel):
    """A model with one representation."""

    representations = ("embed",)


def test_each_model_has_a_row_and_a_signature(sts, tmp_path, monkeypatch):
    models = {"one": FakeModel(), "counts:two": WordCounts("counts")}
    monkeypatch.setattr(tta, "load", lambda name, **options: models[name])
    output = tmp_path / "cosines.tsv"
    report = compare(sts, output_file=str(output), models=list(models))
    _, *rows, first, second = str(report).splitlines()
    # Without --representation, the first of each model is used.
    assert [row.split()[2:4] for row in rows] == [["one", "context"], ["counts:two", "embed"]]
    assert (first.split("|")[0], second.split("|")[0]) == ("fake", "counts")
    for row, result in zip(rows, report.results, strict=True):
        assert row.split()[2:5] == [
            result.model, result.vectors, f"{result.correlation.pearson:.2f}"
        ]  # fmt: skip
    with open(output) as stream:
        lines = list(csv.DictReader(stream, delimiter="\t"))
    for name, representation in (("one", "context"), ("counts:two", "embed")):
        cosines = [float(line["cosine"]) for line in lines if line["model"] == name]
        np.testing.assert_allclose(cosines, loop_cosines(representation), atol=1e-6)


def test_a_missing_representation_is_refused_before_any_model_encodes(sts, monkeypatch):
    models = {"one": FakeModel(), "two": WordCounts("two")}
    monkeypatch.setattr(tta, "load", lambda name, **options: models[name])
    with pytest.raises(InputError, match=r"^two: representation must be embed, not 'context'$"):
        compare(sts, representation=["embed", "context"], models=list(models))
    assert models["one"].encoded == []


@pytest.mark.parametrize(
    ("content", "output", "message"),
    [
        (None, None, "pairs.csv: no file matches"),
        (
            "a,b,1\nc,d,1\n",
            None,
            "pairs.csv: the correlation is not defined: all gold scores are 1",
        ),
        ("a,b,1\nc,d,2\n", "pairs.csv", "pairs.csv: exists; pass overwrite=True"),
        ("a,b,1\nc,d,2\n", "missing/out", "missing/out: no such folder"),
    ],
)
def test_bad_input_is_refused_before_the_model_is_loaded(
    tmp_path, monkeypatch, no_model, content, output, message
):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("pairs.csv").write_text(content)
    with pytest.raises(InputError, match=re.escape(message)):
        compare("pairs.csv", output_file=output)


def test_an_undefined_correlation_leaves_no_output(tmp_path):
    path = write(tmp_path / "pairs.csv", [("a", "b", 1), ("7", "c", 2)])
    done = command(f"--sts_file={path}", f"--output_file={tmp_path}/out")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"error: {path}: the correlation is not defined: " in done.stderr
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("more", "output"),
    [
        ([("7 8", "A cat sat.", 2.0), ("9", "10", 1.0)], "out"),  # the model knows letters
        ([("", "A cat sat.", 2.0), ("A cat sat.", " ", 1.0)], "out.csv"),
    ],
    ids=["unknown", "empty, csv"],
)
def test_a_sentence_without_a_known_word_gets_similarity_0_and_a_note(sts, tmp_path, more, output):
    write(sts, [*PAIRS, *more])
    done = command(f"--sts_file={sts}", f"--output_file={tmp_path / output}")
    assert done.returncode == 0, done.stderr
    similarities = [*loop_cosines("context"), 0.0, 0.0]
    gold = [*(pair[2] for pair in PAIRS), 2.0, 1.0]
    _, row, note, _ = done.stdout.splitlines()
    assert row.split()[4] == f"{100 * stats.pearsonr(similarities, gold)[0]:.2f}"
    assert note == (
        f"note: {sts}, small, context: similarity 0 for 2 pairs with a sentence that is "
        "empty or has no known word (first: pair 5)"
    )
    with open(tmp_path / output) as stream:
        rows = list(csv.DictReader(stream, delimiter="," if output == "out.csv" else "\t"))
    assert [row["cosine"] for row in rows[4:]] == ["0.000000", "0.000000"]


def test_pairs_without_gold_scores_give_similarities(sts, tmp_path):
    one = tmp_path / "one.tsv"
    one.write_text("A cat sat.\tThe cat sat on a mat.\n")
    done = command(f"--sts_file={one}")
    assert done.returncode == 0, done.stderr
    heading, line = done.stdout.splitlines()
    row = dict(zip(heading.split("\t"), line.split("\t"), strict=True))
    assert float(row["cosine"]) == pytest.approx(loop_cosines("context")[1], abs=1e-6)
    assert (row["gold"], row["first"]) == ("", "A cat sat.")
    _, _, report, note, _ = done.stderr.splitlines()
    assert report.split() == [str(one), "1", "small", "context"]
    assert note.startswith(f"note: {one}: no gold scores, so no correlation (they are read from ")

    done = command(
        f"--sts_file={one},{sts}", "--representation=context,embed", f"--output_file={tmp_path}/o"
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [len(line.split()) for line in lines[1:5]] == [4, 6, 4, 6]
    assert [line.startswith("note: ") for line in lines[5:]] == [True, False]  # once for the file
    assert len((tmp_path / "o").read_text().splitlines()) == 1 + 2 * 5
