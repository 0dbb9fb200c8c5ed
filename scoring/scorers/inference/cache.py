"""A scorer that remembers scores, so that no text is scored again.

Three use it. `tta.load(cache=FILE)` finds a score by the signature of its model, which names the
options, and the text. `tta score --resume` finds it by the number of its block, too, whose batches
its last bits depend on. The service keeps the token scores of a request in memory.
"""

import hashlib
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from operator import attrgetter
from typing import Any, Protocol

import numpy as np

from tta.data.text.progress import tqdm
from tta.errors import InputError
from tta.scoring.scorers.arguments import SentenceError, as_texts
from tta.scoring.scorers.inference.store import ResultStore
from tta.scoring.scorers.scorer import Scorer, SumsAndCounts, TokenScores

_PART = 1024  # texts that are scored and kept together, where there are no blocks


class Store(Protocol):
    """Where scores are kept, such as a `ResultStore`: {key: JSON value}."""

    def get(self, keys: Iterable[str]) -> dict[str, Any]:
        """The values of those of the keys that have one."""
        ...

    def put(self, results: Mapping[str, Any]) -> None:
        """Keeps values, in place of those that have the same keys."""
        ...


class MemoryStore:
    """A `Store` in memory, of one thread."""

    def __init__(self):
        self._results: dict[str, Any] = {}

    def get(self, keys: Iterable[str]) -> dict[str, Any]:
        return {key: self._results[key] for key in keys if key in self._results}

    def put(self, results: Mapping[str, Any]) -> None:
        self._results.update(results)


def _of_model(name: str) -> Any:
    """A property that is an attribute, or a method, of the model."""
    return property(attrgetter(f"lm.{name}"))


