"""Every page has the figures of the records, and pages that share a figure have the same one."""

import re

import pytest

from benchmarks import ROOT, all_tables
from benchmarks.all_tables import END, LISTS, STEPS, TABLES, Records, filled, pages, with_tables
from tests.benchmarks.markdown import table_rows

PARTS = ("Arctic clean", "Arctic 5 dB")


def test_pages_have_the_tables_and_sentences_of_the_records():
    for path, text in pages(Records.read()).items():
        assert (ROOT / path).read_text(encoding="utf-8") == text, path


def test_every_table_names_its_commit():
    for path, tables in TABLES.items():
        page = (ROOT / path).read_text(encoding="utf-8")
        named = re.findall(rf"Measured at commits? [0-9a-f]{{7}}.*\n{END}", page)
        assert len(named) == len(tables), path


def shared_cells():
    """{(set, figure): {page: cell}}: what the built-in model gives, as each page has it."""
    cells = {}

    def add(page, name, figures, row):
        for figure, cell in zip(figures, row, strict=True):
            cells.setdefault((name, figure), {})[page] = cell

    for name, row in zip(LISTS, table_rows("README.md", "| list | metric |"), strict=True):
        add("README.md", name, ("first pass", "no model", "tuned", "oracle"), row[2:6])
    for name, first, guess, *_, tuned in table_rows("docs/reranking.md", "| test lists | first"):
        add("docs/reranking.md", name, ("first pass", "guess", "tuned"), (first, guess, tuned))
    for name, small, *_ in table_rows("docs/levels.md", "| lists | small |"):
        tuned, guess = re.fullmatch(r"(\S+) \((\S+)\)", small).groups()
        add("docs/levels.md", name, ("tuned", "guess"), (tuned, guess))
    page = "docs/experiments/reranking.md"
    rows = {name: row for name, *row in table_rows(page, "| WER %, minus `small` |")}
    for place, name in enumerate(PARTS):
        found = [rows[row][place] for row in ("no model", "small", "small, guessed weights")]
        figures = ("no model", "tuned", "guess")
        add(page, name, figures, [cell.partition(",")[0] for cell in found])
    rows = {row[0]: row for row in table_rows("docs/phrases.md", "| phrases | hypotheses |")}
    for place, name in enumerate(PARTS, 2):
        add("docs/phrases.md", name, ["tuned"], [rows["10,000, none"][place].partition(" ")[0]])
    adapted = {name: row for name, *row in table_rows("docs/adaptation.md", "| test, 809 lists |")}
    rows = ("first pass", "no model", "`small`, adapted", "oracle")
    figures = ("first pass", "no model", "tuned", "oracle")
    add("docs/adaptation.md", "adapted", figures, [adapted[row][0] for row in rows])
    return cells


def test_cells_that_several_pages_share_are_the_same():
    cells = shared_cells()
    differ = {key: found for key, found in cells.items() if len(set(found.values())) > 1}
    assert differ == {}
    shared = {
        name for (name, figure), found in cells.items() if figure == "tuned" and len(found) > 2
    }
    assert shared >= {*PARTS, "ATIS", "IWSLT'14"}


SENTENCES = [
    ("a {} b {}.", "x a 1.5\n b 2. y", ["-3", "4,000"], "x a -3\n b 4,000. y"),
    ("[{}, {}]", "[+1.0, -2.0]", ["5", "6"], "[5, 6]"),
]


@pytest.mark.parametrize(("sentence", "page", "figures", "expected"), SENTENCES)
def test_a_sentence_gets_other_figures(sentence, page, figures, expected):
    assert filled(page, sentence, figures) == expected
    for wrong in (page + page, ""):
        with pytest.raises(ValueError, match="times, not once"):
            filled(wrong, sentence, figures)


def test_a_table_stands_between_its_markers():
    page = f"a\n<!-- table: x -->\nold\n{END}\nb"
    assert with_tables(page, {"x": "new"}) == f"a\n<!-- table: x -->\nnew\n{END}\nb"
    with pytest.raises(ValueError, match="no markers of the table y"):
        with_tables(page, {"y": "new"})


def test_steps_are_run_in_order_and_the_pages_are_written_last(monkeypatch, tmp_path):
    ran = []
    monkeypatch.setattr(all_tables, "run", ran.append)
    monkeypatch.setattr(all_tables, "pages", lambda records: ran.append("pages") or {})
    monkeypatch.setattr(
        "sys.argv", ["all_tables", str(tmp_path), "py", "--steps", "levels", "light"]
    )
    all_tables.main()
    measured = [command.format(scores=tmp_path, light="py")
                for name in ("levels", "light") for command in STEPS[name]]  # fmt: skip
    assert ran == [*measured, *all_tables.PRINTED, "pages"]
