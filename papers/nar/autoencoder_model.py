"""An autoencoder over text: latent vectors of texts, and texts of latent vectors.

N texts, K latent vectors of a text, P numbers in each, B batch, T tokens.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tta.data.text.progress import tqdm
from tta.errors import InputError
from tta.names import VOCABULARY
from tta.papers.glue.data.inputs import encode_rows
from tta.papers.glue.rows import batches_of_rows, run_rows
from tta.scoring.scorers.arguments import SentenceError, as_texts, check_choice
from tta.scoring.scorers.inference.batches import run_batches
from tta.scoring.scorers.text_model import TextModel, without_scores

# Tokens of a batch that is decoded: all logits of a batch are in memory.
DECODED_TOKENS = 1024


class Posterior(NamedTuple):
    """Where the latent vectors of N texts are: mean [N, K P] and, of a VAE, log-variance."""

    mean: np.ndarray
    log_variance: np.ndarray | None


class AutoencoderModel(TextModel):
    """Encodes texts as latent vectors and decodes latent vectors; `tta.load` makes one.

    Representations:
        latent (default): the latent vector [K P], of a VAE its mean. The only pooling is "mean". A
            longer text than the model's input cannot be encoded; it raises an error regardless of
            `long_sentences`. A text without pieces has the latent vector of begin and end token.
        context: the encoder's outputs at the pieces, as in `TextModel`; the default for words.

    The model gives no sentence scores. Arguments of the class are those of `TextModel`.
    """

    engine: Any  # an engine of the family, see its `ModelType`
    served = "tta.papers.nar.engines.served_rows:ServedAutoencoder"

    no_scores = (  # pyright: ignore[reportAssignmentType]
        "an autoencoder gives no sentence scores: log p(x | z) of its own latent vector is not the "
        "probability of a sentence"
    )

    @property
    def representations(self):
        return "latent", "context"

    @property
    def pooled_representations(self):
        return ("context",)

    @property
    def settings(self):
        return without_scores(super().settings)

    def _encode(self, texts, representation, pooling, progress) -> np.ndarray:
        if representation != "latent":
            return super()._encode(texts, representation, pooling, progress)
        check_choice("pooling of latent", pooling, ("mean",), self.name)
        return self.posterior(self.rows_of(texts), progress).mean

    def encode_words(
        self,
        sentences: Iterable[Sequence[str]],
        representation: str | None = None,
        progress: bool = False,
    ) -> list[np.ndarray]:
        """As `TextModel.encode_words`; None is "context"."""
        return super().encode_words(sentences, representation or "context", progress)

    def rows_of(self, texts: Iterable[str]) -> list[np.ndarray]:
        """The ids of N texts, begin and end token included: N arrays [T_n] int32.

        Raises:
            SentenceError: a text is too long.
            InputError: the model has no vocabulary.
        """
        longest = self.window_size + 2
        rows, is_cut = encode_rows(self.text_tokenizer, [as_texts(texts)], longest)
        if is_cut.any():
            raise SentenceError(
                f"is longer than the model's {longest} tokens, which one latent vector holds",
                int(np.argmax(is_cut)),
            )
        return rows

    def posterior(self, rows: Sequence[np.ndarray], progress: bool = False) -> Posterior:
        """The distribution of the latent vector of each of N rows of `rows_of`, float32.

        `progress` shows a progress bar on standard error.
        """
        num_parts = 1 + self.config.variational
        moments = np.zeros((len(rows), self.config.latent_numbers * num_parts), np.float32)
        with tqdm(total=len(rows), desc="encoding", unit=" texts", disable=not progress) as bar:
            for batch, result in run_rows(self, self.engine.posterior(), rows):
                moments[batch.text_index] = result
                bar.update(len(batch.text_index))
        mean, *log_variance = np.split(moments, num_parts, axis=1)
        return Posterior(mean, *log_variance or [None])

    def decode(
        self,
        vectors: np.ndarray,
        lengths: Sequence[int] | np.ndarray | None = None,
        num_passes: int = 1,
    ) -> list[str]:
        """Writes the text of each latent vector, in one pass of the decoder.

        All tokens are predicted at once. An autoregressive decoder writes one after the other.

        Args:
            vectors: [N, K P] floats.
            lengths: N numbers of pieces, those of the texts that the vectors come from. None takes
                those of `predict_lengths`. A model without them predicts all its positions, and the
                text is cut at the first end token.
            num_passes: with decoder_input "masked", the passes of the decoder. Each one predicts
                the least certain tokens again (`SequenceAutoencoder.decode_in_passes`).

        Returns:
            N str. Accents and, in an uncased model, capital letters are lost.

        Raises:
            InputError: the shape or a length is wrong, a number is not finite, the decoder needs
                the words of the text, or it makes only one pass.
        """
        vectors = self._check_vectors(vectors)
        self.check_decodes(num_passes)
        if lengths is not None:
            rows = [self.blank_row(length) for length in self._check_lengths(lengths, len(vectors))]
        else:
            rows = self.blank_rows(vectors)
        rewritten = self.rewrite(rows, vectors, num_passes)
        stop = lengths is None and not self.config.predicts_length
        return [self.text_of(ids, stop) for ids in rewritten]

    def predict_lengths(self, vectors: np.ndarray) -> np.ndarray:
        """The most probable numbers of pieces, given N latent vectors [N, K P]: [N] int64.

        Raises InputError as `decode`, or the config's predicts_length is false.
        """
        if not self.config.predicts_length:
            raise InputError("the model predicts no lengths (predicts_length)", self.name)
        logits = self.engine.length_logits(self._check_vectors(vectors))
        return logits[:, 1:].argmax(axis=1)  # the second column: only begin and end token

    def interpolate(
        self, first: str, second: str, num_texts: int = 5, num_passes: int = 1
    ) -> list[str]:
        """Texts between two texts: decodes latent vectors at equal distances on a line.

        Returns `num_texts` str, at least 2: the reconstructions of the two, and those between.
        Their numbers of pieces change from that of the first to that of the second text.
        `num_passes` is as in `decode`. Raises InputError as `decode` and `encode`, or `num_texts`
        is below 2.
        """
        if num_texts < 2:
            raise InputError(f"num_texts must be at least 2, not {num_texts}")
        self.check_decodes(num_passes)
        rows = self.rows_of([first, second])
        part = np.linspace(0.0, 1.0, num_texts)
        start, end = self.posterior(rows).mean
        vectors = start + part[:, None] * (end - start)
        sizes = [len(row) - 2 for row in rows]
        lengths = np.rint(np.interp(part, [0, 1], sizes)).astype(int)
        return self.decode(vectors, lengths, num_passes)

    def rewrite(
        self, rows: Sequence[np.ndarray], vectors: np.ndarray, num_passes: int = 1
    ) -> list[np.ndarray]:
        """The most probable token at each position: N arrays [T_n] int32.

        Args:
            rows: N arrays of ids, begin and end token included. The decoder gets their lengths and,
                if it reads the words of the text, the ids. An autoregressive decoder reads what it
                has written.
            vectors: [N, K P], the latent vectors.
            num_passes: as in `decode`.

        Raises:
            InputError: the decoder makes only one pass.
        """
        self.check_passes(num_passes)
        decoded = self._by_row(self.engine.decoded_ids(num_passes), rows, vectors)
        return [ids.astype(np.int32) for ids in decoded]

    def log_probabilities(
        self, rows: Sequence[np.ndarray], vectors: np.ndarray
    ) -> list[np.ndarray]:
        """log p of each token of N rows, given the latent vectors: N arrays [T_n] float32.

        Natural log. Arguments as in `rewrite`; an autoregressive decoder reads the tokens before.
        """
        return self._by_row(self.engine.decoded_scores(), rows, vectors)

    def text_of(self, ids: np.ndarray, stop: bool = False) -> str:
        """The text of a row of ids, whose first and last one are left out.

        `stop` is whether it ends before the first end token instead.
        """
        vocabulary = self.tokenizer.vocabulary
        ids = np.asarray(ids)[1:] if stop else np.asarray(ids)[1:-1]
        ends = np.flatnonzero(ids == vocabulary.eos_id)
        if stop and len(ends):
            ids = ids[: ends[0]]
        inner = ids[~np.isin(ids, [vocabulary.pad_id, vocabulary.bos_id, vocabulary.eos_id])]
        return " ".join(self.tokenizer.pieces(inner)).replace(" ##", "").removeprefix("##")

    def blank_row(self, length: int | None = None) -> np.ndarray:
        """A row of `length` pieces that tells nothing else; None is the longest."""
        vocabulary = self.tokenizer.vocabulary
        size = 2 + (self.window_size if length is None else length)
        row = np.full(size, vocabulary.pad_id, np.int32)
        row[0] = vocabulary.bos_id
        return row

    def blank_rows(self, vectors: np.ndarray) -> list[np.ndarray]:
        """N rows for N latent vectors: of the predicted lengths, or the longest."""
        if not self.config.predicts_length:
            return [self.blank_row()] * len(vectors)
        return [self.blank_row(length) for length in self.predict_lengths(vectors).tolist()]

    @property
    def reads_words(self) -> bool:
        """Whether the decoder reads the words that it predicts: decoder_input "ground_truth"."""
        config = self.config
        return config.decoder_input == "ground_truth" and config.decoder_type != "unilm"

    def check_decodes(self, num_passes: int = 1) -> None:
        """Raises InputError if the decoder needs more than a vector, or makes only one pass."""
        self.check_passes(num_passes)
        if self.tokenizer is None:
            raise InputError(f"the model has no {VOCABULARY}: it cannot write text")
        if self.reads_words:
            raise InputError(
                "the decoder needs the words of the text (decoder_input ground_truth), so it "
                "cannot decode a vector alone",
                self.name,
            )

    def check_passes(self, num_passes: int) -> None:
        """Raises InputError if the decoder makes only one pass, or the number is below 1."""
        if num_passes < 1:
            raise InputError(f"num_passes must be at least 1, not {num_passes}")
        if num_passes > 1 and self.config.decoder_input != "masked":
            rule = f"num_passes must be 1 without decoder_input masked, not {num_passes}"
            raise InputError(rule, self.name)

    def _check_vectors(self, vectors):
        vectors, size = np.asarray(vectors), self.config.latent_numbers
        if vectors.dtype.kind not in "fiu" or vectors.ndim != 2 or vectors.shape[1] != size:
            shape = list(vectors.shape)
            raise InputError(f"vectors must be numbers [N, {size}], not {shape}", self.name)
        with np.errstate(over="ignore"):
            vectors = vectors.astype(np.float32)
        if not np.isfinite(vectors).all():
            raise InputError("vectors must be finite numbers of float32", self.name)
        return vectors

    def _check_lengths(self, lengths, count):
        try:
            lengths = np.asarray(lengths)
            good = lengths.dtype.kind in "iu" or not lengths.size
        except ValueError:  # rows of several lengths
            good = False
        if not good or lengths.shape != (count,):
            raise InputError(f"lengths must be {count} whole numbers, one per vector", self.name)
        for length in lengths.tolist():
            if not 0 <= length <= self.window_size:
                rule = f"a length must be between 0 and {self.window_size}, not {length}"
                raise InputError(rule, self.name)
        return lengths.tolist()

    def _by_row(self, function, rows, vectors) -> list[Any]:
        """Runs a function of ids, padding mask and latent vectors; a result [T_n] per row."""
        results: list[Any] = [None] * len(rows)
        tokens = min(self.batch_tokens, DECODED_TOKENS)
        vectors = np.asarray(vectors, np.float32)

        def run(batch):
            return function(batch.input_ids, batch.padding_mask, vectors[batch.text_index])

        in_flight = self.engine.batches_in_flight
        batches = batches_of_rows(rows, self.config.pad_id, tokens, in_flight)
        for batch, result in run_batches(run, batches, in_flight):
            for index, row in zip(batch.text_index, result, strict=True):
                results[index] = row[: len(rows[index])]
        return results
