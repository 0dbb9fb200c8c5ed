"""Raw text to shuffled TFRecord shards, streaming: memory does not grow with the corpus.

First pass: the text is read in chunks; threads tokenize each chunk and deal its sentences out at
random to one temporary "spill" file a shard. Second pass: each spill is shuffled and written as a
shard. The two together are a uniform shuffle of the corpus. Everything random in a chunk or shard
depends on the seed and its number alone, so the result does not depend on the number of threads.

Threads and not processes: TensorFlow's tokenizer runs outside Python's lock, and each process more
would cost TensorFlow's half a gigabyte again.
"""

import contextlib
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

from tta.atomic import locked_folder
from tta.data.corpus.spill import Spill, take_runs
from tta.data.records import tfrecord
from tta.data.text.files import open_output
from tta.data.text.lines import TextReader, spoken_form
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.errors import InputError

CHUNK_LINES, CHUNK_CHARACTERS = 8192, 1 << 20
LONG_SENTENCES = ("truncate", "drop")
VOCAB_FILE = "vocab.txt"
WORK_FOLDER = ".tta-create-tfrecords.tmp"
NO_COUNTS = dict.fromkeys(
    ("lines", "sentences", "tokens", "spoken", "truncated", "dropped_short", "dropped_long"), 0
)


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

    Raises:
        InputError: a value is out of its range.
    """

    num_shards: int = 64
    max_seq_length: int = 128
    min_tokens: int = 2
    long_sentences: str = "truncate"
    heldout_fraction: float = 0.01
    spoken_fraction: float = 0.0
    seed: int = 0

    def __post_init__(self):
        for name, low, high in (
            ("num_shards", 1, 99_999),
            ("max_seq_length", 3, None),
            ("min_tokens", 1, None),
            ("heldout_fraction", 0, 1),
            ("spoken_fraction", 0, 1),
            ("seed", 0, 2**63 - 1),
        ):
            value = getattr(self, name)
            if not (low <= value and (high is None or value <= high)):
                bound = f"at least {low}" if high is None else f"from {low} to {high}"
                raise InputError(f"{name} must be {bound}, got {value}")
        if self.long_sentences not in LONG_SENTENCES:
            rule = " or ".join(LONG_SENTENCES)
            raise InputError(f"long_sentences must be {rule}, got {self.long_sentences!r}")


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
    workers = num_workers or _cores()
    with work_folder(output) as work:
        if not overwrite:
            _refuse_existing(output, vocabulary)
        tokenizer = Tokenizer(vocabulary, lower_case)
        spills = [Spill(work / f"spill-{i}") for i in range(options.num_shards + 1)]
        with ThreadPoolExecutor(workers) as pool:
            counts = _deal_out(TextReader(paths), tokenizer, spills, options, pool, workers)
            if not counts["sentences"]:
                raise InputError("no sentence is left to write", ", ".join(map(str, paths)))
            splits = _write_shards(spills, work, options, pool)
        info = describe(vocabulary, lower_case, options, splits, counts, paths)
        vocabulary.save(work / VOCAB_FILE)
        with open_output(work / tfrecord.INFO_FILE) as file:
            file.write(json.dumps(info, indent=2) + "\n")

        _remove_shards(output)
        shards = [path.name for path in _shards(work)]
        for name in [*shards, VOCAB_FILE, tfrecord.INFO_FILE]:
            os.replace(work / name, output / name)
    return info


def describe(vocabulary, lower_case, options, splits, counts, paths):
    """The description of a data set, a dict as `tfrecord.load_dataset_info` reads it.

    Args:
        vocabulary, lower_case, options, paths: as in `create_tfrecords`.
        splits: as `splits_info` gives it.
        counts: the sums of what `prepare_chunk` counted.
    """
    return {
        "format_version": tfrecord.FORMAT_VERSION,
        "vocab_size": len(vocabulary),
        "vocab_sha256": vocabulary.sha256,
        "lower_case": lower_case,
        **asdict(options),
        "splits": splits,
        "counts": dict(counts),
        "sources": [str(path) for path in paths],
    }


def _cores():
    """How many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # Not on macOS.
    return len(affinity(0)) if affinity else os.cpu_count()


# First pass: text -> spills


def _deal_out(reader, tokenizer, spills, options, pool, workers):
    """Tokenizes the text and deals its sentences out to the spills; returns what was counted."""
    counts = Counter(NO_COUNTS)
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
        for number, lines in enumerate(chunks(reader)):
            pending.append(pool.submit(prepare_chunk, number, lines, tokenizer, options))
            if len(pending) > workers:  # A bounded number in flight, collected in their order.
                collect()
        while pending:
            collect()
    return counts


