"""Text files in, files out: scores, the statistics of `sif` and `whitened`, ranges for int8."""

import contextlib
import hashlib
import math
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tta.data.nbest.text_layouts import input_notes
from tta.data.text.files import STANDARD_STREAM, check_rereadable, file_digest, open_output
from tta.data.text.lines import (
    GivenTexts,
    ParquetReader,
    TextReader,
    expand_globs,
    iter_lines,
    print_notes,
    sample_lines,
    texts_of,
)
from tta.data.text.parquet import ParquetWriter, is_parquet
from tta.data.text.tables import delimiter_of, row_writer, table_rows, write_columns
from tta.doors import option_named
from tta.errors import InputError, shown
from tta.modeling.formats.trained_models import find_directory
from tta.names import POOLING
from tta.scoring.engines.load import check_installed
from tta.scoring.scorers.config import ROW_FIELDS, CalibrateConfig, FitPoolingConfig, ScoreConfig
from tta.scoring.scorers.inference.cache import CachedScorer
from tta.scoring.scorers.inference.reading import MAX_TEXTS, NEARLY_ALL, language_notes
from tta.scoring.scorers.inference.stream import Sentence, read_blocks, score_stream
from tta.scoring.scorers.inference.unfinished import unfinished
from tta.scoring.scorers.options import DEFAULTS, ENCODE_DEFAULTS, EncodeOptions, ScoreOptions
from tta.scoring.scorers.pooling import fit_pooling
from tta.scoring.scorers.rows import (
    columns_of,
    header_notes,
    in_unit,
    is_folder_of_texts,
    keeps_columns,
    punctuation_notes,
    row_maker,
    scored_words,
)
from tta.scoring.scorers.scorer import TokenScores

# `fit_pooling_on_files` draws this many sentences, in which pieces are counted; the whitening is
# fitted on the vectors of pieces of so many of them.
NUM_COUNTED, NUM_WHITENING = 200_000, 20_000
# In the signature of a model that scores a word given those after it, too.
_BOTH_SIDES = re.compile(r"\|type:(tta|bilm|cloze|\w+ForMaskedLM)\|")


