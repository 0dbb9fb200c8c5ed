"""Lines of text to sentences of token ids: a pure function of a chunk, its number and the seed."""

import hashlib
import string
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tta.data.corpus.config import CorpusConfig
from tta.data.corpus.spill import take_runs
from tta.data.text.spoken import spoken_form
from tta.data.vocabulary.load import AnyTokenizer

CHUNK_LINES, CHUNK_CHARACTERS = 8192, 1 << 20
NO_COUNTS: dict[str, int] = dict.fromkeys(
    ("lines", "sentences", "tokens", "spoken", "truncated", "dropped_short", "dropped_long"), 0
)

_NO_PUNCTUATION = str.maketrans(
    "", "", string.punctuation + string.whitespace + "\u2018\u2019“”\u2013—…"
)


def iter_chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    """Groups lines into lists with a bounded number of lines and of characters."""
    chunk, characters = [], 0
    for line in lines:
        chunk.append(line)
        characters += len(line)
        if len(chunk) == CHUNK_LINES or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def prepare_chunk(
    number: int, lines: Sequence[str], tokenizer: AnyTokenizer, config: CorpusConfig
) -> tuple[list[tuple[np.ndarray, np.ndarray]], dict[str, int]]:
    """Tokenizes the lines of a chunk and assigns them to shards.

    All random choices depend on the seed of the config and on `number`, the number of the chunk.

    Returns:
        For each train shard, and last for the held-out split, the ids of its sentences (with begin
        and end) one after another and their lengths, both int32; and the counts of `NO_COUNTS`.
    """
    rng = np.random.default_rng([config.seed, 0, number])
    shard = rng.integers(config.num_shards, size=len(lines))
    speak = rng.random(len(lines)) < config.spoken_fraction
    shard[_heldout(lines, config.heldout_fraction, config.seed)] = config.num_shards

    texts = list(lines)
    spoken = 0
    for i in np.flatnonzero(speak):
        if text := spoken_form(texts[i]):
            texts[i] = text
            spoken += 1

    ids, lengths = tokenizer.tokenize_flat(texts)
    limit = config.max_seq_length - 2  # Begin and end take two positions.
    short, long = lengths < config.min_tokens, lengths > limit
    drop = config.long_sentences == "drop"
    keep = ~(short | long) if drop else ~short
    order = np.argsort(shard, kind="stable")
    order = order[keep[order]]

    starts = (np.cumsum(lengths) - lengths)[order]
    vocabulary = tokenizer.vocabulary
    records, sizes = _with_specials(
        ids, starts, np.minimum(lengths[order], limit), vocabulary.bos_id, vocabulary.eos_id
    )
    per_shard = np.cumsum(np.bincount(shard[order], minlength=config.num_shards + 1))[:-1]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    sentences = zip(np.split(records, ends[per_shard]), np.split(sizes, per_shard), strict=True)
    counts = NO_COUNTS | {
        "lines": len(lines),
        "sentences": len(order),
        "tokens": int(sizes.sum()),
        "spoken": spoken,
        "dropped_short": int(short.sum()),
        "dropped_long" if drop else "truncated": int((long & ~short).sum()),
    }
    return list(sentences), counts


def _heldout(lines, fraction, seed):
    """[N] bool: the held-out lines, by a hash of letters and digits, so that copies agree."""
    if not fraction:
        return np.zeros(len(lines), bool)
    seeded = hashlib.blake2b(digest_size=8, key=seed.to_bytes(8, "little"))

    def digest(line):
        hasher = seeded.copy()
        hasher.update(line.lower().translate(_NO_PUNCTUATION).encode())
        return hasher.digest()

    hashes = np.frombuffer(b"".join(map(digest, lines)), "<u8")
    return hashes >> 11 < fraction * 2**53  # A float represents 53 bits exactly.


def _with_specials(ids, starts, lengths, begin, end):
    """As `take_runs`, with begin and end ids around each run; returns ids and lengths, int32."""
    ends = np.cumsum(lengths + 2)
    records = np.empty(ends[-1] if len(ends) else 0, np.int32)
    inside = np.ones(len(records), bool)
    inside[ends - 1] = inside[ends - lengths - 2] = False
    records[inside] = take_runs(ids, starts, lengths)
    records[ends - 1] = end
    records[ends - lengths - 2] = begin
    return records, (lengths + 2).astype(np.int32)
