"""Scores that are kept in a file, so that no text is scored again.

`tta.load(cache=FILE)` finds a score by the signature of its model, which names the options, and the
text; `tta score --resume` by the number of the block, too, whose batches its last bits depend on.
"""

import hashlib
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from tta.data.text.progress import tqdm
from tta.errors import InputError
from tta.scoring.scorers.arguments import SentenceError, as_texts
from tta.scoring.scorers.inference.store import ResultStore
from tta.scoring.scorers.scorer import Scorer, SumsAndCounts, TokenScores

_PART = 1024  # texts that are scored and kept together, where there are no blocks


def with_cache(lm: Scorer, store: ResultStore) -> Scorer:
    """A scorer of the same class, which looks for scores in a file, and keeps new ones there.

    It has no `lm.model`, whose weights may change.

    Raises:
        InputError: the model has no signature; in calls also as `ResultStore`.
    """
    if not lm.signature:
        raise InputError("a model without a signature has no cache", lm.name)
    made = object.__new__(type(type(lm).__name__, (_Cached, type(lm)), {}))
    signature = lm.signature  # a digest of all weights
    made.__dict__ = vars(lm) | {"_plain": lm, "_store": store, "_key": signature}
    of_model = f"signature {signature}"
    if not store.get([of_model]):
        if not store.is_empty():
            rule = "it has scores of other models or settings only, so texts are scored anew"
            made.notes = (*lm.notes, f"{store.path}: {rule}")
        store.put({of_model: True})
    return made


class _Cached(Scorer):
    """Comes before the class of a scorer, `_plain`."""

    _plain: Scorer
    _store: ResultStore
    _key: str

    no_model = "it has a cache of scores, which are those of fixed weights"

    @property
    def model(self) -> Any:
        raise self.lacks("model")

    def __reduce__(self):
        return with_cache, (self._plain, self._store)

    def score_with_counts(self, texts: Iterable[str], progress: bool = False) -> SumsAndCounts:
        sums, counts = zip(*self._in_parts(as_texts(texts), False, progress), strict=True)
        return np.concatenate(sums), np.concatenate(counts)

    def score_tokens(self, texts: Iterable[str], progress: bool = False) -> list[TokenScores]:
        return [*itertools.chain(*self._in_parts(as_texts(texts), True, progress))]

    def score_blocks(
        self,
        blocks: Iterable[Iterable[str]],
        tokens: bool = False,
        advance: Callable[[float], None] | None = None,
    ) -> Iterator[Any]:
        keys = itertools.repeat(self._key)
        return kept_blocks(self._store, keys, self._plain.score_blocks, blocks, tokens, advance)

    def _in_parts(self, texts, tokens, progress):
        """Yields the results of parts of the texts, of the plain method for one of them."""
        parts = [texts[at : at + _PART] for at in range(0, len(texts) or 1, _PART)]
        score, key = partial(Scorer.score_blocks, self._plain), itertools.repeat(self._key)
        options = {"desc": "scoring", "unit": " sentences", "disable": not progress}
        done = 0
        with tqdm(total=len(texts), **options) as bar:
            try:
                for results in kept_blocks(self._store, key, score, parts, tokens):
                    yield results
                    bar.update(min(_PART, len(texts) - done))
                    done += _PART
            except SentenceError as error:
                raise SentenceError(error.sentence_rule, done + error.index) from None


def kept_blocks(
    store: ResultStore,
    keys: Iterable[str],
    score_blocks: Callable[..., Iterator[Any]],
    blocks: Iterable[Iterable[str]],
    tokens: bool = False,
    advance: Callable[[float], None] | None = None,
) -> Iterator[Any]:
    """As `Scorer.score_blocks`, which it takes. `keys`: what the scores of each block are for.

    Texts that are kept are not scored. Others are kept before their block is yielded.
    """
    waiting = deque()  # of each block: the keys of its texts, what is kept, {key: place} of others

    def others():
        for block, key in zip(blocks, keys, strict=False):
            texts = as_texts(block)
            given = (f"{key}\n{tokens}\n{text}".encode() for text in texts)
            names = [hashlib.blake2b(one, digest_size=16).hexdigest() for one in given]
            found = store.get(names)
            places = {name: place for place, name in enumerate(names) if name not in found}
            waiting.append((names, found, places))
            yield [texts[place] for place in places.values()]

    try:
        for results in score_blocks(others(), tokens, advance):
            names, found, places = waiting.popleft()
            # Token scores as objects; sums and counts as pairs.
            values = map(TokenScores.to_dict, results) if tokens else np.transpose(results).tolist()
            found |= zip(places, values, strict=True)
            store.put({name: found[name] for name in places})
            listed = [found[name] for name in names]
            if tokens:
                yield [*map(TokenScores.from_dict, listed)]
            else:
                sums, counts = np.reshape(listed, (-1, 2)).T
                yield sums, counts.astype(np.int64)
    except SentenceError as error:
        place = [*waiting[0][2].values()][error.index]
        raise SentenceError(error.sentence_rule, place) from None
