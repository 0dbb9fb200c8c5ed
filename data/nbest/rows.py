"""What formats with one hypothesis per line share."""

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tta.data.nbest.lists import Hypothesis, ListCollector, NBestList, shown
from tta.errors import InputError, located


def mostly(lines: Sequence[str], test: Callable[[str], Any]) -> bool:
    """Whether at least half of the lines pass: one malformed line does not hide a format."""
    return 2 * sum(bool(test(line)) for line in lines) >= len(lines)


def collect_groups(
    rows: Iterable[tuple[int, str]],
    parse: Callable[[str], tuple[str, Hypothesis]],
    collector: ListCollector,
    find_reference: Callable[[Sequence[Hypothesis]], str | None] = lambda hypotheses: None,
) -> None:
    """Adds a list for each run of rows, [(line number, line)], with the same id.

    `parse` turns a line into id and hypothesis; `find_reference` finds the reference of a list in
    its hypotheses.
    """

    def parsed():
        for number, line in rows:
            with located(line=number):
                row = parse(line)
            yield number, *row

    for utterance_id, group in itertools.groupby(parsed(), key=lambda row: row[1]):
        numbers, _, hypotheses = zip(*group, strict=True)
        with located(f"list {shown(utterance_id)}", numbers[0]):
            collector.add(utterance_id, hypotheses, find_reference(hypotheses))


def check_fields(fields: Iterable[str], separator: str, nbest: NBestList, name: str) -> None:
    """Checks that no field has a line break or contains the separator ("" for no separator).

    Raises:
        InputError: a field does. The message names the list and the format, `name`.
    """
    for field in fields:
        if re.search(r"[\r\n]", field) or (separator and separator in field):
            raise InputError(
                f"list {shown(nbest.utterance_id)}: a {name} field cannot hold {shown(field)}"
            )