@dataclass
class ScoreReport:
    """Sums over all sentences of a file; `str` gives the closing lines of tta score.

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

    def add(self, rows: Sequence[Mapping[str, Any]], scored: int) -> None:
        """Adds the rows of a block, of which `scored` sentences are distinct."""
        self.sentences += len(rows)
        self.scored += scored
        for row in rows:
            self.empty += not row["num_tokens"]
            self.tokens += row["num_tokens"]
            self.unknown += row["num_unknown"]
            self.score += row["score"]

    def __str__(self) -> str:
        counts = (self.sentences, "sentence"), (self.tokens, "token")
        sentences, tokens = (f"{n:,} {what}{'s' * (n != 1)}" for n, what in counts)
        text = f"{sentences} ({self.scored:,} distinct), {tokens}"
        if self.normalizer != "exact":
            needed = option_named("normalizer", "exact")
            text += f", no perplexity (it needs {needed}, not {self.normalizer})"
        elif self.tokens:
            perplexity = _perplexity(self.score, self.tokens)
            text += ", perplexity per token "
            text += f"above {sys.float_info.max:.4g}" if perplexity is None else f"{perplexity:.4g}"
        if self.unknown:
            text += f"\nnote: words unknown to the vocabulary of the model: {self.unknown:,}"
            if self.unknown >= NEARLY_ALL * self.tokens:
                text += ", which are all: the model cannot read the text"
        if self.empty:
            text += f"\nnote: without a token to score, so score 0: {self.empty:,}"
        text += "".join(f"\nnote: {note}" for note in self.notes)
        return f"{text}\n{self.signature}"


def score_file(
    config: ScoreConfig, model: str | None = None, options: ScoreOptions = DEFAULTS
) -> ScoreReport:
    """Scores the lines of `config.input_file`, or a column, or texts, and writes a row for each.

    Memory does not grow with the file. An output file appears only when it is complete; what is
    done until then is beside it (`unfinished`). Standard output gets the lines of a block as soon
    as it is scored. `model` and `options` are the arguments of `tta.load`. Raises InputError
    if the input is missing or malformed, the output cannot be written, there is no such model, a
    score is not finite, or what `config.resume` goes on with is damaged or of another run.
    """
    output_file = config.written
    seen: list[Sentence] = []
    source = _source(config)
    reader, paths = source.reader, source.paths
    run = _run(config, paths, model, options) if _can_resume(config, paths) else {}
    # Opened first, so that an unwritable file is reported before the work, not after it.
    with contextlib.ExitStack() as at_end, open_output(output_file, config.overwrite) as file:
        if isinstance(reader, ParquetReader) and isinstance(file, ParquetWriter):
            file.put_beside(reader.files)
        blocks = read_blocks(reader)
        lm = scorer = options.load(model)
        if config.perplexity:
            lm.check_perplexity()
        if run:
            run |= {"signature": lm.signature, "normalizer": lm.normalizer}
            store = at_end.enter_context(unfinished(output_file, run, config.resume))
            scorer = CachedScorer(lm, store, by_block=True)
        needs_tokens = config.tokens or config.words
        scored = score_stream(
            scorer, blocks, reader.place, reader.total_bytes, tokens=needs_tokens, progress=True
        )
        write = row_maker(row_writer(file, output_file), config, output_file, paths)
        report = ScoreReport(
            signature=lm.signature, normalizer=lm.normalizer, output_file=output_file
        )
        for block in scored:
            rows = _rows(lm, block.sentences, config)
            report.add(rows, len(block.fresh))
            seen += block.fresh[: MAX_TEXTS - len(seen)]
            for row in rows:
                write(row)
            if output_file == STANDARD_STREAM:
                file.flush()
        if not report.sentences:
            write_columns(file, output_file, _columns(config, paths))
        texts = [sentence.text for sentence in seen]
        report.notes = [*lm.notes, *input_notes(reader), *header_notes(config, paths)]
        report.notes += language_notes(lm, texts)
        if config.words and _BOTH_SIDES.search(lm.signature):
            report.notes.append("each word is scored given the words on both sides of it")
        if config.words and not config.split_punctuation:
            scored_tokens = [sentence.tokens for sentence in seen if sentence.tokens]
            report.notes += punctuation_notes(lm, texts, scored_tokens)
    return report


@dataclass(frozen=True)
class _Source:
    """What is scored: its reader, and the files that it reads. Texts of a command have no files."""

    reader: GivenTexts | ParquetReader | TextReader
    paths: list[str]


def _source(config: ScoreConfig) -> _Source:
    if config.texts is not None:
        return _Source(GivenTexts(config.texts), [])
    paths = expand_globs([config.input_file or STANDARD_STREAM], texts_of)
    if any(map(is_parquet, paths)):
        return _Source(ParquetReader(paths, config.column), paths)
    if config.column is None:
        for path in filter(delimiter_of, paths):
            _refuse_whole_lines(path)
    reader = TextReader(paths, verbatim=True, column=config.column, has_columns=True)
    return _Source(reader, paths)


def _refuse_whole_lines(path: str) -> None:
    """Raises InputError if a file that is named as a table has rows: its header is no sentence."""
    first_row = next(iter(table_rows(iter_lines(path, may_be_empty=True), path)), None)
    if first_row is None:
        return
    number, cells = first_row
    rule = f"{option_named('column')} chooses the column of the sentences, by name or number"
    raise InputError(
        f"{rule}; the first row has {', '.join(map(shown, cells[:10]))}", path, number or 1
    )


def _can_resume(config: ScoreConfig, paths: Sequence[str]) -> bool:
    """Whether a run that is cut off can be resumed: files are read, and a file is written."""
    if config.texts is not None:
        return False
    is_new = config.written != STANDARD_STREAM and not os.path.exists(config.written)
    files = paths if is_new else [*paths, config.written]
    return config.resume or all(map(os.path.isfile, files))


def _run(config, paths, model, options) -> dict[str, Any]:
    """All that the output depends on but the model's signature: {name: value}."""
    for path in paths:
        check_rereadable(path)
    digest = hashlib.sha256(" ".join(map(file_digest, paths)).encode()).hexdigest()[:8]
    rows = {name: getattr(config, name) for name in ("column", *ROW_FIELDS)}
    return {"input_file": digest, "model": model, **rows, **replace(options, cache=None).by_name}


