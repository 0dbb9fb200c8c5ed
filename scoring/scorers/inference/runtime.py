"""Runs an engine on texts: tokenizes them, makes batches, and keeps several batches in work."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext

import numpy as np

from tta.data.text.progress import tqdm
from tta.data.vocabulary.load import AnyTokenizer
from tta.errors import InputError
from tta.names import VOCABULARY
from tta.scoring.engines.base import BatchFunction, Engine
from tta.scoring.scorers.inference.batches import (
    Batch,
    make_batches,
    prefetch,
    run_batches,
)
from tta.scoring.scorers.options import ScoreOptions
from tta.scoring.scorers.scorer import Scorer

# Number of texts that are tokenized and sorted together; bounds memory.
BLOCK_TEXTS = 20_000

UNLIMITED = 1 << 31  # the longest input of a model without position embeddings

Results = Iterator[tuple[Batch, np.ndarray]]


class Runtime(Scorer):
    """A scorer that runs functions of an engine on texts. B batch, T tokens.

    Attributes:
        engine: computes the results of a batch.
        options: how texts are read.

    Methods that take text raise an InputError if the engine has no tokenizer, or if a sentence is
    too long and `options.long_sentences` is "refuse".
    """

    engine: Engine
    options: ScoreOptions

    @property
    def window_size(self) -> int:
        """Maximum number of pieces in an input of the model."""
        return (self.engine.config.max_position_embeddings or UNLIMITED) - 2

    @property
    def batch_tokens(self) -> int:
        """Number of tokens in a batch, padding included."""
        return self.options.batch_tokens or self.engine.batch_tokens

    @property
    def text_tokenizer(self) -> AnyTokenizer:
        """The tokenizer. Raises InputError if the model has no vocabulary."""
        if self.engine.tokenizer is None:
            rule = f"the model has no {VOCABULARY}: it takes ids (lm.model), not text"
            raise InputError(rule, self.name)
        return self.engine.tokenizer

    def run(
        self,
        make: Callable[[], BatchFunction],
        texts: Sequence[str],
        positions: set[str],
        progress: bool = False,
        doing: str = "encoding",
    ) -> Results:
        """Yields (batch, result) of all batches of texts, see `run_batches`.

        Args:
            make: gives the function, once for each block of texts.
            texts: N str.
            positions: the tokens that are wanted, as in `make_batches`.
            progress, doing: whether to show a progress bar, and its name.
        """
        starts = range(0, len(texts), BLOCK_TEXTS)
        # A single block has nothing to prepare ahead, and should not wait for a thread.
        prepare = prefetch if len(starts) > 1 else map
        blocks = prepare(
            lambda start: self._batches(texts[start : start + BLOCK_TEXTS], start, positions),
            starts,
        )
        bar = None
        if progress:
            of = {"unit": " sentences", "unit_scale": True, "dynamic_ncols": True}
            bar = tqdm(total=len(texts), desc=doing, **of)
        with nullcontext() if bar is None else bar:
            for batches in blocks:
                for batch, result in self.results(make, batches):
                    yield batch, result
                    if bar is not None:
                        bar.update(len(batch.text_index))

    def run_blocks(
        self,
        make: Callable[[], BatchFunction],
        blocks: Iterable[Sequence[str]],
        positions: set[str],
        advance: Callable[[float], None] | None = None,
    ) -> Iterator[tuple[Sequence[str], Results]]:
        """Yields (texts, results as of `run`) of each block of texts.

        A block is tokenized while the results of the one before it are drawn. `advance` is called
        after each batch with its share of the block's tokens.
        """
        prepared = prefetch(lambda texts: (texts, self._batches(texts, 0, positions)), blocks)
        for texts, batches in prepared:
            yield texts, self.results(make, batches, advance)

    def results(
        self,
        make: Callable[[], BatchFunction],
        batches: Sequence[Batch],
        advance: Callable[[float], None] | None = None,
    ) -> Results:
        """Yields (batch, result) of batches; arguments as in `run_blocks`."""
        function = make()

        def run(batch):
            return function(batch.input_ids, batch.padding_mask, batch.keep)

        return run_batches(run, batches, self.engine.batches_in_flight, advance)

    def _batches(self, texts, first_index, positions):
        """`make_batches` with the tokenizer and sizes of the model."""
        return make_batches(
            self.text_tokenizer,
            texts,
            first_index=first_index,
            positions=positions,
            window_size=self.window_size,
            batch_tokens=self.batch_tokens,
            refuse_long=self.options.long_sentences == "refuse",
        )
