"""Notes on texts that a model cannot read: all words are unknown, or of another language."""

from collections.abc import Iterator, Sequence

import numpy as np

from tta.data.vocabulary.other_language import split_in_other_language
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.scoring.scorers.arguments import shortened
from tta.scoring.scorers.scorer import Scorer

NEARLY_ALL = 0.8  # of the tokens: the others may be signs, which vocabularies have
MAX_TEXTS = 1000  # whose language a long text is judged by


def unread_notes(
    lm: Scorer, lists: Sequence[Sequence[str]], texts: Sequence[str], counts: np.ndarray
) -> Iterator[str]:
    """Yields a note if all words of some lists of texts are unknown to a model.

    `texts` are N of them, each once; `counts` what `lm.count_unknown` says of these: [N] int64.
    """
    unknown = {text: count for text, count in zip(texts, counts.tolist(), strict=True) if count}
    if not unknown:
        return
    sizes = lm._num_tokens([*unknown]) - lm._num_tokens([""])
    pairs = zip(unknown.items(), sizes.tolist(), strict=True)
    unread = {text for (text, count), size in pairs if count >= NEARLY_ALL * size} | {""}
    matching = [words for words in lists if any(words) and unread.issuperset(words)]
    if matching:
        first = shortened(next(filter(None, matching[0])))
        yield (
            f"{lm.name} cannot read {len(matching):,} of {len(lists):,} lists, first {first!r}: "
            "all words are unknown to its vocabulary, so its scores say nothing about them; take "
            "another model"
        )


def language_notes(lm: Scorer, texts: Sequence[str]) -> Iterator[str]:
    """Yields a note if texts take far more word pieces than those of the model's language."""
    pieces = lm.tokenizer
    if isinstance(pieces, Tokenizer) and (sizes := split_in_other_language(pieces, texts)):
        size, split, typical = sizes
        yield (
            f"{lm.name}: {size:.1f} pieces per word, as in a language that the model does not "
            f"know: {split:.0%} of the short words are split, of its own language at most "
            f"{typical:.0%}, first {shortened(texts[0])!r}"
        )
