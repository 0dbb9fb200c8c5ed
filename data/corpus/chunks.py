"""Lines of text to sentences of token ids: a pure function of a chunk, its number and the seed.

Some sentences are in spoken form, as a speech recogniser prints them.
"""

import hashlib
import re
import string
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tta.choices import KEEP_ACCENTS
from tta.data.corpus.config import CorpusConfig
from tta.data.corpus.spill import take_runs
from tta.data.vocabulary.load import AnyTokenizer

CHUNK_LINES, CHUNK_CHARACTERS = 8192, 1 << 20
NO_COUNTS: dict[str, int] = dict.fromkeys(
    (
        "lines",
        "sentences",
        "tokens",
        "unknown",
        "spoken",
        "truncated",
        "dropped_short",
        "dropped_long",
    ),
    0,
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

    With `merge_sentences`, a record has several sentences, see `merged`; a blank line ends a
    document. Held-out sentences are merged among themselves. Records end with the chunk.

    Returns:
        For each train shard, and last for the held-out split, the ids of its records (with begin
        and end) one after another and their lengths, both int32; and the counts of `NO_COUNTS`.
    """
    lines, document = _documents(lines) if config.merge_sentences else (lines, None)
    rng = np.random.default_rng([config.seed, 0, number])
    shard = rng.integers(config.num_shards, size=len(lines))
    speak = rng.random(len(lines)) < config.spoken_fraction
    shard[_heldout(lines, config.heldout_fraction, config.seed)] = config.num_shards

    texts = list(lines)
    spoken = 0
    for i in np.flatnonzero(speak):
        if text := spoken_form(texts[i], config.normalization != KEEP_ACCENTS):
            texts[i] = text
            spoken += 1

    ids, lengths = tokenizer.tokenize_flat(texts)
    limit = config.max_seq_length - 2  # Begin and end take two positions.
    short, long = lengths < config.min_tokens, lengths > limit
    drop = config.long_sentences == "drop"
    keep = np.flatnonzero(~(short | long) if drop else ~short)
    starts, sizes = (np.cumsum(lengths) - lengths)[keep], np.minimum(lengths[keep], limit)
    shard, is_first = shard[keep], np.ones(len(keep), bool)
    if document is None:
        order = np.argsort(shard, kind="stable")
    else:
        record = merged(sizes, document[keep], shard == config.num_shards, config.max_seq_length)
        _, first, record = np.unique(record, return_index=True, return_inverse=True)
        shard = shard[first][record]  # that of the record's first sentence
        order = np.lexsort([record, shard])
        is_first[1:] = np.diff(record[order]) != 0
    vocabulary = tokenizer.vocabulary
    records, sizes = _with_specials(ids, starts[order], sizes[order], is_first, vocabulary)
    shards_of_records = shard[order][is_first]
    per_shard = np.cumsum(np.bincount(shards_of_records, minlength=config.num_shards + 1))[:-1]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    sentences = zip(np.split(records, ends[per_shard]), np.split(sizes, per_shard), strict=True)
    counts = NO_COUNTS | {
        "lines": len(lines),
        "sentences": len(order),
        "tokens": int(sizes.sum()),
        "unknown": int((records == vocabulary.unk_id).sum()),
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


def merged(lengths: np.ndarray, document: np.ndarray, split: np.ndarray, limit: int) -> np.ndarray:
    """Which sentences share a record: [N] int, equal numbers.

    Greedy: a sentence joins the record of the sentence before it in its `document` [N] int and its
    `split` [N] bool (held out or not), unless the record would have more than `limit` tokens: a
    begin token, and after each sentence an end token. `lengths` [N] int are the pieces of each
    sentence, at most `limit` - 2.
    """
    record = np.empty(len(lengths), np.int64)
    last: dict[bool, tuple[int, int, int]] = {}  # of each split: (document, record, its tokens)
    sentences = zip(lengths.tolist(), document.tolist(), split.tolist(), strict=True)
    for index, (length, where, part) in enumerate(sentences):
        before, number, tokens = last.get(part, (None, 0, 0))
        tokens += length + 1
        if before != where or tokens > limit:
            number, tokens = index, 1 + length + 1
        record[index] = number
        last[part] = where, number, tokens
    return record


def _documents(lines):
    """The lines that are not blank, without white space around them, and their documents."""
    lines = [line.strip() for line in lines]
    is_blank = np.array([not line for line in lines], bool)
    return [line for line in lines if line], np.cumsum(is_blank)[~is_blank]


def _with_specials(ids, starts, lengths, is_first, vocabulary):
    """The records that runs of ids make, one after another, and their lengths, int32.

    An end id follows each run, and a begin id precedes it where `is_first`: a new record.
    """
    sizes = lengths + 1 + is_first
    ends = np.cumsum(sizes)
    begins = (ends - sizes)[is_first]
    records = np.empty(ends[-1] if len(ends) else 0, np.int32)
    inside = np.ones(len(records), bool)
    inside[ends - 1] = inside[begins] = False
    records[inside] = take_runs(ids, starts, lengths)
    records[ends - 1] = vocabulary.eos_id
    records[begins] = vocabulary.bos_id
    return records, np.diff(np.append(begins, len(records))).astype(np.int32)


_STRAIGHT_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc\uff07", "'"))
_ACCENTS = re.compile("[\u0300-\u036f]")
_SIGNS = "$£€¥¢%‰+=\xd7÷±°@#"  # read aloud as words
_NO_SPOKEN_FORM = re.compile(f"[^\\W_a-z]|[{_SIGNS}]")
_SPOKEN_WORD = re.compile("[a-z]+(?:'[a-z]+)*")
_WORD = re.compile("[^' ]+(?:'[^' ]+)*")


def spoken_form(line: str, strip_accents: bool = True) -> str | None:
    """Turns a written sentence into what a speech recogniser would print for it.

    The result has lower-case letters, apostrophes inside words, and single spaces. Curly
    apostrophes become straight ones. Hyphens, dashes and all other punctuation become spaces
    ("U.S." is "u s"). With `strip_accents`, letters are a to z, and "&" becomes "and", as English
    recognisers print. Otherwise letters of all languages and their marks stay.

    Returns None if the spoken form cannot be derived from the letters: the line contains digits or
    signs that are read aloud as words ("5", "%", "$"), other letters than those, or no letter.
    """
    text = line.lower()
    if not strip_accents:
        return _in_any_language(text)
    if not text.isascii():
        text = unicodedata.normalize("NFD", text.translate(_STRAIGHT_APOSTROPHES))
        text = _ACCENTS.sub("", text)
    if _NO_SPOKEN_FORM.search(text):
        return None
    return " ".join(_SPOKEN_WORD.findall(text.replace("&", " and "))) or None


def _in_any_language(text):
    characters = []
    for character in unicodedata.normalize("NFC", text.translate(_STRAIGHT_APOSTROPHES)):
        kind = unicodedata.category(character)
        if kind[0] == "N" or kind == "Sc" or character in f"&{_SIGNS}":
            return None
        if kind != "Cf":  # invisible
            characters.append(character if kind[0] in "LM" or character == "'" else " ")
    return " ".join(_WORD.findall("".join(characters))) or None