class CachedScorer(Scorer):
    """A model that looks for scores in a store before it computes them, and keeps new ones there.

    All else is the model's, also what only its kind has. Only `lm.model` is missing, whose weights
    may change.

    Args:
        lm: the model.
        store: where scores are kept.
        by_block: whether a score belongs to the number of its block in `score_blocks`, too.
        adds_up: whether the score of a text is the sum of its token scores, so that both are there
            if one is. If not, they are computed and kept apart.

    Raises:
        InputError: the model has no signature; in calls also as the store.
    """

    no_model = "it has a cache of scores, which are those of fixed weights"

    name: str = _of_model("name")
    signature: str = _of_model("signature")
    settings: Any = _of_model("settings")
    normalizer: str = _of_model("normalizer")
    gives_log_probabilities: bool = _of_model("gives_log_probabilities")
    representations: tuple[str, ...] = _of_model("representations")
    tokenizer: Any = _of_model("tokenizer")
    no_scores: str = _of_model("no_scores")
    no_log_probabilities: str = _of_model("no_log_probabilities")
    no_vectors: str = _of_model("no_vectors")
    no_alignment: str = _of_model("no_alignment")
    no_labels: str = _of_model("no_labels")
    no_attention: str = _of_model("no_attention")
    pair_representations: tuple[str, ...] = _of_model("pair_representations")
    by_words: Any = _of_model("by_words")
    group_tokens: Any = _of_model("group_tokens")
    count_unknown: Any = _of_model("count_unknown")
    is_common: Any = _of_model("is_common")
    encode: Any = _of_model("encode")
    encode_words: Any = _of_model("encode_words")
    comparison: Any = _of_model("comparison")
    comparison_signature: Any = _of_model("comparison_signature")
    align: Any = _of_model("align")
    attention: Any = _of_model("attention")
    predict: Any = _of_model("predict")
    predict_probabilities: Any = _of_model("predict_probabilities")
    _joined: Any = _of_model("_joined")

    def __init__(self, lm: Scorer, store: Store, *, by_block: bool = False, adds_up: bool = False):
        if not lm.signature:
            raise InputError("a model without a signature has no cache", lm.name)
        self.lm, self.store, self._by_block, self._adds_up = lm, store, by_block, adds_up
        self.store_notes: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Those of the model, and of the store."""
        return (*self.lm.notes, *self.store_notes)

    def __repr__(self):
        return repr(self.lm)

    def __reduce__(self):
        options = {"by_block": self._by_block, "adds_up": self._adds_up}
        return partial(CachedScorer, **options), (self.lm, self.store)

    def __getattr__(self, name: str) -> Any:
        if name == "lm":  # there is none before `__init__`
            raise AttributeError(name)
        return getattr(self.lm, name)

    def remember(self, scores: Mapping[str, TokenScores]) -> None:
        """Keeps the token scores of texts."""
        key = self.signature
        self.store.put({_name(key, True, text): score.to_dict() for text, score in scores.items()})

    def score_with_counts(self, texts: Iterable[str], progress: bool = False) -> SumsAndCounts:
        if self._adds_up:
            return super().score_with_counts(texts, progress)
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
        return self._kept(self.lm.score_blocks, blocks, tokens, advance)

    def _in_parts(self, texts, tokens, progress):
        """Yields the results of parts of the texts, of the model's method for a list of texts."""
        parts = [texts[at : at + _PART] for at in range(0, len(texts) or 1, _PART)]
        options = {"desc": "scoring", "unit": " sentences", "disable": not progress}
        done = 0
        with tqdm(total=len(texts), **options) as bar:
            try:
                for results in self._kept(partial(Scorer.score_blocks, self.lm), parts, tokens):
                    yield results
                    bar.update(min(_PART, len(texts) - done))
                    done += _PART
            except SentenceError as error:
                raise SentenceError(error.sentence_rule, done + error.index) from None

    def _kept(
        self,
        score_blocks: Callable[..., Iterator[Any]],
        blocks: Iterable[Iterable[str]],
        tokens: bool,
        advance: Callable[[float], None] | None = None,
    ) -> Iterator[Any]:
        """As `score_blocks`, the model's, of the texts that are not kept yet.

        Their scores are kept before their block is yielded.
        """
        keys = map(str, itertools.count()) if self._by_block else itertools.repeat(self.signature)
        waiting = deque()  # of each block: the names of its texts, what is kept, {name: place}

        def missing():
            for block, key in zip(blocks, keys, strict=False):
                texts = as_texts(block)
                names = [_name(key, tokens, text) for text in texts]
                results = self.store.get(names)
                places = {name: place for place, name in enumerate(names) if name not in results}
                waiting.append((names, results, places))
                yield [texts[place] for place in places.values()]

        try:
            for scores in score_blocks(missing(), tokens, advance):
                names, results, places = waiting.popleft()
                # Token scores as objects; sums and counts as pairs.
                values = (
                    map(TokenScores.to_dict, scores) if tokens else np.transpose(scores).tolist()
                )
                results |= zip(places, values, strict=True)
                self.store.put({name: results[name] for name in places})
                listed = [results[name] for name in names]
                if tokens:
                    yield [*map(TokenScores.from_dict, listed)]
                else:
                    sums, counts = np.reshape(listed, (-1, 2)).T
                    yield sums, counts.astype(np.int64)
        except SentenceError as error:
            place = [*waiting[0][2].values()][error.index]
            raise SentenceError(error.sentence_rule, place) from None


def _name(key: str, tokens: bool, text: str) -> str:
    """The key of a result in a store."""
    content = f"{key}\n{tokens}\n{text}".encode(errors="surrogatepass")  # the model may refuse it
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def with_cache(lm: Scorer, store: ResultStore) -> CachedScorer:
    """A model with a file of scores. It notes if the file has scores of other models only."""
    cached = CachedScorer(lm, store)
    of_model = f"signature {lm.signature}"
    if not store.get([of_model]):
        if not store.is_empty():
            rule = "it has scores of other models or settings only, so texts are scored anew"
            cached.store_notes = (f"{store.path}: {rule}",)
        store.put({of_model: True})
    return cached
