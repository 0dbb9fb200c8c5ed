"""Scores a stream of sentences, in order, in memory that does not depend on their number.

Sentences are read and scored in blocks. While the model scores one block, the next is tokenized. A
sentence that occurred recently is not scored again. When a pipe pauses, the lines read so far are
scored.
"""

import itertools
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tta.data.text.progress import tqdm
from tta.errors import InputError
from tta.scoring.scorers.arguments import SentenceError
from tta.scoring.scorers.scorer import Scorer, TokenScores

# A block ends when it reaches one of these limits. Large blocks are faster. The first seven are
# smaller, so that scores come early: of 64 lines, then each of twice as many as the one before.
BLOCK_LINES, BLOCK_CHARACTERS = 8192, 1 << 20
FIRST_LINES, SMALL_BLOCKS = 64, 7
# A block of a pipe also ends when there is no further line this long after its first line.
BLOCK_SECONDS = 0.2
# Recent sentences, whose scores are kept: at most this many sentences and characters.
RECENT_TEXTS, RECENT_CHARACTERS = 100_000, 1 << 23


@dataclass(slots=True)
class Sentence:
    """A sentence of the stream, the line of its first occurrence from 1, and its score.

    The score is a natural log, summed over `num_tokens` tokens; None before it is scored. Of these,
    `num_unknown` are words that the model does not know. `tokens` are kept if requested.
    """

    text: str
    line: int
    score: float | None = None
    num_tokens: int = 0
    num_unknown: int = 0
    tokens: TokenScores | None = None


@dataclass(slots=True)
class Block:
    """Lines that are scored together.

    Attributes:
        sentences: one per line; there may be none.
        fresh: the distinct sentences to score; the others are equal to a recent line.
        end: position in the input after the block, in bytes, or for a pipe in sentences.
    """

    sentences: list[Sentence] = field(default_factory=list)
    fresh: list[Sentence] = field(default_factory=list)
    end: int = 0


def read_blocks(reader: Any) -> Iterator[Block]:
    """Groups the lines of a `TextReader` into blocks, for `score_stream`; raises as the reader.

    The small blocks of a file are read at once, so that an error in a small file shows before a
    model is loaded. A pipe is not read before, so that the model is loaded while the pipe fills.
    """
    blocks = _blocks(reader)
    if reader.total_bytes is None:
        return blocks
    ahead = []
    for block in itertools.islice(blocks, SMALL_BLOCKS):
        ahead.append(block)
        if not block.sentences:  # a pause
            break
    return itertools.chain(ahead, blocks)


def score_stream(
    lm: Scorer,
    blocks: Iterable[Block],
    place: Callable[[int], tuple[Path | str, int]],
    total_bytes: int | None = None,
    tokens: bool = False,
    progress: bool = False,
) -> Iterator[Block]:
    """Scores blocks of sentences.

    Args:
        blocks: from `read_blocks`.
        place: number of a line in the stream, from 1 -> its file and line, for errors.
        total_bytes: size of the input; None if it is not known.
        tokens: whether to keep token scores.
        progress: whether to show a progress bar on standard error, in bytes, or in sentences if
            `total_bytes` is None. It assumes the mean speed since the first batch.

    Yields:
        Each block, when its fresh sentences are scored. Equal lines that are not far apart (see
        `RECENT_TEXTS`) share one `Sentence`.

    Raises:
        InputError: a line breaks a rule or its score is not finite. The error names the line.
    """
    pending: deque[Block] = deque()  # blocks given to the model; it works on the first

    def texts():
        for block in blocks:
            pending.append(block)
            yield [sentence.text for sentence in block.fresh]

    with _Bar(total_bytes, progress) as bar:
        scored = lm.score_blocks(texts(), tokens, lambda share: bar.advance(share, pending[0]))
        while (results := _next(scored, pending, place)) is not None:
            block = pending.popleft()
            _keep(block.fresh, results, tokens)
            _check(lm, block.fresh, place)
            bar.finish(block)
            yield block


