"""The cache of scores: what is found again, what is not, and files that are none, in one line."""

import contextlib
import itertools
import os
import pickle
import random
import sqlite3
import threading

import numpy as np
import pytest

from tests.fake_model import FakeModel
from tta.errors import InputError
from tta.scoring.scorers.arguments import SentenceError
from tta.scoring.scorers.inference import cache, store
from tta.scoring.scorers.inference.cache import CachedScorer, MemoryStore, with_cache
from tta.scoring.scorers.inference.store import ResultStore
from tta.scoring.scorers.load import load_scorer
from tta.scoring.scorers.options import ScoreOptions
from tta.scoring.scorers.scorer import Scorer, TokenScores

TEXTS = ["the cat", "a dog ran", "", "the cat", "dogs"]


class Model(FakeModel):
    """Counts the texts that it scores; refuses one text, and another one interrupts it."""

    def score_tokens(self, texts, progress=False):
        self._look_at(texts)
        return super().score_tokens(texts)

    def score_with_counts(self, texts, progress=False):
        self._look_at(texts)
        return super().score_with_counts(texts)

    def _look_at(self, texts):
        if "refused" in texts:
            raise SentenceError("is refused", texts.index("refused"))
        if "interrupt" in texts:
            raise KeyboardInterrupt
        self.encoded += texts


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache"


def cached(path, model=None):
    return with_cache(model or Model(), ResultStore(path))


def sums(lm, texts):
    return [values.tolist() for values in lm.score_with_counts(texts)]


def tokens(lm, texts):
    return [one.to_dict() for one in lm.score_tokens(texts)]


def blocks(lm, texts):
    advanced = []
    found = lm.score_blocks([texts[:2], [], texts[2:]], advance=advanced.append)
    parts = [[values.tolist() for values in one] for one in found]
    assert len(advanced) == 3
    return [[*itertools.chain(*column)] for column in zip(*parts, strict=True)]


@pytest.mark.parametrize("part", [2, 1024])
@pytest.mark.parametrize("score", [sums, tokens, blocks])
def test_no_text_is_scored_twice_and_results_are_the_models(path, monkeypatch, score, part):
    monkeypatch.setattr(cache, "_PART", part)
    expected, first, second = score(Model(), TEXTS), Model(), Model()
    assert score(cached(path, first), iter(TEXTS) if score is not blocks else TEXTS) == expected
    assert sorted(set(first.encoded)) == sorted(set(TEXTS))
    assert score(cached(path, second), TEXTS) == expected
    assert second.encoded == []
    assert score(cached(path, second), [*TEXTS, "new"]) == score(Model(), [*TEXTS, "new"])
    assert second.encoded == ["new"]
    assert score(cached(path), []) == ([] if score is tokens else [[], []])


def test_sums_and_tokens_and_models_are_apart(path):
    lm = cached(path)
    assert sums(lm, ["the cat"]) == [[-2.0], [2]]
    assert tokens(lm, ["the cat"]) == [{"tokens": ["the", "cat"], "log_probabilities": [-1, -1]}]
    assert sums(cached(path, Model("length")), ["the cat"]) == [[-6.0], [2]]
    assert lm.score(["the cat"], "mean").tolist() == [-1.0]
    assert repr(lm) == "Model('fake')"


def test_a_note_says_that_a_cache_has_scores_of_other_settings_only(path):
    assert cached(path).notes == ()
    sums(cached(path), TEXTS)
    rule = "it has scores of other models or settings only, so texts are scored anew"
    assert cached(path, Model("length")).notes == (f"{path}: {rule}",)
    assert cached(path, Model("length")).notes == cached(path).notes == ()


@pytest.mark.parametrize("score", [sums, tokens, blocks])
def test_an_error_names_the_place_of_its_text(path, monkeypatch, score):
    monkeypatch.setattr(cache, "_PART", 2)
    lm = cached(path)
    sums(lm, TEXTS[:1])
    tokens(lm, TEXTS[:1])
    with pytest.raises(SentenceError, match="is refused") as raised:
        score(lm, ["the cat", "a", "the cat", "refused"])
    assert raised.value.index == (1 if score is blocks else 3)  # of the block


def test_an_interrupt_loses_one_part(path, monkeypatch):
    monkeypatch.setattr(cache, "_PART", 2)
    with pytest.raises(KeyboardInterrupt):
        sums(cached(path), ["a", "b", "c", "interrupt"])
    model = Model()
    sums(cached(path, model), ["a", "b", "c", "d"])
    assert model.encoded == ["c", "d"]


def test_a_copy_has_the_file_and_weights_are_fixed(path):
    lm = pickle.loads(pickle.dumps(cached(path)))
    assert sums(lm, ["the cat"]) == [[-2.0], [2]]
    assert sums(cached(path, model := Model()), ["the cat"]) == [[-2.0], [2]]
    assert model.encoded == []
    with pytest.raises(InputError, match=r"^fake: it has a cache of scores"):
        _ = lm.model
    with pytest.raises(InputError, match=r"^model: a model without a signature has no cache$"):
        cached(path, Scorer())


class Bar(contextlib.nullcontext):
    """A progress bar that records its total, whether it is hidden, and its steps."""

    def __init__(self, total, disable, **_):
        super().__init__(self)
        self.seen = [total, disable]
        self.update = self.seen.append


@pytest.mark.parametrize("progress", [True, False])
def test_the_progress_bar_counts_texts(path, monkeypatch, progress):
    bars = []
    monkeypatch.setattr(cache, "_PART", 2)
    monkeypatch.setattr(cache, "tqdm", lambda **given: bars.append(Bar(**given)) or bars[0])
    cached(path).score_with_counts([*"abcde"], progress)
    assert bars[0].seen == [5, not progress, 2, 2, 1]


