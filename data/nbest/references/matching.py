"""Gives each list its reference: by its id, or in the order of the lists."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tta.data.nbest.lists import check_readings
from tta.data.nbest.references.reading import IdColumn, IdKind, Reading, Reference
from tta.doors import option_named
from tta.errors import InputError, located, shown


@dataclass(frozen=True)
class ListIds:
    """The ids of the lists that need a reference.

    Attributes:
        ids: in the order of the lists.
        are_partial: whether lists may lack a reference, and references a list.
    """

    ids: Sequence[str]
    are_partial: bool = False

    @cached_property
    def distinct(self) -> frozenset[str]:
        """The ids without their order."""
        return frozenset(self.ids)

    @cached_property
    def are_indices(self) -> bool:
        """Whether the ids are 0, 1 ... or 1, 2 ..., in any order, so that any number is one."""
        return are_numbered(sorted(self.ids, key=lambda key: (len(key), key)), "")

    def named_by(self, column: IdColumn) -> int:
        """The number of lists that a column of ids names, or 0 if these cannot be their ids."""
        if self.are_indices and column.kind in (IdKind.RECORDING, IdKind.FIELD):
            return 0
        ids = self.of_references(column)
        count = len(self.distinct.intersection(filter(None, ids)))
        if column.kind in (IdKind.ID, IdKind.RECORDING):
            return count
        # Few sentences begin with the id of a list. A column of ids has most of ours.
        references_with_list = sum(key in self.distinct for key in ids)
        has_most = 2 * count > len(self.ids) or 2 * references_with_list > len(ids)
        are_distinct = None not in ids and len(set(ids)) == len(ids)
        return count if has_most or (self.are_partial and are_distinct) else 0

    def of_references(self, column: IdColumn) -> list[str | None]:
        """The id of each reference: that of a list if it may be one, else the likeliest."""
        return [
            next((key for key in ids if key in self.distinct), ids[0] if ids else None)
            for ids in column.ids
        ]


def match_references(readings: Sequence[Reading], lists: ListIds) -> list[str | None]:
    """The references of lists in their order, from the reading that names the most lists.

    A list without a reference has None, which is only there if the ids are partial.

    Raises InputError if this reading is refused, a reference has alternatives (see
    `check_readings`), an id is a duplicate, or references and lists do not match.
    """
    reading, column = _best_reading(readings, lists)
    if reading.refusal:
        raise InputError(reading.refusal)
    for reference in reading.references:
        with located(line=reference.line):
            check_readings(reference.text, reading.is_for_sclite)
    if column is None:
        return _in_order(reading.references, lists.ids)
    return _by_id(_keyed(reading.references, column, lists), lists)


def _best_reading(readings: Sequence[Reading], lists: ListIds) -> tuple[Reading, IdColumn | None]:
    """The reading and its column that name the most lists; no column if these are in order."""
    most_lists, best = 0, None
    for reading in readings:
        for column in reading.columns:
            if (count := lists.named_by(column)) > most_lists:
                most_lists, best = count, (reading, column)
    if best is not None:
        return best
    certain = next(reading for reading in readings if reading.is_certain)
    kinds = {column.kind: column for column in reversed(certain.columns)}
    if IdKind.ID in kinds:
        return certain, kinds[IdKind.ID]
    # Lists with an index as their id do not know their recordings.
    return certain, None if are_numbered(lists.ids) else kinds.get(IdKind.RECORDING)


def _keyed(
    references: Sequence[Reference], column: IdColumn, lists: ListIds
) -> dict[str, Reference]:
    """{id: reference}. Raises InputError if a reference has no id, or two have the same."""
    by_id: dict[str, Reference] = {}
    for reference, key in zip(references, lists.of_references(column), strict=True):
        if key is None:
            raise InputError(f"{column.lacking}, got {shown(reference.text)}", line=reference.line)
        first = by_id.setdefault(key, reference)
        if first is not reference:
            where = "" if first.line is None else f", first on line {first.line}"
            raise InputError(f"duplicate id {shown(key)}{where}", line=reference.line)
    return by_id


def _by_id(by_id: dict[str, Reference], lists: ListIds) -> list[str | None]:
    if lists.are_partial:
        if lists.distinct.isdisjoint(by_id):
            raise InputError(f"no list has a reference; the first list is {shown(lists.ids[0])}")
        return [by_id[key].text if key in by_id else None for key in lists.ids]
    for utterance_id in lists.ids:
        if utterance_id not in by_id:
            advice = f"{option_named('partial_references', True)} measures the others"
            raise InputError(f"list {shown(utterance_id)} has no reference; {advice}")
    for utterance_id, reference in by_id.items():
        if utterance_id not in lists.distinct:
            advice = f"{option_named('partial_references', True)} leaves such references out"
            rule = f"{shown(utterance_id)} has a reference but no list; {advice}"
            raise InputError(rule, line=reference.line)
    return [by_id[utterance_id].text for utterance_id in lists.ids]


def _in_order(references: Sequence[Reference], ids: Sequence[str]) -> list[str | None]:
    """If all ids are line numbers, line i, from 0, belongs to the list with the id i."""
    if all(re.fullmatch("[0-9]{1,9}", key) and int(key) < len(references) for key in ids):
        by_number = {str(number): reference for number, reference in enumerate(references)}
        return _by_id(by_number, ListIds([str(int(key)) for key in ids]))
    if len(references) != len(ids):
        got = f"{len(references)} for {len(ids)}"
        raise InputError(f"expected one reference per list, got {got}")
    return [reference.text for reference in references]


def are_numbered(ids: Sequence[str], start: str | None = None) -> bool:
    """Whether ids are a text and the numbers 0, 1 ... or 1, 2 ..., as ids made from an index are.

    `start` is the text before the numbers; None allows any.
    """
    matches = [re.fullmatch(r"(.*?)(0|[1-9][0-9]{0,8})", key) for key in ids]
    starts = {match and match[1] for match in matches}
    numbers = [int(match[2]) for match in matches if match]
    return (
        len(starts) == 1
        and None not in starts
        and start in (None, *starts)
        and numbers[0] in (0, 1)
        and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    )
