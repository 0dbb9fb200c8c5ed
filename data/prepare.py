"""Raw text to shuffled TFRecord shards, streaming: memory does not grow with the corpus.

First pass: the text is read in chunks; threads tokenize each chunk and deal its sentences out at
random to one temporary "spill" file a shard. Second pass: each spill is shuffled and written as a
shard. The two together are a uniform shuffle of the corpus. Everything random in a chunk or shard
depends on the seed and its number alone, so the result does not depend on the number of threads.

Threads and not processes: TensorFlow's tokenizer runs outside Python's lock, and each process more
would cost TensorFlow's half a gigabyte again.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import string
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from tqdm import tqdm

from tta.data import tfrecord
from tta.data.text import TextReader, spoken_form
from tta.data.tokenizer import Tokenizer
from tta.errors import InputError

CHUNK_LINES, CHUNK_CHARACTERS = 8192, 1 << 20
SPILL_BYTES = 32 << 20  # A larger spill is dealt out again, so that it can be shuffled in memory.
WORK_FOLDER = ".tta-create-tfrecords.tmp"


@dataclass(frozen=True)
class Options:
    """How sentences become records.

    Args:
        num_shards: number of shards of the train split (the held-out split has one).
        max_seq_length: most token ids in a record, begin and end included.
        min_tokens: sentences with fewer word pieces (without begin and end) are dropped.
        long_sentences: "truncate" or "drop" what is longer than `max_seq_length`.
        heldout_fraction: share of the sentences in the held-out split. The choice is a hash of the
            sentence's letters and digits, so that copies of a sentence are all on one side.
        spoken_fraction: share of the sentences that are replaced by their `spoken_form`; those
            that have none stay as they are.
        seed: int, of everything random.
    """

    num_shards: int = 64
    max_seq_length: int = 128
    min_tokens: int = 2
    long_sentences: str = "truncate"
    heldout_fraction: float = 0.01
    spoken_fraction: float = 0.0
    seed: int = 0


def create_tfrecords(
    paths, vocabulary, output_dir, options, lower_case=True, num_workers=None, overwrite=False
):
    """Writes a data set of TFRecord shards with its `dataset.json`.

    The shards appear under their names when all are complete, and `dataset.json` last.

    Args:
        paths: a list of text files, one sentence a line, as `TextReader` takes them.
        vocabulary: a `Vocabulary`.
        output_dir: the folder to write to; made if missing.
        options: an `Options`.
        lower_case: whether the tokenizer lower-cases the text and strips its accents.
        num_workers: number of threads; None for one a core.
        overwrite: whether to replace a data set in that folder.

    Returns:
        The description, a dict, as `tfrecord.load_dataset_info` reads it.

    Raises:
        InputError: bad text, no sentence left, a data set is there already, or another process
            is writing to the folder.
    """
    output = Path(output_dir)
    workers = num_workers or len(os.sched_getaffinity(0))
    with _own_folder(output) as work:
        _refuse_existing(output, overwrite)
        tokenizer = Tokenizer(vocabulary, lower_case)
        spills = [Spill(work / f"spill-{i}") for i in range(options.num_shards + 1)]
        with ThreadPoolExecutor(workers) as pool:
            reader = TextReader(paths)
            counts = _deal_out(reader, tokenizer, spills, options, pool, workers)
            if not counts["sentences"]:
                raise InputError("no sentence is left to write", ", ".join(paths))
            splits = _write_shards(spills, work, options, pool)
        _remove_shards(output)
        for shard in work.glob("*.tfrecord"):
            shard.rename(output / shard.name)
        vocabulary.save(output / "vocab.txt", overwrite=True)
        info = {
            "format_version": tfrecord.FORMAT_VERSION,
            "vocab_size": len(vocabulary),
            "vocab_sha256": vocabulary.sha256,
            "lower_case": lower_case,
            **asdict(options),
            "splits": splits,
            "counts": dict(counts),
            "sources": [str(path) for path in paths],
        }
        description = work / tfrecord.INFO_FILE
        description.write_text(json.dumps(info, indent=2) + "\n", encoding="utf-8")
        description.rename(output / tfrecord.INFO_FILE)
    return info


class Spill:
    """Sentences of one shard on their way, as two files of numbers.

    Args:
        path: the stem of the two files' names.
    """

    def __init__(self, path):
        self.path = path
        self._ids, self._lengths = Path(f"{path}.ids"), Path(f"{path}.lengths")

    def append(self, ids, lengths):
        """Adds sentences: ids, int32 [sum of lengths], and lengths, int32 [N]."""
        with open(self._ids, "ab") as ids_file, open(self._lengths, "ab") as lengths_file:
            ids_file.write(ids.tobytes())
            lengths_file.write(lengths.tobytes())

    def size(self):
        """Size of the ids in bytes."""
        return self._ids.stat().st_size if self._ids.exists() else 0

    def load(self):
        """All ids and lengths, as they were added."""
        if not self._ids.exists():
            return np.zeros(0, np.int32), np.zeros(0, np.int32)
        return np.fromfile(self._ids, np.int32), np.fromfile(self._lengths, np.int32)

    def blocks(self, sentences=CHUNK_LINES):
        """Yields the ids and lengths of so many sentences at a time."""
        with open(self._ids, "rb") as ids_file, open(self._lengths, "rb") as lengths_file:
            while len(lengths := np.fromfile(lengths_file, np.int32, sentences)):
                yield np.fromfile(ids_file, np.int32, lengths.sum()), lengths

    def remove(self):
        """Deletes the files."""
        self._ids.unlink(missing_ok=True)
        self._lengths.unlink(missing_ok=True)


# First pass: text -> spills


def _deal_out(reader, tokenizer, spills, options, pool, workers):
    """Tokenizes the text and deals its sentences out to the spills; returns what was counted."""
    counts = Counter(
        lines=0, sentences=0, tokens=0, spoken=0, truncated=0, dropped_short=0, dropped_long=0
    )
    bar = tqdm(total=reader.total_bytes, unit="B", unit_scale=True, desc="tokenizing")
    pending = deque()

    def collect():
        sentences, chunk_counts = pending.popleft().result()
        for spill, (ids, lengths) in zip(spills, sentences, strict=True):
            spill.append(ids, lengths)
        counts.update(chunk_counts)
        bar.update(reader.bytes_read - bar.n)
        bar.set_postfix(sentences=f"{counts['sentences']:,}", refresh=False)

    with bar:
        for number, lines in enumerate(_chunks(reader)):
            pending.append(pool.submit(prepare_chunk, number, lines, tokenizer, options))
            if len(pending) > workers:  # A bounded number in flight, collected in their order.
                collect()
        while pending:
            collect()
    return counts


def _chunks(lines):
    """Groups lines into lists that are bounded in lines and in characters."""
    chunk, characters = [], 0
    for line in lines:
        chunk.append(line)
        characters += len(line)
        if len(chunk) == CHUNK_LINES or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def prepare_chunk(number, lines, tokenizer, options):
    """Tokenizes lines and deals them out: a pure function of its arguments.

    Args:
        number: the chunk's number, int; with the seed it decides everything random.
        lines: a list of N str.
        tokenizer: a `Tokenizer`.
        options: an `Options`.

    Returns:
        A list with (ids, lengths), both int32, of each train shard and, last, of the held-out
        split, begin and end ids included; and a dict of counts.
    """
    rng = np.random.default_rng([options.seed, 0, number])
    shard = rng.integers(options.num_shards, size=len(lines))
    speak = rng.random(len(lines)) < options.spoken_fraction
    if options.heldout_fraction:
        shard[[is_heldout(line, options) for line in lines]] = options.num_shards

    texts = list(lines)
    spoken = 0
    for i in np.flatnonzero(speak):
        if text := spoken_form(texts[i]):
            texts[i] = text
            spoken += 1

    ids, lengths = tokenizer.tokenize_flat(texts)
    limit = options.max_seq_length - 2  # Begin and end take two places.
    short, long = lengths < options.min_tokens, lengths > limit
    drop = options.long_sentences == "drop"
    keep = ~(short | long) if drop else ~short
    order = np.argsort(shard, kind="stable")
    order = order[keep[order]]

    starts = (np.cumsum(lengths) - lengths)[order]
    vocabulary = tokenizer.vocabulary
    records, sizes = _with_specials(
        ids, starts, np.minimum(lengths[order], limit), vocabulary.bos_id, vocabulary.eos_id
    )
    per_shard = np.cumsum(np.bincount(shard[order], minlength=options.num_shards + 1))[:-1]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    sentences = zip(np.split(records, ends[per_shard]), np.split(sizes, per_shard), strict=True)
    counts = {
        "lines": len(lines),
        "sentences": len(order),
        "tokens": int(sizes.sum()),
        "spoken": spoken,
        "truncated": 0 if drop else int((long & ~short).sum()),
        "dropped_short": int(short.sum()),
        "dropped_long": int((long & ~short).sum()) if drop else 0,
    }
    return list(sentences), counts


def is_heldout(line, options):
    """Whether a line belongs to the held-out split: by a hash of its letters and digits."""
    letters = line.lower().translate(_NO_PUNCTUATION).encode()
    key = options.seed.to_bytes(8, "little")
    digest = hashlib.blake2b(letters, digest_size=8, key=key).digest()
    return int.from_bytes(digest, "little") < options.heldout_fraction * 2**64


_NO_PUNCTUATION = str.maketrans(
    "", "", string.punctuation + string.whitespace + "\u2018\u2019“”\u2013—…"
)


def _take(ids, starts, lengths):
    """Concatenates the runs ids[start : start + length], int32."""
    offsets = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    return ids[offsets + np.arange(len(offsets))]


def _with_specials(ids, starts, lengths, begin, end):
    """As `_take`, with begin and end ids around each run; returns ids and lengths, int32."""
    ends = np.cumsum(lengths + 2)
    records = np.empty(ends[-1] if len(ends) else 0, np.int32)
    inside = np.ones(len(records), bool)
    inside[ends - 1] = inside[ends - lengths - 2] = False
    records[inside] = _take(ids, starts, lengths)
    records[ends - 1] = end
    records[ends - lengths - 2] = begin
    return records, (lengths + 2).astype(np.int32)


# Second pass: spills -> shards


def _write_shards(spills, work, options, pool):
    """Writes every spill as a shard in the work folder; returns what each split holds."""

    def write(index):
        heldout = index == options.num_shards
        name = (
            tfrecord.shard_name(tfrecord.HELDOUT, 0, 1)
            if heldout
            else tfrecord.shard_name(tfrecord.TRAIN, index, options.num_shards)
        )
        rng = np.random.default_rng([options.seed, 1, index])
        return write_shard(spills[index], work / name, rng)

    written = list(
        tqdm(pool.map(write, range(len(spills))), total=len(spills), unit=" shards", desc="writing")
    )
    splits = {}
    for name, shards in ((tfrecord.TRAIN, written[:-1]), (tfrecord.HELDOUT, written[-1:])):
        sentences, tokens = (sum(column) for column in zip(*shards, strict=True))
        splits[name] = {"shards": len(shards), "sentences": sentences, "tokens": tokens}
    return splits


def write_shard(spill, path, rng):
    """Writes a spill's sentences in random order as one TFRecord file, and removes the spill.

    Returns:
        The number of sentences and of tokens (ints).
    """
    import tensorflow as tf

    sentences = tokens = 0
    with tf.io.TFRecordWriter(str(path)) as writer:
        for part in _in_memory_parts(spill, rng):
            ids, lengths = part.load()
            starts = np.cumsum(lengths) - lengths
            order = rng.permutation(len(lengths))
            for block in np.array_split(order, len(order) // CHUNK_LINES + 1):
                for record in tfrecord.encode_records(
                    _take(ids, starts[block], lengths[block]), lengths[block]
                ):
                    writer.write(record)
            sentences += len(lengths)
            tokens += len(ids)
            part.remove()
    return sentences, tokens


def _in_memory_parts(spill, rng):
    """Deals a spill that is too large for memory out to smaller ones, at random."""
    count = -(-spill.size() // SPILL_BYTES)
    if count <= 1:
        return [spill]
    parts = [Spill(f"{spill.path}-{i}") for i in range(count)]
    for ids, lengths in spill.blocks():
        starts = np.cumsum(lengths) - lengths
        part = rng.integers(count, size=len(lengths))
        for i in range(count):
            mine = part == i
            parts[i].append(_take(ids, starts[mine], lengths[mine]), lengths[mine])
    spill.remove()
    return parts


# The output folder


@contextlib.contextmanager
def _own_folder(output):
    """Locks the output folder for this process; yields a fresh work folder inside it."""
    output.mkdir(parents=True, exist_ok=True)
    work = output / WORK_FOLDER
    lock = os.open(output, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(work, ignore_errors=True)  # Left behind by a run that was killed.
        work.mkdir()
        yield work
    except BlockingIOError:
        raise InputError("another process is writing a data set there", output) from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
        os.close(lock)


def _refuse_existing(output, overwrite):
    for path in [output / tfrecord.INFO_FILE, *_shards(output)]:
        if path.exists() and not overwrite:
            raise InputError("a data set is here; pass --overwrite to replace it", path)


def _remove_shards(output):
    """Removes a data set, its description first: what is left of a half-removed one is no set."""
    (output / tfrecord.INFO_FILE).unlink(missing_ok=True)
    for path in _shards(output):
        path.unlink()


def _shards(output):
    return sorted(p for p in output.glob("*.tfrecord") if tfrecord.is_shard_name(p.name))
