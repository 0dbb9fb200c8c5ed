"""Scoring a stream: order, repeats scored once, bounded memory, errors with their line, the bar."""

import itertools

import numpy as np
import pytest

from tests.fake_model import FakeModel
from tta.errors import InputError
from tta.scoring.scorers.arguments import SentenceError
from tta.scoring.scorers.inference import stream
from tta.scoring.scorers.inference.batches import prefetch
from tta.scoring.scorers.inference.stream import read_blocks, score_stream
from tta.scoring.scorers.scorer import Scorer


def in_txt(line):
    """The place of a line."""
    return "in.txt", line


class Lines:
    """Stands for a `TextReader`; counts the lines that were read from it.

    After the lines whose numbers (from 1) are in `pauses`, it waits for the next one.
    """

    def __init__(self, texts, total_bytes=None, pauses=()):
        self.texts = texts
        self.total_bytes = total_bytes
        self.pauses = pauses
        self.drawn = self.bytes_read = 0

    def is_ready(self, seconds):
        return self.drawn not in self.pauses

    def __iter__(self):
        for text in self.texts:
            self.drawn += 1
            self.bytes_read += len(text) + 1
            yield text


def score(lm, texts, **options):
    blocks = score_stream(lm, read_blocks(Lines(texts)), in_txt, **options)
    return [sentence for block in blocks for sentence in block.sentences]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(stream, "BLOCK_LINES", 3)
    monkeypatch.setattr(stream, "SMALL_BLOCKS", 1)
    monkeypatch.setattr(stream, "RECENT_TEXTS", 4)


TEXTS = ["the cat sat", "", "a dock", "the cat sat", "the mat", "a dock", "home", "the"]


@pytest.mark.parametrize("number", range(9))
def test_every_line_gets_its_score_in_its_place(small_blocks, number):
    texts = TEXTS[:number]
    expected, counts = FakeModel().score_with_counts(texts) if texts else ([], [])
    for tokens in (False, True):
        scored = score(FakeModel(), texts, tokens=tokens)
        assert [one.text for one in scored] == texts
        assert [one.score for one in scored] == list(expected)
        assert [one.num_tokens for one in scored] == list(counts)
        if tokens:
            assert [one.tokens.tokens for one in scored] == [text.split() for text in texts]
        else:
            assert all(one.tokens is None for one in scored)


def test_a_sentence_is_scored_once_while_it_is_recent(small_blocks):
    lm = FakeModel()
    # Four are kept. "a" occurs again in its block, in the next, and after four others.
    texts = ["a", "b", "a", "a", "c", "d", "a", "e", "b", "f", "g", "h", "a"]
    scored = score(lm, texts)
    assert lm.scored == ["a", "b", "c", "d", "e", "b", "f", "g", "h", "a"]
    assert [one.line for one in scored] == [1, 2, 1, 1, 5, 6, 1, 8, 9, 10, 11, 12, 13]


def test_the_number_of_kept_characters_is_bounded(monkeypatch):
    monkeypatch.setattr(stream, "RECENT_CHARACTERS", 10)
    lm = FakeModel()
    score(lm, ["aaaa", "bbbb", "aaaa", "cccc", "aaaa", "bbbb", "x" * 99, "x" * 99])
    assert lm.scored == ["aaaa", "bbbb", "cccc", "bbbb", "x" * 99, "x" * 99]


def test_a_block_ends_by_lines_or_by_characters(monkeypatch):
    monkeypatch.setattr(stream, "BLOCK_LINES", 3)
    monkeypatch.setattr(stream, "BLOCK_CHARACTERS", 10)
    texts = ["a", "b", "c", "d" * 6, "e" * 6, "f" * 99, "g"]
    blocks = [[one.text for one in block.sentences] for block in read_blocks(Lines(texts))]
    assert blocks == [["a", "b", "c"], ["d" * 6, "e" * 6], ["f" * 99], ["g"]]


def test_the_first_blocks_are_small_so_that_scores_come_early():
    sizes = [len(block.sentences) for block in read_blocks(Lines(["a"] * 1000, 2000))]
    assert sizes == [64, 128, 256, 512, 40]
    lines = Lines(["a"] * 20_000, 40_000)
    read_blocks(lines)
    assert lines.drawn == 8128, "an error there shows before a model is loaded"


def test_a_stream_without_an_end_is_read_a_few_blocks_ahead(small_blocks):
    lines = Lines(f"the {number}" for number in itertools.count())
    scored = score_stream(FakeModel(), read_blocks(lines), in_txt)
    for number, block in enumerate(itertools.islice(scored, 200)):
        assert [one.text for one in block.sentences] == [f"the {3 * number + i}" for i in range(3)]
        assert lines.drawn <= 3 * (number + 1) + 4 * stream.BLOCK_LINES


def letters(blocks):
    """The sentences of each block, which are single letters, as one str."""
    return ["".join(one.text for one in block.sentences) for block in blocks]


@pytest.mark.parametrize(("total_bytes", "drawn"), [(99, 3), (None, 0)])
def test_a_file_is_read_before_a_model_is_loaded_and_a_pipe_is_not(
    small_blocks, total_bytes, drawn
):
    lines = Lines("abcdef", total_bytes)
    blocks = read_blocks(lines)
    assert lines.drawn == drawn
    assert letters(blocks) == ["abc", "def"]


