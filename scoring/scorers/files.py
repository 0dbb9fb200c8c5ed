"""Text files in, files out: the scores of sentences, and the statistics of `sif` and `whitened`."""

import contextlib
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import tta
from tta.data.text.files import STANDARD_STREAM, open_output
from tta.data.text.lines import GivenTexts, TextReader, expand_globs, print_notes, sample_lines
from tta.data.text.tables import row_writer
from tta.errors import InputError
from tta.names import POOLING
from tta.scoring.scorers.config import FitPoolingConfig, ScoreConfig
from tta.scoring.scorers.inference.stream import Sentence, read_blocks, score_stream
from tta.scoring.scorers.pooling import fit_pooling

# `fit_pooling_on_files` draws this many sentences, in which pieces are counted; the whitening is
# fitted on the vectors of pieces of so many of them.
NUM_COUNTED, NUM_WHITENING = 200_000, 20_000


@dataclass
class ScoreReport:
    """Sums over all sentences of a file; `str` gives the closing lines of tta-score.

    Attributes:
        sentences: number of lines. Repeated sentences count each time.
        scored: number of distinct sentences. A sentence is not scored again if it occurred
            recently; if it occurs again much later, it counts twice.
        empty: number of sentences without a token to score.
        notes: on the input, see `TextReader.notes`.
        tokens, score: the sums of tokens and of scores (natural log).
        unknown: number of tokens that are unknown words.
        signature: what the scores depend on.
        normalizer: of the model, see `Scorer`; a perplexity needs "exact".
        output_file: where the scores were written: a path or "-".
    """

    sentences: int = 0
    scored: int = 0
    empty: int = 0
    tokens: int = 0
    unknown: int = 0
    score: float = 0.0
    signature: str = ""
    normalizer: str = "exact"
    output_file: str = STANDARD_STREAM
    notes: list[str] = field(default_factory=list)

    def add(self, sentence: Sentence) -> None:
        self.sentences += 1
        self.scored += sentence.line == self.sentences
        self.empty += not sentence.num_tokens
        self.tokens += sentence.num_tokens
        self.unknown += sentence.num_unknown
        self.score += sentence.score or 0.0

    def __str__(self) -> str:
        counts = (self.sentences, "sentence"), (self.tokens, "token")
        sentences, tokens = (f"{n:,} {what}{'s' * (n != 1)}" for n, what in counts)
        text = f"{sentences} ({self.scored:,} distinct), {tokens}"
        if self.normalizer != "exact":
            text += f", no perplexity (it needs --normalizer=exact, not {self.normalizer})"
        elif self.tokens:
            perplexity = _perplexity(self.score, self.tokens)
            shown = f"above {sys.float_info.max:.4g}" if perplexity is None else f"{perplexity:.4g}"
            text += f", perplexity per token {shown}"
        if self.unknown:
            text += f"\nnote: words unknown to the vocabulary of the model: {self.unknown:,}"
        if self.empty:
            text += f"\nnote: without a token to score, so score 0: {self.empty:,}"
        text += "".join(f"\nnote: {note}" for note in self.notes)
        return f"{text}\n{self.signature}"


def score_file(config: ScoreConfig, model: str | None = None, **load_options: Any) -> ScoreReport:
    """Scores the lines of `config.input_file`, or a column, or texts, and writes a row for each.

    Memory does not grow with the file. An output file appears only when it is complete; standard
    output gets the lines of a block as soon as it is scored. `model` and `load_options` are the
    arguments of `tta.load`.

    Raises:
        InputError: the input is missing or malformed, the output cannot be written, there is no
            such model, or a score is not finite.
    """
    output_file = config.output_file or STANDARD_STREAM
    if config.texts is not None:
        reader = GivenTexts(config.texts)
    else:
        paths = expand_globs([config.input_file or STANDARD_STREAM])
        reader = TextReader(paths, verbatim=True, column=config.column, has_columns=True)
    # Opened first, so that an unwritable file is reported before the work, not after it.
    with open_output(output_file, config.overwrite) as file:
        blocks = read_blocks(reader)
        lm = tta.load(model, **load_options)
        if config.perplexity:
            lm.check_perplexity()
        bar, write = sys.stderr.isatty(), row_writer(file, output_file)
        report = ScoreReport(
            signature=lm.signature,
            normalizer=lm.normalizer,
            output_file=output_file,
        )
        by_token = config.tokens or config.words
        scored = score_stream(lm, blocks, reader.place, reader.total_bytes, by_token, bar)
        for sentences in scored:
            for sentence, extra in zip(
                sentences, _token_fields(lm, sentences, config), strict=True
            ):
                report.add(sentence)
                write(_row(sentence, config) | extra)
            if output_file == STANDARD_STREAM:
                file.flush()
        report.notes = reader.notes()
    return report


def _perplexity(score, num_tokens):
    """The perplexity per token; None without tokens, or if it is larger than any float."""
    with contextlib.suppress(ZeroDivisionError, OverflowError):
        return math.exp(-score / num_tokens)


def _row(sentence, config):
    """The output of a sentence, as a dict."""
    fields = {"text": sentence.text} if config.text else {}
    counts = {"num_tokens": sentence.num_tokens, "num_unknown": sentence.num_unknown}
    fields |= {"score": sentence.score} | counts
    if config.perplexity:
        fields["perplexity"] = _perplexity(sentence.score, sentence.num_tokens)
    return fields


def _token_fields(lm, sentences, config):
    """Further fields of each sentence: the scores of tokens, of words, of both or none."""
    fields = [{} for _ in sentences]
    scored = [sentence.tokens for sentence in sentences]
    if config.tokens:
        fields = [one.to_dict() for one in scored]
    if config.words:
        by_words = lm.by_words([sentence.text for sentence in sentences], scored)
        for one, (words, values) in zip(fields, by_words, strict=True):
            one |= {"words": words, "word_log_probabilities": values.tolist()}
    return fields


def fit_pooling_on_files(config: FitPoolingConfig, **load_options: Any) -> Path:
    """Fits `PoolingStatistics` on a sample of the lines and writes them to the model directory.

    Returns the path of the file. `load_options` are arguments of `tta.load`.

    Raises:
        InputError: the model directory or the text is missing or malformed, the file exists, or
            the text has too few pieces.
    """
    if not Path(config.model).is_dir():
        raise InputError("no such model directory", config.model)
    reader = TextReader(expand_globs(config.input_file))
    path = Path(config.model) / POOLING
    # Opened first, so that an unwritable file is reported before the work, not after it.
    with open_output(path, config.overwrite, binary=True) as file:
        lm = tta.load(config.model, **load_options)
        texts = sample_lines(reader, NUM_COUNTED, config.seed)
        print_notes(reader)
        # The sample partly keeps the order of the text.
        order = np.random.default_rng(config.seed).permutation(len(texts))
        texts = [texts[i] for i in order]
        fit_pooling(lm, texts, NUM_WHITENING, sys.stderr.isatty()).write(file)
    return path
