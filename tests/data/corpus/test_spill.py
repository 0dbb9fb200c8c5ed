"""Shuffling through files: nothing lost, nothing doubled, uniform, by seed."""

import numpy as np
import pytest

from tta.data.corpus import spill
from tta.data.corpus.spill import Spill, take_runs


def shuffled(path, sentences, seed):
    """The sentences (lists) in the order a spill gives them back."""
    mine = Spill(path / "spill")
    for start in range(0, len(sentences), 100):
        chunk = sentences[start : start + 100]
        ids = np.array([i for s in chunk for i in s], np.int32)
        mine.append(ids, np.array([len(s) for s in chunk], np.int32))
    back = []
    for ids, lengths in mine.shuffled(np.random.default_rng(seed)):
        back += [s.tolist() for s in np.split(ids, np.cumsum(lengths)[:-1])] if len(lengths) else []
    assert not list(path.iterdir()), "the files are deleted"
    return back


def test_take_runs():
    values = np.arange(10)
    runs = take_runs(values, np.array([7, 0, 3, 5]), np.array([3, 1, 0, 2]))
    assert runs.tolist() == [7, 8, 9, 0, 5, 6]
    assert take_runs(values, np.zeros(0, int), np.zeros(0, int)).tolist() == []


@pytest.mark.parametrize("part_bytes", [1 << 20, 1000], ids=["in memory", "dealt out again"])
def test_shuffles_without_loss(tmp_path, monkeypatch, part_bytes):
    monkeypatch.setattr(spill, "PART_BYTES", part_bytes)
    monkeypatch.setattr(spill, "BLOCK_SENTENCES", 64)
    sentences = [[i] * (i % 5 + 1) for i in range(700)]
    first = shuffled(tmp_path, sentences, seed=1)
    assert sorted(first) == sorted(sentences)
    places = np.array([s[0] for s in first])
    assert abs(np.corrcoef(places, np.arange(700))[0, 1]) < 0.15
    assert first == shuffled(tmp_path, sentences, seed=1)
    assert first != shuffled(tmp_path, sentences, seed=2)


def test_empty_spill(tmp_path):
    assert shuffled(tmp_path, [], seed=0) == []