def _blocks(reader):
    """Yields `Block`s in which a recent sentence is the same object as before.

    So its score is set when the first block with it is scored, without a lookup. The object is
    freed when it is neither recent nor in a block.

    The scorer reads one block ahead. So an empty block is yielded when a pipe pauses; otherwise,
    the block before the pause would wait for the next line.
    """
    recent, characters = OrderedDict(), 0  # text -> `Sentence`, the latest last
    block, size, patience_ends, most = Block(), 0, 0.0, FIRST_LINES
    for line, text in enumerate(reader, start=1):
        if not block.sentences:
            patience_ends = time.monotonic() + BLOCK_SECONDS
        sentence = recent.get(text)
        if sentence is None:
            recent[text] = sentence = Sentence(text, line)
            block.fresh.append(sentence)
            characters += len(text)
            while len(recent) > RECENT_TEXTS or characters > RECENT_CHARACTERS:
                forgotten, _ = recent.popitem(last=False)
                characters -= len(forgotten)
        else:
            recent.move_to_end(text)
        block.sentences.append(sentence)
        size += len(text)
        is_full = len(block.sentences) >= min(most, BLOCK_LINES) or size >= BLOCK_CHARACTERS
        if is_full or not reader.is_ready(patience_ends - time.monotonic()):
            block.end = line if reader.total_bytes is None else reader.bytes_read
            yield block
            if not reader.is_ready(0):
                yield Block(end=block.end)
            block, size, most = Block(), 0, 2 * most
    if block.sentences:
        block.end = line if reader.total_bytes is None else reader.bytes_read
        yield block


def _next(scored, pending, place):
    """The results of the next block, or None; an error of a sentence gets its line number."""
    try:
        return next(scored, None)
    except SentenceError as error:
        line = pending[0].fresh[error.index].line
        raise InputError(f"the sentence {error.sentence_rule}", *place(line)) from None


def _keep(sentences, results, tokens):
    """Stores the results of a block in its sentences."""
    if tokens:
        for sentence, scores in zip(sentences, results, strict=True):
            sentence.tokens = scores
            sentence.score = float(scores.log_probabilities.sum())
            sentence.num_tokens = len(scores.tokens)
        return
    sums, counts = (values.tolist() for values in results)
    for sentence, score, count in zip(sentences, sums, counts, strict=True):
        sentence.score, sentence.num_tokens = score, count


def _check(lm, sentences, place):
    """Counts unknown words; raises InputError if a score is not finite."""
    unknown = lm.count_unknown([sentence.text for sentence in sentences]).tolist()
    for sentence, count in zip(sentences, unknown, strict=True):
        sentence.num_unknown = count
        if not math.isfinite(sentence.score):
            rule = f"the model's score is {sentence.score}, not a finite number"
            raise InputError(rule, *place(sentence.line))


class _Bar:
    """A progress bar over blocks that also moves within a block; see `score_stream`."""

    def __init__(self, total_bytes, shown):
        unit = " sentences" if total_bytes is None else "B"
        self._bar = tqdm(
            total=total_bytes,
            desc="scoring",
            unit=unit,
            unit_scale=True,
            smoothing=0,  # the mean speed, because batches of different lengths differ in speed
            miniters=1,  # also updates at slow blocks
            dynamic_ncols=True,
            disable=not shown,
        )
        self._counts_bytes = total_bytes is not None
        self._begin = self._sentences = 0  # bytes and sentences before the present block
        self._share = 0.0  # scored share of that block
        self._runs = False

    def __enter__(self):
        self._bar.__enter__()
        return self

    def __exit__(self, *error):
        return self._bar.__exit__(*error)

    def advance(self, share, block):
        """Moves forward by a share of the block."""
        self._share += share
        self._count(self._sentences + int(self._share * len(block.sentences)))
        self._bar.update(share * (block.end - self._begin))
        if not self._runs:  # the first batch also waits for compilation
            self._bar.unpause()
            self._bar.initial = self._bar.n
            self._runs = True

    def finish(self, block):
        """Moves to the end of the block."""
        self._begin, self._share = block.end, 0.0
        self._sentences += len(block.sentences)
        self._count(self._sentences)
        self._bar.update(block.end - self._bar.n)

    def _count(self, sentences):
        if self._counts_bytes:  # otherwise the bar itself counts them
            self._bar.set_postfix_str(f"{sentences:,} sentences", refresh=False)
