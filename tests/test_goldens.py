"""The code still computes the outputs recorded in tests/goldens.

Record them again only when an issue changes a number on purpose: `python tests/goldens/record.py`.
Text, names, shapes and counts must be equal. Numbers may differ as other processors round them.
"""

import math
import re

import pytest

from tests.goldens.record import MODELS, PARTS, TABLES, TRAININGS, compute, golden

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("models_are_loaded_once")]

# (absolute, relative)
SCORES = (2e-4, 1e-5)
VECTORS = (1e-4, 1e-5)
WEIGHTS = (1e-4, 1e-5)
HELDOUT = (1.5e-4, 5e-4)  # printed with four digits, or two decimals
# Learned scores, also those that lists are reranked by. The last LayerNorm has large scales, which
# magnify how processors with and without AVX-512 round the products before it.
LEARNED = (2e-3, 1e-4)
# Weights that are tuned on scores, or guessed from their scale, as a table prints them. Several
# weights may be equally good, and rounding decides between them.
TUNED = (1e-2, 2e-2)

TUNED_DIGITS = 5  # ... with so many digits or more; rates have fewer and are compared as text.
NUMBER = re.compile(r"(-?\d+\.\d+)")


def differences(found, expected, tolerance, where=""):
    """Lines that say what differs, and where."""
    if type(found) is not type(expected):
        return [f"{where}: {found!r}, not {expected!r}"]
    if isinstance(found, dict):
        if list(found) != list(expected):
            return [f"{where}: {list(found)}, not {list(expected)}"]
        pairs = [(f"{where}/{key}", found[key], expected[key]) for key in found]
    elif isinstance(found, list):
        if len(found) != len(expected):
            return [f"{where}: {len(found)} items, not {len(expected)}"]
        pairs = [
            (f"{where}[{i}]", *pair) for i, pair in enumerate(zip(found, expected, strict=True))
        ]
    elif isinstance(found, float):
        absolute, relative = tolerance
        good = math.isclose(found, expected, abs_tol=absolute, rel_tol=relative)
        return [] if good else [f"{where}: {found}, not {expected}"]
    else:
        return [] if found == expected else [f"{where}: {found!r}, not {expected!r}"]
    return [line for pair in pairs for line in differences(pair[1], pair[2], tolerance, pair[0])]


def line_differences(found, expected):
    """As `differences`, of lines of text; columns may move only where a tuned number differs."""
    moved = numbers(found) != numbers(expected)
    wrong = [] if len(found) == len(expected) else [f"{len(found)} lines, not {len(expected)}"]
    for one, other in zip(found, expected, strict=False):
        parts = [NUMBER.split(re.sub(" +", " ", line) if moved else line) for line in (one, other)]
        if len(parts[0]) != len(parts[1]) or not all(map(same_part, *parts)):
            wrong.append(f"{one!r}, not {other!r}")
    return wrong


def numbers(lines):
    """The numbers with a decimal point in lines of text, as str."""
    return [number for line in lines for number in NUMBER.findall(line)]


def same_part(one, other):
    """Whether two parts of a line are the same text, or tuned numbers that are close."""
    if one == other:
        return True
    if not (NUMBER.fullmatch(one) and NUMBER.fullmatch(other)):
        return False
    digits = max(len(re.sub(r"\D", "", number).lstrip("0")) for number in (one, other))
    absolute, relative = TUNED
    close = math.isclose(float(one), float(other), abs_tol=absolute, rel_tol=relative)
    return digits >= TUNED_DIGITS and close


def test_every_golden_is_compared():
    """ "served" in scoring/exports/serving/test_export.py, which exports that model anyway."""
    assert set(PARTS) == {*MODELS, *TABLES, *TRAININGS, "served"}


@pytest.mark.parametrize("name", MODELS)
def test_scores_tokens_and_vectors(name):
    found, expected = compute(name), golden(name)
    vectors = [one["default"].pop("vectors") for one in (found, expected)]
    learned = [one.pop("learned", {}) for one in (found, expected)]
    wrong = differences(*vectors, VECTORS, "vectors") + differences(found, expected, SCORES)
    wrong += differences(*learned, LEARNED, "learned")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_the_commands(name):
    found, expected = compute(name), golden(name)
    tables = [one.pop("stdout") for one in (found, expected)]
    wrong = line_differences(*tables) + differences(found, expected, LEARNED)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", TRAININGS)
def test_short_trainings(name):
    found, expected = compute(name), golden(name)
    evaluations = [one.pop("heldout") for one in (found, expected)]
    wrong = differences(*evaluations, HELDOUT) + differences(found, expected, WEIGHTS)
    assert not wrong, "\n".join(wrong)
