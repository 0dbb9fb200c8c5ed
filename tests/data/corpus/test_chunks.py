"""Chunks of lines: bounded, and repeatable by seed and number."""

from tta.data.corpus import chunks
from tta.data.corpus.config import CorpusConfig
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.word_pieces import TTA_SPECIALS, Vocabulary

VOCABULARY = Vocabulary((*TTA_SPECIALS, "n", *"0123456789", *(f"##{d}" for d in "0123456789")))


def test_the_shards_of_a_chunk_depend_on_seed_and_number():
    tokenizer, lines = Tokenizer(VOCABULARY), [f"n {i}" for i in range(64)]

    def shards(number, **options):
        settings = CorpusConfig(
            input_file=[],
            vocab_file="unused",
            output_dir="unused",
            num_shards=4,
            heldout_fraction=0,
            **options,
        )
        sentences, _ = chunks.prepare_chunk(number, lines, tokenizer, settings)
        return [ids.tolist() for ids, _ in sentences]

    first = shards(0, seed=1)
    assert all(first[:4])
    assert first[4] == [], "nothing held out"
    assert first == shards(0, seed=1)
    assert first != shards(0, seed=2)
    assert first != shards(1, seed=1)


def test_chunks_are_bounded(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_LINES", 3)
    monkeypatch.setattr(chunks, "CHUNK_CHARACTERS", 10)
    lines = ["a", "b", "c", "d", "e" * 10, "f", "g" * 99]
    assert list(chunks.iter_chunks(lines)) == [["a", "b", "c"], ["d", "e" * 10], ["f", "g" * 99]]
