"""The paper's tables: measurements reach docs/results.md and README.md, missing ones are '-'.

The commands run with the fake model, and cannot import TensorFlow or Keras.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.paper import common, reranking, sts, table1, table2, table7
from benchmarks.paper.common import Table, training_of
from benchmarks.paper.reranking import Once
from benchmarks.paper.results import BEGIN, END, TABLES, results, side_by_side
from benchmarks.paper.train_ngram import written_form
from tests.commands import ROOT
from tests.fake_model import FakeModel
from tta.data.nbest.files import read_nbest

# The fake model knows the words of the right hypothesis, but not "kat".
WRONG, RIGHT = "the kat sat on", "the cat sat on"


def command(script, *flags, fake=True, **environment):
    run = [sys.executable, *([str(ROOT / "tests/fake_model.py")] if fake else [])]
    return subprocess.run(
        [*run, "-m", f"benchmarks.paper.{script}", *map(str, flags)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data folder with lists in which the first pass is wrong and the fake model is right."""
    folder = tmp_path_factory.mktemp("data")
    arctic = {
        f"u{i}": {
            "hyp_1": {"score": -1.0, "text": WRONG},
            "hyp_2": {"score": -1.5, "text": RIGHT},
            "ref": RIGHT,
        }
        for i in range(60)
    }
    for condition in ("clean", "snr5"):
        for part in ("dev", "test"):
            write_json(folder / f"nbest/asr_arctic/{part}.{condition}.json", arctic)
    lists = [{"input": [WRONG, RIGHT], "output": RIGHT}] * 100
    for part in ("clean", "other"):
        write_json(folder / f"nbest/asr_hyporadise/test_ls_{part}.json", lists)
    return folder


# The rows of these models would take seconds each.
WITHOUT = "--ngram=kenlm:none --bilm=none --unilm=none --cloze_base=none"


@pytest.fixture(scope="module")
def measured(folder):
    """The folder with table 1, and the output of its command."""
    output = folder / "out"
    flags = (f"--data_dir={folder}", f"--output_dir={output}", *WITHOUT.split())
    done = command("table1", *flags)
    assert done.returncode == 0, done.stderr
    return output, done.stdout


@pytest.mark.slow
def test_a_table_shows_measurements_and_the_papers_figures(measured):
    output, printed = measured
    table = json.loads((output / "table1.json").read_text())
    for column in table["columns"]:
        assert table["rows"]["first pass"][column] == 25.0  # one word of four
        assert table["rows"]["T-TA, exact"][column] == table["rows"]["oracle"][column] == 0.0
        assert table["rows"]["no model"][column] == table["rows"]["no model, max"][column] == 25.0
    lines = printed.splitlines()
    assert (
        f"    python -m benchmarks.paper.table1 {WITHOUT}" in lines
    )  # without paths of the machine
    assert "| T-TA, exact | 3.67 | 11.56 | 3.97 | 12.38 | 0.00 | 0.00 | 0.00 | 0.00 |" in lines
    assert "| T-TA, learned, bfloat16 | - | - | - | - | 0.00 | 0.00 | 0.00 | 0.00 |" in lines
    assert "| biLM | 3.73 | 11.53 | 3.97 | 12.41 | - | - | - | - |" in lines
    assert "| oracle | 1.80 | 7.90 | 1.96 | 8.39 | 0.00 | 0.00 | 0.00 | 0.00 |" in lines
    assert "| Shin et al. (2019): biLM | 4.94 | 16.09 | 5.14 | 16.81 | - | - | - | - |" in lines
    assert "- biLM: not measured (--bilm=none does not exist)" in lines
    assert "- BERT: not measured (no model was available; set --bert)" in lines
    assert "- Arctic clean: 60 lists, 120 hypotheses; tuned on 60 other lists" in lines
    halves = "each half is tuned on the other half"
    assert f"- LibriSpeech clean: 100 lists, 200 hypotheses; {halves}" in lines
    # All lists are equal, so all resamples are equal.
    equal = "-25.00 [-25.00, -25.00] against"
    expected = f"{equal} first pass; {equal} no model"
    assert f"- Arctic snr5, T-TA, exact: {expected}" in lines
    expected += "; +0.00 [+0.00, +0.00] against T-TA, exact"
    assert f"- Arctic snr5, T-TA, learned: {expected}" in lines
    # Without a model nothing changes, so its cells are marked.
    cells = " | ".join(["25.00 \N{DAGGER}"] * 4)
    assert f"| no model | - | - | - | - | {cells} |" in lines
    # Of the paper's rows, only the T-TA and the first pass were measured.
    assert any(line.startswith("- Of 4 pairs of rows that have an order in both") for line in lines)