def chunks(lines):
    """Groups lines (str) into lists that are bounded in lines and in characters."""
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
    shard[heldout(lines, options.heldout_fraction, options.seed)] = options.num_shards

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


def heldout(lines, fraction, seed):
    """Which lines belong to the held-out split, by a hash of their letters and digits; [N] bool."""
    if not fraction:
        return np.zeros(len(lines), bool)
    seeded = hashlib.blake2b(digest_size=8, key=seed.to_bytes(8, "little"))

    def digest(line):
        hasher = seeded.copy()
        hasher.update(line.lower().translate(_NO_PUNCTUATION).encode())
        return hasher.digest()

    hashes = np.frombuffer(b"".join(map(digest, lines)), "<u8")
    return hashes >> 11 < fraction * 2**53  # What a float holds exactly.


_NO_PUNCTUATION = str.maketrans(
    "", "", string.punctuation + string.whitespace + "\u2018\u2019“”\u2013—…"
)


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


# Second pass: spills -> shards


def _write_shards(spills, work, options, pool):
    """Writes every spill as a shard in the work folder; returns what each split holds."""

    def write(index):
        rng = np.random.default_rng([options.seed, 1, index])
        return write_shard(spills[index], work / names[index], rng)

    names = shard_names(options.num_shards)
    shards = pool.map(write, range(len(spills)))
    written = list(tqdm(shards, total=len(spills), unit=" shards", desc="writing"))
    return splits_info(written)


def shard_names(num_shards):
    """The file names of all shards, in the order of `prepare_chunk`: train's, then held-out."""
    train = [tfrecord.shard_name(tfrecord.TRAIN, i, num_shards) for i in range(num_shards)]
    return [*train, tfrecord.shard_name(tfrecord.HELDOUT, 0, 1)]


def splits_info(written):
    """What each split holds, for `describe`; `written` is what `write_shard` gave of each shard."""
    return {
        tfrecord.TRAIN: _split_info(written[:-1]),
        tfrecord.HELDOUT: _split_info(written[-1:]),
    }


def _split_info(shards):
    sentences, tokens, sizes = zip(*shards, strict=True)
    return {
        "shards": len(shards),
        "sentences": sum(sentences),
        "tokens": sum(tokens),
        "shard_bytes": list(sizes),
    }


def write_shard(spill, path, rng):
    """Writes a spill's sentences in random order as one TFRecord file, and removes the spill.

    Returns:
        The numbers of sentences, of tokens and of bytes in the file (ints).

    Raises:
        OSError: the file cannot be written.
    """
    import tensorflow as tf

    sentences = tokens = 0
    try:
        with tf.io.TFRecordWriter(str(path)) as writer:
            for ids, lengths in spill.shuffled(rng):
                for record in tfrecord.encode_records(ids, lengths):
                    writer.write(record)
                sentences += len(lengths)
                tokens += len(ids)
    except tf.errors.OpError as error:
        raise OSError(f"{path}: {error.message.splitlines()[0]}") from None
    return sentences, tokens, path.stat().st_size


# The output folder


@contextlib.contextmanager
def work_folder(output):
    """Makes a fresh folder inside the output folder, which is locked for this process.

    Args:
        output: `Path`, made if missing; what it holds stays as it is.

    Yields:
        `Path`; it is removed at the end, however that comes.

    Raises:
        InputError: another process has the output folder.
    """
    made = not output.exists()
    output.mkdir(parents=True, exist_ok=True)
    work = output / WORK_FOLDER
    try:
        with locked_folder(output):
            if (work / tfrecord.INFO_FILE).exists():  # A run was killed while it put shards there.
                _remove_shards(output)
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            try:
                yield work
            finally:
                shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        error.filename = error.filename or str(output)  # A full disk says only that it is full.
        raise
    finally:
        if made:
            with contextlib.suppress(OSError):  # It goes only if it is empty: nothing written.
                output.rmdir()


def _refuse_existing(output, vocabulary):
    for path in [output / tfrecord.INFO_FILE, *_shards(output)]:
        if path.exists():
            raise InputError("a data set is here; pass --overwrite to replace it", path)
    path = output / VOCAB_FILE
    if path.exists() and Vocabulary.from_file(path).sha256 != vocabulary.sha256:
        raise InputError("another vocabulary is here; pass --overwrite to replace it", path)


def _remove_shards(output):
    """Removes a data set, its description first: what is left of a half-removed one is no set."""
    (output / tfrecord.INFO_FILE).unlink(missing_ok=True)
    for path in _shards(output):
        path.unlink()


def _shards(output):
    return sorted(p for p in output.glob("*.tfrecord") if tfrecord.is_shard_name(p.name))