def test_a_block_ends_where_a_pipe_pauses_and_an_empty_one_follows(small_blocks):
    blocks = list(read_blocks(Lines("abcdefgh", pauses=(1, 3, 6))))
    assert letters(blocks) == ["a", "", "bc", "", "def", "", "gh"]
    assert [block.end for block in blocks] == [1, 1, 3, 3, 6, 6, 8]


def test_a_block_waits_for_lines_of_a_pipe_until_it_is_old_enough(monkeypatch):
    now, asked = [7.0], []

    class Slow(Lines):
        def is_ready(self, seconds):
            asked.append(seconds)
            now[0] += 0.125
            return seconds > 0

    monkeypatch.setattr(stream.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(stream, "BLOCK_SECONDS", 0.25)
    assert letters(read_blocks(Slow("abcde"))) == ["abc", "", "de"]
    assert asked == [0.25, 0.125, 0, 0, 0.25, 0.125]


@pytest.mark.parametrize("known", [True, False])
def test_sentences_before_a_pause_do_not_wait_for_those_after_it(known):
    """Also with a model that reads a block ahead, as a `TextModel` does."""

    class ReadingAhead(FakeModel):
        def score_blocks(self, blocks, tokens=False, advance=None):
            return prefetch(self.score_with_counts, blocks)

    lines = Lines(["a", "b", "c"], 6 if known else None, pauses=(2,))
    scored = score_stream(ReadingAhead(), read_blocks(lines), in_txt, lines.total_bytes)
    assert letters([next(scored)]) == ["ab"]
    assert lines.drawn == 2
    assert letters(scored) == ["", "c"]


class Refusing(Scorer):
    """Refuses sentences of more than three words; reads one block ahead like a `TextModel`."""

    def score_blocks(self, blocks, tokens=False, advance=None):
        def prepare(texts):
            for index, text in enumerate(texts):
                if len(text.split()) > 3:
                    raise SentenceError("has more than 3 words", index)
            return texts

        for texts in stream_ahead(prepare, blocks):
            yield np.full(len(texts), -1.0), np.ones(len(texts), int)


def stream_ahead(function, items):
    """As `prefetch`, without the thread."""
    ahead = []
    for item in items:
        ahead.append(item)
        if len(ahead) == 2:
            yield function(ahead.pop(0))
    yield from map(function, ahead)


def test_the_error_of_a_refused_sentence_has_its_line(small_blocks):
    texts = ["a", "b", "a", "b", "a", "b", "c", "a", "b c d e", "f", "g", "h", "i", "j"]
    blocks = read_blocks(Lines(texts))
    message = r"^in\.txt:9: the sentence has more than 3 words$"
    with pytest.raises(InputError, match=message):
        list(score_stream(Refusing(), blocks, in_txt))


@pytest.mark.parametrize("tokens", [False, True])
def test_the_error_of_a_score_that_is_not_finite_has_its_line(small_blocks, tokens):
    class Broken(FakeModel):
        def score_word(self, word):
            return float("nan") if word == "nan" else -1.0

    with pytest.raises(InputError, match=r"^in\.txt:5: the model's score is nan, not a finite n"):
        score(Broken(), ["the", "the", "a", "the", "nan"], tokens=tokens)


@pytest.mark.parametrize("known", [True, False])
def test_the_bar_shows_the_scored_sentences(small_blocks, monkeypatch, known):
    """It counts scored input, not input that was read, and also moves within blocks."""
    shown, bars = [], []

    class Tqdm:
        n = 0.0

        def __init__(self, total, unit, disable, **options):
            assert not disable
            bars.append(self)
            assert (total, unit) == ((lines.total_bytes, "B") if known else (None, " sentences"))

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def unpause(self):
            shown.append("the clock begins")

        def set_postfix_str(self, text, refresh):
            shown.append(text)

        def update(self, number):
            self.n += number
            shown.append(round(self.n, 6))

    class Halves(Refusing):
        def score_blocks(self, blocks, tokens=False, advance=None):
            for result in super().score_blocks(blocks):
                advance(0.5)
                advance(0.5)
                yield result

    monkeypatch.setattr(stream, "tqdm", Tqdm)
    texts = ["a", "bb", "", "dddd", "a", "bb", "e"]  # blocks of 6, 10 and 2 bytes
    lines = Lines(texts, total_bytes=18 if known else None)
    scored = score_stream(Halves(), read_blocks(lines), in_txt, lines.total_bytes, progress=True)
    next(scored)
    (bar,) = bars
    if known:
        assert shown == ["1 sentences", 3, "the clock begins", "3 sentences", 6, "3 sentences", 6]
        assert bar.initial == 3  # the position after the first batch
        shown.clear()
    assert [len(block.sentences) for block in scored] == [3, 1]
    if known:
        assert [at for at in shown if not isinstance(at, str)] == [11, 16, 16, 17, 18, 18]
        assert shown[-2] == "7 sentences"
    else:
        shown.remove("the clock begins")
        assert shown == [1.5, 3, 3, 4.5, 6, 6, 6.5, 7, 7]
