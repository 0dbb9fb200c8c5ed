"""Words as the characters that ELMo reads (Peters et al. 2018)."""

import numpy as np

# The characters of a word: bytes are 0 to 255.
WORD_CHARACTERS = 50  # a word; its first 48 bytes between a begin and an end
BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, PAD_CHARACTER = range(256, 261)
NUM_CHARACTERS = 262  # different values: 0, the padding of a batch, then all of the above plus 1


def spell(characters: bytes | list[int]) -> np.ndarray:
    """The numbers of a word: [50] int32, 1 to 261.

    Its first 48 characters stand between the begin and the end of a word; padding follows.
    """
    spelled = np.full(WORD_CHARACTERS, PAD_CHARACTER, np.int32)
    middle = list(characters)[: WORD_CHARACTERS - 2]
    spelled[: len(middle) + 2] = [BEGIN_WORD, *middle, END_WORD]
    return spelled + 1
