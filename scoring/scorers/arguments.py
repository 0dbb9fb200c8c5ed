"""What callers in Python pass to a scorer: texts and choices, and what is wrong with them."""

import itertools
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from tta.errors import InputError

# The rule of a `SentenceError` where a model's weights are too large, or an n-gram's log is -inf.
NOT_FINITE = "gets a result from the model that is not a finite number"


class SentenceError(InputError):
    """A sentence breaks a rule. `index` counts from 0; the rule reads like "is too long"."""

    def __init__(self, rule: str, index: int):
        super().__init__(f"sentence {index + 1} {rule}")
        self.sentence_rule = rule
        self.index = index


def as_texts(texts: Iterable[str], name: str = "texts") -> list[str]:
    """Checks texts from a caller in Python, and returns them as a list.

    Args:
        texts: an ordered iterable of str, such as a list, a generator or a NumPy array [N].
        name: name of the argument in errors.

    Raises:
        TypeError: `texts` is one str, has no order (a set), has keys (a dict) or several
            dimensions, or one of its items is not a str. The message gives the item's index.
        InputError: a text has half a surrogate pair, as broken JSON may.
    """
    listed = as_list(texts, name, "str")
    if getattr(texts, "ndim", 1) != 1:  # a pandas DataFrame iterates over its column names
        raise TypeError(f"{name} must have one dimension: it is a {type(texts).__name__}")
    for index, text in enumerate(listed):
        if not isinstance(text, str):
            raise TypeError(f"{name}[{index}] must be a str, not {type(text).__name__}")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InputError(f"{name}[{index}] is not valid Unicode: {text!r}") from None
    return listed


def as_list(values: Iterable[Any], name: str, kind: str) -> list[Any]:
    """The items of an ordered iterable; `name` and `kind` are for the error.

    Raises TypeError if `values` is not an iterable, or is a str, bytes, a set, a dict, or a table,
    which libraries iterate by columns or by their names.
    """
    if is_table(values):
        raise TypeError(
            f"{name} must be an ordered iterable of {kind}, not a {type(values).__name__}: pass "
            "its rows, such as frame.to_numpy().tolist(), or one of its columns"
        )
    refused = str, bytes, bytearray, set, frozenset, Mapping
    is_one_value = getattr(values, "ndim", 1) == 0
    if isinstance(values, refused) or not isinstance(values, Iterable) or is_one_value:
        raise TypeError(
            f"{name} must be an ordered iterable of {kind}, such as a list, "
            f"not {type(values).__name__}"
        )
    if hasattr(values, "to_pylist"):  # an array of pyarrow, which iterates over its own scalars
        return values.to_pylist()  # pyright: ignore[reportAttributeAccessIssue]
    return list(values)


def check_same_index(columns: Mapping[str, Any]) -> None:
    """Raises InputError if two arguments have row labels that differ, as a pandas Series has them.

    All arguments are read by position, so rows of a sorted or filtered Series would belong to
    others. Arguments without labels, such as lists, are not looked at.

    Args:
        columns: the arguments by their names.
    """
    labelled = {
        name: column.index
        for name, column in columns.items()
        if hasattr(getattr(column, "index", None), "equals")
    }
    for (first, index), (second, other) in itertools.pairwise(labelled.items()):
        if not index.equals(other):
            raise InputError(
                f"{first} and {second} have different indices, so their rows may not belong "
                "together; align them, or pass lists"
            )


def is_table(values: Any) -> bool:
    """Whether an object is a table, such as a data frame of pandas or polars, or one of pyarrow."""
    has_columns = hasattr(values, "columns") or hasattr(values, "column_names")
    return has_columns and not isinstance(values, Mapping)


def check_choice(what: str, value: str, choices: Collection[str], name: str | None = None) -> None:
    """Raises an InputError, with the name of the model, unless a value is one of the choices."""
    if value not in choices:
        raise InputError(f"{what} must be {' or '.join(choices)}, not {value!r}", name)


def shortened(text: str) -> str:
    """The first 40 characters of a text, for messages."""
    return text if len(text) <= 40 else f"{text[:40]}..."
