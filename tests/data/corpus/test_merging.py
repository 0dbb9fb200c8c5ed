"""Sentences merged into records: each once, in order, inside its document and its split."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tta.data.corpus import chunks, prepare
from tta.data.corpus.chunks import merged
from tta.data.corpus.config import LocalCorpusConfig
from tta.data.corpus.output import summary
from tta.data.records import dataset, examples
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.word_pieces import TTA_SPECIALS, Vocabulary

LETTERS = "abcdefghij"
VOCABULARY = Vocabulary([*TTA_SPECIALS, *LETTERS])
BEGIN, END = VOCABULARY.bos_id, VOCABULARY.eos_id
LIMIT = 11

SENTENCES = st.lists(
    st.tuples(st.integers(1, LIMIT - 2), st.booleans(), st.booleans()), max_size=40
)


@settings(deadline=None, max_examples=100)
@given(SENTENCES)
def test_records_are_as_full_as_they_can_be_and_keep_to_documents_and_splits(sentences):
    lengths, ends, heldout = (
        (np.array(column) for column in zip(*sentences, strict=True))
        if (sentences)
        else np.zeros((3, 0), int)
    )
    documents = np.cumsum(ends)
    record = merged(lengths, documents, heldout.astype(bool), LIMIT)
    for part in (False, True):
        mine = np.flatnonzero(heldout == part)
        for first, second in pairwise(mine):  # records are runs of consecutive sentences
            tokens = 1 + (lengths + 1)[mine[record[mine] == record[first]]].sum()
            assert tokens <= LIMIT
            may_join = documents[first] == documents[second]
            may_join &= tokens + lengths[second] + 1 <= LIMIT
            joined = record[first] == record[second]
            assert record[first] <= record[second]
            if not joined:
                assert not may_join
            else:
                assert documents[first] == documents[second]
    assert not set(record[heldout == 0]) & set(record[heldout == 1])


def lines_of(count, seed=0):
    """Sentences of letters that do not repeat, and their documents' ends."""
    rng = np.random.default_rng(seed)
    lines = []
    for number in range(count):
        text = " ".join(LETTERS[int(digit)] for digit in f"{number:03d}")
        lines.append(" ".join([text, *rng.choice(list(LETTERS), rng.integers(0, 5))]))
        if rng.random() < 0.2:
            lines += [" "] * rng.integers(1, 3)
    return lines


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_LINES", 37)


def config(kind, folder, paths, **changes):
    VOCABULARY.save(folder.parent / "vocab.txt", overwrite=True)
    values = {"num_shards": 2, "max_seq_length": LIMIT, "heldout_fraction": 0.2, "min_tokens": 1}
    values |= {"merge_sentences": True, "vocab_file": str(folder.parent / "vocab.txt")}
    return kind(input_file=paths, output_dir=str(folder), **values | changes)


def records(folder, info, split):
    paths = dataset.shard_paths(folder, info, split)
    return [tuple(ids.tolist()) for path in paths for ids in examples.read_sentences(path)]


def sentences_of(record):
    """The sentences of a record, tuples of ids."""
    assert record[0] == BEGIN
    assert record[-1] == END
    found, current = [], []
    for token in record[1:]:
        if token == END:
            found.append(tuple(current))
            current = []
        else:
            current.append(token)
    return found


def is_in_order(parts, sentences):
    """Whether parts occur in this order among sentences; those of the other split lie between."""
    rest = iter(sentences)
    return all(part in rest for part in parts)


@pytest.mark.tensorflow
def test_every_sentence_is_in_one_record_and_neighbours_are_of_one_document(tmp_path):
    paths, texts = [], []
    for name, seed in (("a", 0), ("b", 1)):
        paths.append(str(tmp_path / name))
        texts.append(lines_of(150, seed))
        (tmp_path / name).write_text("\n".join(texts[-1]) + "\n")
    info = prepare.create_tfrecords(config(LocalCorpusConfig, tmp_path / "out", paths))
    tokenizer = Tokenizer(VOCABULARY)
    place, order, document = {}, [], 0
    for text in texts:
        for line in text:
            if line.strip():
                ids = tuple(tokenizer.encode([line])[0].tolist())
                place.setdefault(ids, []).append(document)
                order.append((document, ids))
            else:
                document += 1
        document += 1
    found, merges = [], 0
    for split in ("train", "heldout"):
        for record in records(tmp_path / "out", info, split):
            assert len(record) <= LIMIT
            parts = sentences_of(record)
            merges += len(parts) > 1
            found += parts
            shared = set.intersection(*(set(place[one]) for one in parts))
            assert shared, "a record is of one document"
            assert any(is_in_order(parts, [s for d, s in order if d == one]) for one in shared)
    assert sorted(found) == sorted(one for one, places in place.items() for _ in places)
    assert merges > 20
    assert info["counts"]["sentences"] == info["counts"]["lines"] == 300
    assert info["merge_sentences"]
    num_records = sum(split["sentences"] for split in info["splits"].values())
    assert num_records < 300
    assert "records of merged sentences" in summary(info, 1.0)
    train, heldout = (
        {s for r in records(tmp_path / "out", info, split) for s in sentences_of(r)}
        for split in ("train", "heldout")
    )
    assert not train & heldout
    assert heldout
    # The split is that of the same lines without merging.
    options = {"merge_sentences": False}
    info = prepare.create_tfrecords(config(LocalCorpusConfig, tmp_path / "one", paths, **options))
    for split, merged_sentences in (("train", train), ("heldout", heldout)):
        one_each = records(tmp_path / "one", info, split)
        assert {s for record in one_each for s in sentences_of(record)} == merged_sentences


@pytest.mark.tensorflow
def test_a_long_sentence_is_cut_and_counted(tmp_path):
    (tmp_path / "a").write_text("a b\n" + "c " * 30 + "\nd e\n")
    options = {"heldout_fraction": 0.0, "num_shards": 1}
    made = config(LocalCorpusConfig, tmp_path / "out", [str(tmp_path / "a")], **options)
    info = prepare.create_tfrecords(made)
    found = sorted(map(len, records(tmp_path / "out", info, "train")))
    assert found == [4, 4, LIMIT]
    assert info["counts"]["truncated"] == 1
