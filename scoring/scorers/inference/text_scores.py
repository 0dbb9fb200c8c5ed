"""Scores of sentences and tokens from the log-probabilities that a model gives the tokens."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tta.data.vocabulary.spelling import SpellingCosts
from tta.scoring.engines.base import BatchFunction
from tta.scoring.scorers.inference.runtime import Results, Runtime
from tta.scoring.scorers.scorer import SumsAndCounts, TokenScores


@dataclass(frozen=True, eq=False)
class TextScores:
    """Scores sentences; `TextModel` has the meaning of the results.

    Attributes:
        runtime: tokenizes the sentences and runs the model.
        function: gives what scores the tokens of a batch, [B, T] float32.
        costs: what unknown words cost besides; None is nothing.
    """

    runtime: Runtime
    function: Callable[[], BatchFunction]
    costs: SpellingCosts | None = None

    def sums(self, texts: Sequence[str], progress: bool = False) -> SumsAndCounts:
        """As `Scorer.score_with_counts`."""
        return _sum_scores(self._run(texts, progress), len(texts))

    def tokens(self, texts: Sequence[str], progress: bool = False) -> list[TokenScores]:
        """As `Scorer.score_tokens`."""
        return self._collect_tokens(self._run(texts, progress), len(texts))

    def blocks(
        self,
        blocks: Iterable[Sequence[str]],
        tokens: bool = False,
        advance: Callable[[float], None] | None = None,
    ) -> Iterator[SumsAndCounts | list[TokenScores]]:
        """As `Scorer.score_blocks`; a block is tokenized while the one before it is scored."""
        collect = self._collect_tokens if tokens else _sum_scores
        found = self.runtime.run_blocks(self.function, blocks, self._positions, advance)
        for texts, results in found:
            yield collect(self._priced(results, texts), len(texts))

    @property
    def _positions(self):
        """The tokens that count in the score of a sentence, as `make_batches` takes them."""
        if not self.runtime.options.score_boundary_tokens:
            return {"text"}
        return {"text", "end"} | ({"begin"} if self.runtime.engine.scores_first_token else set())

    def _run(self, texts, progress) -> Results:
        results = self.runtime.run(self.function, texts, self._positions, progress, "scoring")
        return self._priced(results, texts)

    def _priced(self, results, texts) -> Results:
        """The results, less the costs of unknown words."""
        if self.costs is None:
            yield from results
            return
        unk_id = self.runtime.tokenizer.vocabulary.unk_id
        left = {}  # index of a text -> the costs of its unknown words in the windows to come
        for batch, scores in results:
            rows, columns = np.nonzero(batch.keep & (batch.input_ids == unk_id))
            if len(rows):
                scores = np.array(scores)
            for row, column in zip(rows, columns, strict=True):
                index = batch.text_index[row]
                if index not in left:
                    left[index] = iter(self.costs.of_text(texts[index]))
                scores[row, column] -= next(left[index])
            yield batch, scores

    def _collect_tokens(self, results, size):
        """From (batch, scores [B, T]) to a list of `TokenScores`, one per text."""
        ids, scores = [[] for _ in range(size)], [[] for _ in range(size)]
        for batch, result in results:
            for row, index in enumerate(batch.text_index):
                keep = batch.keep[row]
                ids[index].append(batch.input_ids[row, keep])
                scores[index].append(result[row, keep])
        return [
            TokenScores(
                self.runtime.tokenizer.pieces(np.concatenate(pieces or [[]]).astype(int)),
                np.concatenate(values or [[]]).astype(np.float64),
            )
            for pieces, values in zip(ids, scores, strict=True)
        ]


def _sum_scores(results, size):
    """From (batch, scores [B, T]) to (sums [N] float64, number of scored tokens [N] int64)."""
    sums, counts = np.zeros(size), np.zeros(size, np.int64)
    for batch, scores in results:
        np.add.at(sums, batch.text_index, np.where(batch.keep, scores, 0.0).sum(axis=1))
        np.add.at(counts, batch.text_index, batch.keep.sum(axis=1))
    return sums, counts


def without_scores(signature: str) -> list[str]:
    """The parts of a signature, without those that only scores depend on; the version is last."""
    of_scores = ("pll", "normalizer", "boundary_tokens", "unknown", "log")
    return [part for part in signature.split("|") if part.partition(":")[0] not in of_scores]