def test_each_half_is_tuned_on_the_other_half(tmp_path):
    lists = [{"input": [f"a {i}", "b"], "output": "b"} for i in range(5)]
    write_json(tmp_path / "lists.json", lists)
    flags = argparse.Namespace(data_dir=tmp_path, output_dir=tmp_path, limit=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(common, "FLAGS", flags)
        patch.setattr(reranking, "FLAGS", flags)
        configs = reranking.Lists(("lists.json",), None, {}).configs()
    halves = [
        [one.hypotheses[0].text for one in read_nbest(config.nbest_file).lists]
        for config in configs
    ]
    assert halves == [["a 0", "a 2", "a 4"], ["a 1", "a 3"]]
    assert [c.dev_nbest_file for c in configs] == [c.nbest_file for c in configs[::-1]]


@pytest.mark.slow
def test_correlations_and_the_papers_figures(tmp_path):
    sick = tmp_path / "sts/SICK_test_annotated.txt"
    sick.parent.mkdir()
    rows = [("pair_ID", "sentence_A", "sentence_B", "relatedness_score")]
    rows += [(1, "a", "a", 5), (2, "b", "b", 1), (3, "a", "b", 1), (4, "b", "b", 1)]
    rows += [(5, "a", "a b", 3), (6, "b", "b", 1)]
    sick.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    (tmp_path / "vectors.txt").write_text("a 1 0\nb 0 1\n")
    flags = (f"--data_dir={tmp_path}", f"--output_dir={tmp_path}", "--tta=none", "--limit=3")
    flags += ("--tables=table4", f"--glove=glove:{tmp_path}/vectors.txt", "--cloze_base=none")
    flags += ("--bilm=none", "--unilm=similarity-small", "--cloze=none", "--similarity=none")
    done = command("sts", *flags, fake=False)
    assert done.returncode == 0, done.stderr
    gold, cosines = [5, 1, 3], [1, 0, 0.5**0.5]  # of pairs 1, 3 and 5
    assert f"| GloVe, embed | - | {100 * np.corrcoef(gold, cosines)[0, 1]:.2f} |\n" in done.stdout
    assert "| T-TA, context | 69.49 | - |\n" in done.stdout
    assert "not standardized, context" not in done.stdout  # it has no record


def test_the_difference_of_correlations_is_that_of_resampled_pairs():
    rng = np.random.default_rng(1)
    gold = rng.normal(size=40)
    good, bad = (gold + noise * rng.normal(size=40) for noise in (0.3, 3.0))

    def result(similarities):
        pairs = [SimpleNamespace(gold=value) for value in gold]
        pearson = 100 * np.corrcoef(similarities, gold)[0, 1]
        correlation = SimpleNamespace(pearson=pearson)
        return SimpleNamespace(pairs=pairs, similarities=similarities, correlation=correlation)

    value, low, high = sts.difference(result(good), result(bad))
    assert value == result(good).correlation.pearson - result(bad).correlation.pearson
    drawn = np.random.default_rng(2).integers(40, size=(3000, 40))
    own = [
        100 * (np.corrcoef(good[i], gold[i])[0, 1] - np.corrcoef(bad[i], gold[i])[0, 1])
        for i in drawn
    ]
    np.testing.assert_allclose([low, high], np.percentile(own, [2.5, 97.5]), atol=3)
    assert sts.difference(result(good), result(good)) == [0, 0, 0]


def test_the_pages_have_the_figures_of_the_record():
    record = json.loads((ROOT / "docs/results.json").read_text(encoding="utf-8"))
    tables = {name: Table(**record[name]) for name in TABLES}
    assert (ROOT / "docs/results.md").read_text(encoding="utf-8") == results(tables)
    page = (ROOT / "docs/comparison.md").read_text(encoding="utf-8")
    assert page.partition(f"{BEGIN}\n")[2].partition(END)[0] == side_by_side(tables)


def test_the_record_says_how_todays_models_were_trained():
    record = json.loads((ROOT / "docs/results.json").read_text(encoding="utf-8"))
    shipped = {"small", *(folder.name for folder in (ROOT / "pretrained").iterdir())}
    for table in record.values():
        kept = {name: text for name, text in table["models"].items() if name in shipped}
        assert kept == {name: training_of(SimpleNamespace(model=name)) for name in kept}


# What the paper has (no section before 4 is cited).
CITED = {
    "section": "4 4.1 4.2 4.2.1 4.2.2 4.3 4.3.1 4.3.2 5 5.1 5.2 5.3 5.3.1 5.3.2 5.4 5.4.1 5.4.2",
    "equation": "1 2 3",
    "figure": "2 3 4 5 6",
    "table": "1 2 3 4 5 6 7",
}
CITATION = re.compile(rf"\b({'|'.join(CITED)})s?\s+(\d[\d.]*(?:(?:,| to| and)\s+\d[\d.]*)*)", re.I)
# What another paper has: "Li et al. 2019, section 3", "Table 2 of Li et al. 2019".
OTHERS = re.compile(
    rf"\b(?:19|20)\d\d\b(?:(?!\.\s)[^|]){{0,160}}?{CITATION.pattern}"
    rf"|{CITATION.pattern}\s+of\s+(?:Li|Peters)\s+et\s+al",
    re.I,
)


def test_the_paper_has_what_is_cited():
    rooms = ("benchmarks", "data", "docs", "flags", "modeling", "papers", "scoring", "tests", "tta")
    paths = [*ROOT.glob("*.md"), *ROOT.glob("*.py")]
    for room in rooms:
        paths += [path for path in (ROOT / room).rglob("*.*") if path.suffix in (".md", ".py")]
    cited, wrong = 0, []
    for path in paths:
        text = OTHERS.sub("", path.read_text(encoding="utf-8"))
        for what, numbers in CITATION.findall(text):
            found = [number.rstrip(".") for number in re.findall(r"\d[\d.]*", numbers)]
            cited += len(found)
            wrong += [
                f"{path.relative_to(ROOT)}: {what} {number}"
                for number in found
                if number not in CITED[what.lower()].split()
            ]
    assert wrong == []
    assert cited > 30


def test_every_row_of_the_paper_is_a_row_that_is_measured():
    """A row under a wrong name would stand alone, without a number of ours or of the paper."""
    scored = {"first pass", "oracle", *(entry.name for entry in common.SCORERS)}
    of_2019 = scored | {entry.name for entry in common.WORD_SCORERS}
    encoded = {
        f"{entry.name}, {vectors}" for entry in common.ENCODERS for vectors in entry.representations
    }
    assert set(table1.SEQ2SEQ) | set(table2.PAPER) | set(table7.PAPER) <= scored
    assert set(table1.SHIN_2019) <= of_2019
    assert {row for part in sts.PARTS.values() for row in part.paper} <= encoded
    assert "T-TA, not standardized, context" in encoded


def test_a_model_of_the_tables_scores_no_text_twice():
    model = FakeModel()
    lm = Once(lambda: model)
    lm.score_with_counts(["a cat", "x"])
    sums, counts = lm.score_with_counts(["x", "the dog sat", "a cat", "x"])
    assert (sums.tolist(), counts.tolist()) == ([-5, -3, -2, -5], [1, 3, 2, 1])
    assert model.scored == ["a cat", "x", "the dog sat"]
    assert (lm.name, lm.signature) == (model.name, model.signature)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("I don\u2019t know, do you?", "i don 't know , do you ?"),
        ("A four-letter word (1,000 times).", "a four-letter word ( 1,000 times ) ."),
        ("Café -- olé!", "café - - olé !"),
    ],
)
def test_written_form(line, expected):
    assert written_form(line) == expected
