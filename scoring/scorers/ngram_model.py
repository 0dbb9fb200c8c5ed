"""Scores with an n-gram model, read by the `kenlm` package."""

import contextlib
import math
import re
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from tta.data.text.files import check_rereadable, file_digest, open_input
from tta.data.text.progress import tqdm
from tta.errors import InputError, install
from tta.scoring.scorers.arguments import NOT_FINITE, SentenceError, as_texts
from tta.scoring.scorers.scorer import Scorer, TokenScores

_HEAD_BYTES = 1 << 16  # the counts stand there
_NGRAM_BYTES = 4  # the shortest line of an n-gram: a probability, a tab, a word, the line end
_UNREAD = (b"\xfd7zXZ\0", b"BZh")  # xz and bzip2, which camel-kenlm's wheels are built without
_COMMON = -4.0  # log10 of the probability of a common word
_PACKED_RATIO = 1_100  # the best that the packers do


class NgramModel(Scorer):
    """Scores a text by the log-probability of each word given the words before it.

    Words are separated by white space and used unchanged: prepare case and punctuation as in the
    training text of the model. An unknown word gets the probability of the model's <unk>, or
    10 ** -100 from KenLM if the model has none. The begin token <s> is context and never scored.
    KenLM's log10 is converted to the natural log.

    Args:
        path: an ARPA file, plain or compressed, or a binary file of KenLM.
        score_boundary_tokens: whether the end token </s> counts in scores.

    Raises:
        InputError: the package `kenlm` is missing, or the file is missing or malformed.
    """

    no_vectors = "an n-gram model has no sentence vectors"

    def __init__(self, path: Path | str, score_boundary_tokens: bool = False):
        self.name = Path(path).name
        self.path = path
        self.score_boundary_tokens = score_boundary_tokens
        self._model = _read(path)

    def __reduce__(self):  # a copy reads the file again
        return type(self), (Path(self.path).absolute(), self.score_boundary_tokens)

    @property
    def settings(self):
        return {
            "type": "ngram",
            "order": self._model.order,
            "file": file_digest(self.path),
            "boundary_tokens": self.score_boundary_tokens,
            "log": "natural",
        }

    def score_tokens(self, texts: Iterable[str], progress: bool = False) -> list[TokenScores]:
        """As `Scorer.score_tokens`; tokens are words, and </s> if boundary tokens are scored."""
        texts, end = as_texts(texts), self.score_boundary_tokens
        scored = []
        for text in tqdm(texts, unit=" sentences", disable=not progress, desc="scoring"):
            words = text.split()
            # KenLM splits at ASCII white space only. Joined by spaces, its words are ours.
            results = self._model.full_scores(" ".join(words), bos=True, eos=end)
            log10 = np.array([log_probability for log_probability, _, _ in results], np.float64)
            if not np.isfinite(log10).all():
                raise SentenceError(NOT_FINITE, len(scored))
            scored.append(TokenScores(words + ["</s>"] * end, log10 * math.log(10)))
        return scored

    def count_unknown(self, texts: Iterable[str]) -> np.ndarray:
        """As `Scorer.count_unknown`: words that KenLM does not find in the model."""
        rows = [self._model.full_scores(" ".join(text.split())) for text in as_texts(texts)]
        # The last one is </s>.
        return np.array([sum(length for *_, length in [*row][:-1]) for row in rows], np.int64)

    def is_common(self, word: str) -> bool:
        """As `Scorer.is_common`: whether the model gives a word alone at least one in 10,000."""
        return word in self._model and self._model.score(word, bos=False, eos=False) >= _COMMON

    def _num_tokens(self, texts):
        return np.array([len(text.split()) + self.score_boundary_tokens for text in texts])


def _read(path):
    try:
        import kenlm
    except ImportError:
        raise InputError(
            f"an n-gram model needs the package kenlm: {install('kenlm')}", path
        ) from None
    check_rereadable(path)
    check_counts(path)
    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    try:
        with _readable(path) as readable:
            return kenlm.Model(str(readable), config)
    except UnicodeDecodeError:  # the package cannot decode its own message
        reason = "neither an ARPA file nor a binary file of KenLM"
    except (OSError, RuntimeError) as error:
        # "Cannot read model 'path' (place in KenLM threw What because `condition'. reason)"
        match = re.fullmatch(r"Cannot read model '.*?' \((?:.* threw .*?\. )?(.*)\)", _line(error))
        reason = match.group(1) if match else _line(error)
    raise InputError(f"KenLM cannot read it: {reason}", path)


@contextlib.contextmanager
def _readable(path):
    """A path of the same model that KenLM reads."""
    with open(path, "rb") as file:
        is_read = not file.read(6).startswith(_UNREAD)
    with tempfile.TemporaryDirectory() as folder:
        unpacked = Path(folder, "lm")
        if not is_read:
            with open_input(path) as stream, open(unpacked, "wb") as copy:
                shutil.copyfileobj(stream, copy)
        yield path if is_read else unpacked


def check_counts(path: Path | str) -> None:
    """Checks the counts at the head of an ARPA file: KenLM allocates what they ask for.

    Raises InputError if a count is none, or there are more n-grams than the file has bytes for; or
    the file is missing, a folder, or unreadable.
    """
    with open_input(path) as stream:
        head = stream.read(_HEAD_BYTES)
    if not head.lstrip().startswith(b"\\data\\"):
        return  # a binary file, or none that KenLM reads
    counts = re.findall(rb"(?m)^ngram\s+\d+\s*=(.*)$", head.partition(b"-grams:")[0])
    size = Path(path).stat().st_size
    with open(path, "rb") as file:
        packed = not file.read(_HEAD_BYTES).lstrip().startswith(b"\\data\\")
    for count in map(bytes.strip, counts):
        if not (count.isdigit() and len(count) < 19):
            raise InputError(f"the number of n-grams must be an integer, not {count!r}", path)
    num_ngrams, room = sum(map(int, counts)), size * (_PACKED_RATIO if packed else 1)
    if num_ngrams * _NGRAM_BYTES > room:
        raise InputError(f"it declares {num_ngrams:,} n-grams, more than it has bytes for", path)


def _line(error):
    return " ".join(str(error).split())
