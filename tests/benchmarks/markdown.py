"""Reads the Markdown tables that benchmarks write."""

from benchmarks import ROOT


def cells(lines, *first):
    """The cells of the row that begins with these ones, without them."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    (found,) = (row[len(first) :] for row in rows if tuple(row[: len(first)]) == first)
    return found


def table_rows(path, heading):
    """The cells of the rows of the table of a page whose first line has `heading`."""
    lines = (ROOT / path).read_text(encoding="utf-8").partition(heading)[2].splitlines()[2:]
    table = lines[: lines.index("")] if "" in lines else lines
    return [
        [cell.strip(" *") for cell in line.strip("|").split("|")]
        for line in table
        if line.startswith("|")
    ]
