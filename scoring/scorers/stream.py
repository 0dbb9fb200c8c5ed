"""Scores a stream of sentences, in order, in memory that does not depend on their number.

Sentences are read, scored and handed on in blocks, with one block tokenized ahead of the one that
the model is at. A sentence that was met not long before is not scored again.
"""

import itertools
import math
from collections import OrderedDict, deque
from dataclasses import dataclass, field

from tqdm import tqdm

from tta.errors import InputError
from tta.scoring.scorers.scorer import SentenceError

# What is scored at a time: a block ends at whichever it reaches first.
BLOCK_LINES, BLOCK_CHARACTERS = 8192, 1 << 20
# Sentences whose scores are kept for the next time that they come: neither is exceeded.
RECENT_TEXTS, RECENT_CHARACTERS = 100_000, 1 << 23


@dataclass(slots=True)
class Sentence:
    """A sentence of the stream and its score.

    Attributes:
        text: as it was given.
        line: where it stood first, from 1.
        score: natural log, the sum over its tokens; None before it is scored.
        num_tokens: how many tokens were scored.
        tokens: `TokenScores`, where they are wanted.
    """

    text: str
    line: int
    score: float | None = None
    num_tokens: int = 0
    tokens: tuple | None = None


@dataclass(slots=True)
class Block:
    """Lines that are scored at a time.

    Attributes:
        sentences: a list of `Sentence`, one a line.
        fresh: those of them that no recent line has; the others are scored already, or will be.
        end: how far into the input it reaches, in bytes, or in sentences of a pipe.
    """

    sentences: list = field(default_factory=list)
    fresh: list = field(default_factory=list)
    end: int = 0


def read_blocks(reader):
    """Groups the lines of a `TextReader` to blocks, for `score_stream`.

    The first is read at once: what is wrong with a small file is told before a model is loaded.

    Args:
        reader: an iterable of str that has `total_bytes` and `bytes_read`, as a `TextReader` has.

    Returns:
        An iterator of `Block`.

    Raises:
        InputError: at once or while iterating; as the reader.
    """
    blocks = _blocks(reader)
    return itertools.chain(list(itertools.islice(blocks, 1)), blocks)


def score_stream(lm, blocks, name, total_bytes=None, tokens=False, progress=False):
    """Scores blocks of sentences.

    Args:
        lm: a `tta.scoring.scorers.scorer.Scorer`.
        blocks: what `read_blocks` gives.
        name: what the input is called in errors.
        total_bytes: the reader's.
        tokens: whether each token's score is wanted, too.
        progress: whether to show a progress bar on standard error. It counts the input's bytes
            whose sentences are scored, or sentences where nobody knows how many bytes will come.
            The time left supposes the mean speed since the first batch.

    Yields:
        `Sentence` of each line, in their order. Lines that are alike and not far apart (see
        `RECENT_TEXTS`) share one.

    Raises:
        InputError: a line breaks a rule, or its score is not finite (with the line).
    """
    pending = deque()  # Blocks on their way through the model; the first is what it is at.

    def texts():
        for block in blocks:
            pending.append(block)
            yield [sentence.text for sentence in block.fresh]

    with _Bar(total_bytes, progress) as bar:
        scored = lm.score_blocks(texts(), tokens, lambda share: bar.advance(share, pending[0]))
        while (results := _next(scored, pending, name)) is not None:
            block = pending.popleft()
            _keep(block.fresh, results, tokens)
            _check(block.fresh, name)
            bar.finish(block)
            yield from block.sentences


def _blocks(reader):
    """Yields `Block`s in which a recent sentence is the very object that it was before.

    So its score is known as soon as that block is scored, and nobody has to look it up; it is
    forgotten when it is neither recent nor in a block.
    """
    recent, characters = OrderedDict(), 0  # text -> `Sentence`, the latest last
    block, size = Block(), 0
    for line, text in enumerate(reader, start=1):
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
        if len(block.sentences) >= BLOCK_LINES or size >= BLOCK_CHARACTERS:
            block.end = line if reader.total_bytes is None else reader.bytes_read
            yield block
            block, size = Block(), 0
    if block.sentences:
        block.end = line if reader.total_bytes is None else reader.bytes_read
        yield block


def _next(scored, pending, name):
    """The next block's results, or None; errors of a sentence name its line."""
    try:
        return next(scored, None)
    except SentenceError as error:
        line = pending[0].fresh[error.index].line
        raise InputError(f"the sentence {error.sentence_rule}", name, line) from None


def _keep(sentences, results, tokens):
    """Puts a block's results into its sentences."""
    if tokens:
        for sentence, scores in zip(sentences, results, strict=True):
            sentence.tokens = scores
            sentence.score = float(scores.log_probabilities.sum())
            sentence.num_tokens = len(scores.tokens)
        return
    sums, counts = (values.tolist() for values in results)
    for sentence, score, count in zip(sentences, sums, counts, strict=True):
        sentence.score, sentence.num_tokens = score, count


def _check(sentences, name):
    for sentence in sentences:
        if not math.isfinite(sentence.score):
            rule = f"the model's score is {sentence.score}, not a finite number"
            raise InputError(rule, name, sentence.line)


class _Bar:
    """A progress bar over blocks, which moves within them too.

    Args:
        total_bytes: of the input, or None: then it counts sentences.
        shown: whether there is one.
    """

    def __init__(self, total_bytes, shown):
        unit = " sentences" if total_bytes is None else "B"
        self._bar = tqdm(
            total=total_bytes,
            desc="scoring",
            unit=unit,
            unit_scale=True,
            smoothing=0,  # the mean speed: blocks of one length after another differ in theirs
            miniters=1,  # a slow block is shown as a fast one is
            dynamic_ncols=True,
            disable=not shown,
        )
        self._counts_bytes = total_bytes is not None
        self._begin = self._sentences = 0  # bytes and sentences before the block at work
        self._share = 0.0  # of that block
        self._runs = False

    def __enter__(self):
        self._bar.__enter__()
        return self

    def __exit__(self, *error):
        return self._bar.__exit__(*error)

    def advance(self, share, block):
        """Moves on by a share of the block."""
        self._share += share
        self._count(self._sentences + int(self._share * len(block.sentences)))
        self._bar.update(share * (block.end - self._begin))
        if not self._runs:  # The first batch waited for the model to be compiled: it says nothing
            self._bar.unpause()  # of the speed.
            self._bar.initial = self._bar.n
            self._runs = True

    def finish(self, block):
        """Moves to the end of the block."""
        self._begin, self._share = block.end, 0.0
        self._sentences += len(block.sentences)
        self._count(self._sentences)
        self._bar.update(block.end - self._bar.n)

    def _count(self, sentences):
        if self._counts_bytes:  # else the bar itself counts them
            self._bar.set_postfix_str(f"{sentences:,} sentences", refresh=False)
