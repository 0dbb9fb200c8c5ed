"""How single characters are read; test_case.py and test_tokenizer.py have whole texts."""

import pytest

from tta.data.vocabulary.normalization import FoldedCharacters


@pytest.mark.parametrize(
    ("character", "folded", "cased"),
    [
        ("\u00ad", "", " "),  # an invisible character: a soft hyphen
        ("\t", " ", " "),
        ("É", "e", "É"),
        ("½", "1\u20442", "½"),
        ("ß", "ss", "ß"),
    ],
)
def test_nfkc_folds_characters_only_if_text_is_lower_cased(character, folded, cased):
    assert f"a{character}b".translate(FoldedCharacters(True)) == f"a{folded}b"
    assert f"a{character}b".translate(FoldedCharacters(False)) == f"a{cased}b"
