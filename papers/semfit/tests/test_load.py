"""tta.load of word vectors."""

import pytest

import tta
from tta.errors import InputError


def test_a_missing_file_is_a_one_line_error():
    with pytest.raises(InputError, match=r"^missing\.txt: no such file") as raised:
        tta.load("glove:missing.txt")
    assert "\n" not in str(raised.value)
