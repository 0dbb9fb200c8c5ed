"""A table that semicolons separate is refused, and the error names them."""

import pytest

from tta.data.pairs.minimal_pairs import read_minimal_pairs
from tta.data.pairs.sts import read_sts
from tta.errors import InputError


@pytest.mark.parametrize(
    ("read", "header"),
    [
        (read_minimal_pairs, "sentence_good;sentence_bad"),
        (read_sts, "sentence1;sentence2;score"),
    ],
)
def test_semicolons_are_named_in_the_error(tmp_path, read, header):
    path = tmp_path / "pairs.csv"
    path.write_text(f"{header}\na dog runs;a dog run;1\n", encoding="utf-8")
    with pytest.raises(InputError, match="semicolons separate no columns, commas or tabs do"):
        read(path)