def test_all_but_scores_is_the_model_s():
    """Every public name of a scorer, and what only a kind of model has."""
    own = {"score", "score_with_counts", "score_tokens", "score_blocks", "score_words"}
    own |= {"perplexity", "similarity", "similarity_matrix", "model", "no_model", "lacks"}
    own |= {"check_log_probabilities", "check_perplexity", "choose_representation"}
    own |= {"choose_comparison", "settings", "notes"}
    model = Model()
    lm = CachedScorer(model, MemoryStore())
    for name in {one for one in dir(Scorer) if one[0] != "_"} - own:
        setattr(model, name, value := f"of the model: {name}")
        assert getattr(lm, name) == value, name
    model.notes = ("of the model",)
    assert (lm.notes, lm.settings) == (model.notes, model.settings)
    model.only_of_its_kind = 3
    assert lm.only_of_its_kind == 3
    assert not hasattr(lm, "no_such_name")


def test_token_scores_that_are_known_add_up_to_the_score():
    lm = CachedScorer(model := Model(), MemoryStore(), adds_up=True)
    lm.remember({"the cat": TokenScores(["the", "cat"], np.array([-4.0, -5.0]))})
    for _ in range(2):
        assert sums(lm, ["the cat", "a dog"]) == [[-9.0, -2.0], [2, 2]]
        assert [len(one["tokens"]) for one in tokens(lm, ["a dog", "the cat"])] == [2, 2]
    assert model.encoded == ["a dog"]


def other_program(path):
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE theirs (a)")


def change(path, statement):
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute(statement)


def edit(path, begin, data):
    with open(path, "r+b") as file:
        file.seek(begin)
        file.write(data)


MANY = [f"the cat {number}" for number in range(500)]


def filled(path, texts=MANY):
    sums(cached(path), texts)
    return path


DAMAGED = "damaged: the result "
SQLITE = "SQLite cannot read or write it: "

# (what is at the path, the rest of the message)
FILES = [
    (lambda path: path.write_text("the cat\n" * 99), f"{SQLITE}file is not a database"),
    (lambda path: path.mkdir(), f"{SQLITE}unable to open database file"),
    (other_program, "an SQLite file of another program"),
    (lambda path: path.symlink_to(path.parent / "no" / "such"), f"{SQLITE}unable to open"),
    (lambda path: os.truncate(filled(path), 5000), SQLITE),
    (lambda path: edit(filled(path), 4096, b"x" * 4096), SQLITE),
    (lambda path: change(filled(path), "UPDATE tta_results SET value = '[0, 1]'"), DAMAGED),
    (lambda path: change(filled(path), "UPDATE tta_results SET value = NULL"), DAMAGED),
    (lambda path: change(filled(path), "ALTER TABLE tta_results RENAME crc32 TO c"), SQLITE),
]


@pytest.mark.parametrize(("make", "message"), FILES)
def test_a_file_that_is_no_cache_or_damaged_is_one_line(path, make, message):
    make(path)
    with pytest.raises(InputError) as raised:
        sums(cached(path), MANY)
    assert str(raised.value).startswith(f"{path}: {message}")
    assert "\n" not in str(raised.value)


def test_standard_output_is_no_cache(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    with pytest.raises(InputError, match=r"-: the cache must be a file, not standard output"):
        load_scorer("small", ScoreOptions(cache="-"))
    assert not list(path.parent.iterdir())


def test_flipped_bytes_are_one_line_and_no_wrong_score(path):
    """Also in the names of SQLite's own table, which its messages quote."""
    texts = MANY[:100]
    expected, content = sums(Model(), texts), filled(path, texts).read_bytes()
    schema, rng = content.index(b"CREATE TABLE"), random.Random(1)
    places = [*range(schema - 60, schema + 120), *rng.choices(range(len(content)), k=200)]
    for place in places:
        path.write_bytes(content[:place] + b"\xff" + content[place + 1 :])
        with contextlib.suppress(InputError):
            assert sums(cached(path), texts) == expected, place


def test_a_full_disk_is_one_line_with_the_users_file(path, monkeypatch):
    found = ResultStore(path)
    connect = sqlite3.connect

    def full(*arguments, **options):
        database = connect(*arguments, **options)
        database.execute("PRAGMA max_page_count = 2")
        return database

    monkeypatch.setattr(sqlite3, "connect", full)
    with pytest.raises(OSError, match="No space left on device") as raised:
        found.put({str(number): "a" * 1000 for number in range(100)})
    assert raised.value.filename == str(path)


@pytest.mark.parametrize("statement", ["ANALYZE", "VACUUM", "PRAGMA journal_mode = WAL"])
def test_what_sqlite_itself_adds_to_a_cache_is_no_other_program(path, statement):
    filled(path)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(statement)
    assert sums(cached(path, model := Model()), MANY) == sums(Model(), MANY)
    assert model.encoded == []


def test_readers_do_not_wait_for_a_writer_and_a_writer_waits(path, monkeypatch):
    lm = cached(path)
    sums(lm, ["the cat"])
    writer = sqlite3.connect(path, check_same_thread=False)
    writer.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(store, "_PATIENCE", 0.1)
    assert lm.store.get([]) == {}
    assert sums(lm, ["the cat"]) == [[-2.0], [2]], "nothing is written"
    with pytest.raises(InputError, match="database is locked"):
        sums(lm, ["new"])
    monkeypatch.setattr(store, "_PATIENCE", 60.0)
    threading.Timer(0.2, writer.rollback).start()
    assert sums(lm, ["new"]) == [[-5.0], [1]]
    writer.close()
