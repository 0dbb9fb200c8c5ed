"""Reads the Markdown tables that benchmarks write."""


def cells(lines, *first):
    """The cells of the row that begins with these ones, without them."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    (found,) = (row[len(first) :] for row in rows if tuple(row[: len(first)]) == first)
    return found