def _rows(lm, sentences, config) -> list[dict[str, Any]]:
    """The rows of sentences."""
    token_fields = _token_fields(lm, sentences, config)
    pairs = zip(sentences, token_fields, strict=True)
    return [_row(sentence, config) | of_tokens for sentence, of_tokens in pairs]


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


def _columns(config, paths):
    """A row of no sentence, which has the columns of others; none of a table of words."""
    no_tokens = TokenScores([], np.zeros(0))
    row = {"file": ""} if is_folder_of_texts(config, paths) else {}
    if keeps_columns(config, config.written, paths):
        row |= dict.fromkeys(columns_of(config, paths[0]), "")
    row |= _row(Sentence("", 1, 0.0), config)
    if config.tokens:
        row |= no_tokens.to_dict()
    if config.words:
        row |= {"words": [], "word_log_probabilities": []}
    is_of_words = config.words and delimiter_of(config.written)
    return {} if is_of_words else in_unit(row, config.unit)


def _token_fields(lm, sentences, config):
    """Further fields of each sentence: the scores of tokens, of words, of both or none."""
    fields = [{} for _ in sentences]
    scored = [sentence.tokens for sentence in sentences]
    if config.tokens:
        fields = [tokens.to_dict() for tokens in scored]
    if config.words:
        texts = [sentence.text for sentence in sentences]
        by_words = scored_words(lm, texts, scored, config.split_punctuation)
        for row, (words, values) in zip(fields, by_words, strict=True):
            row |= {"words": words, "word_log_probabilities": values}
    return fields


def calibrate_on_files(config: CalibrateConfig) -> Path:
    """Calibrates a model for int8 on a sample of the lines. Returns the path of the file.

    Notes on standard error say how much int8 changes scores, and whether it has fixed ranges.

    Raises:
        InputError: the text is missing or malformed; or as `write_light`.
    """
    directory = find_directory(config.model)
    check_installed("onnxruntime")
    from tta.scoring.engines.onnxruntime.calibration import NUM_SENTENCES, write_light

    reader = TextReader(expand_globs(config.input_file))
    texts = sample_lines(reader, NUM_SENTENCES, config.seed)
    print_notes(input_notes(reader))
    calibration = write_light(directory, texts)
    for note in calibration.notes:
        print(f"note: {calibration.path}: {note}", file=sys.stderr)
    return calibration.path


def fit_pooling_on_files(
    config: FitPoolingConfig, options: EncodeOptions = ENCODE_DEFAULTS
) -> Path:
    """Fits `PoolingStatistics` on a sample of the lines and writes them to the model directory.

    Returns the path of the file. `options` are arguments of `tta.load`. Raises InputError if
    the model directory or the text is missing or malformed, the file exists, or the text has too
    few pieces.
    """
    if not Path(config.model).is_dir():
        raise InputError("no such model directory", config.model)
    reader = TextReader(expand_globs(config.input_file))
    path = Path(config.model) / POOLING
    # Opened first, so that an unwritable file is reported before the work, not after it.
    with open_output(path, config.overwrite, binary=True) as file:
        lm = options.load(config.model)
        texts = sample_lines(reader, NUM_COUNTED, config.seed)
        print_notes(input_notes(reader))
        # The sample partly keeps the order of the text.
        order = np.random.default_rng(config.seed).permutation(len(texts))
        texts = [texts[i] for i in order]
        fit_pooling(lm, texts, NUM_WHITENING, True).write(file)
    return path
