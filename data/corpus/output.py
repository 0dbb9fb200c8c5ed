"""The output folder of data preparation: shards, description, summary, and a work folder in it."""

import contextlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tta import names
from tta.atomic import locked_folder
from tta.data.corpus.config import CorpusConfig
from tta.data.corpus.spill import Spill
from tta.data.records.dataset import FORMAT_VERSION, HELDOUT, TRAIN, is_shard_name, shard_name
from tta.data.records.examples import encode_records
from tta.data.records.features import DEFAULT_FEATURES
from tta.data.text.files import open_output
from tta.data.vocabulary.load import AnyVocabulary
from tta.doors import option_named
from tta.errors import InputError

WORK_FOLDER = ".tta-create-tfrecords.tmp"

# The settings that are copied into the description.
_SETTINGS = (
    *("num_shards", "max_seq_length", "merge_sentences", "min_tokens", "long_sentences"),
    *("heldout_fraction", "spoken_fraction", "normalization", "seed"),
)


def shard_names(num_shards: int) -> list[str]:
    """The file names of all shards, in the order of `prepare_chunk`: train, then held-out."""
    train = [shard_name(TRAIN, i, num_shards) for i in range(num_shards)]
    return [*train, shard_name(HELDOUT, 0, 1)]


def write_shard(spill: Spill, path: Path, config: CorpusConfig, index: int) -> tuple[int, int, int]:
    """Writes the sentences of a spill in random order as one TFRecord file; removes the spill.

    The order depends on the seed of the config and on `index`, the number of the shard. Returns the
    numbers of sentences, tokens and bytes in the file. Raises `OSError` if writing fails.
    """
    import tensorflow as tf

    rng = np.random.default_rng([config.seed, 1, index])
    sentences = tokens = 0
    try:
        with tf.io.TFRecordWriter(str(path)) as writer:
            for ids, lengths in spill.shuffled(rng):
                for record in encode_records(ids, lengths):
                    writer.write(record)
                sentences += len(lengths)
                tokens += len(ids)
    except tf.errors.OpError as error:
        raise OSError(f"{path}: {error.message.splitlines()[0]}") from None
    return sentences, tokens, path.stat().st_size


def describe(
    vocabulary: AnyVocabulary,
    config: CorpusConfig,
    written: Sequence[tuple[int, int, int]],
    counts: Mapping[str, int],
    paths: Iterable[str],
) -> dict[str, Any]:
    """Makes the description of a data set, which `load_dataset_info` reads.

    `written` are the results of `write_shard` for each shard, in the order of `shard_names`,
    `counts` the sums of the counts of `prepare_chunk`, and `paths` the text files.
    """

    def split(shards):
        sentences, tokens, sizes = zip(*shards, strict=True)
        return {
            "shards": len(shards),
            "sentences": sum(sentences),
            "tokens": sum(tokens),
            "shard_bytes": list(sizes),
        }

    return {
        "format_version": FORMAT_VERSION,
        "vocab_size": len(vocabulary),
        "vocab_sha256": vocabulary.sha256,
        "tokenizer": config.tokenizer,
        "lower_case": bool(config.lower_case),
        **{name: getattr(config, name) for name in _SETTINGS},
        "features": DEFAULT_FEATURES,
        "splits": {TRAIN: split(written[:-1]), HELDOUT: split(written[-1:])},
        "counts": dict(counts),
        "sources": list(paths),
    }


def check_replaceable(found: Iterable[str], folder: str, vocabulary: AnyVocabulary) -> None:
    """Checks that writing a data set to a folder would not replace another one.

    `found` are the names of its files. Raises InputError if the folder has a data set, or a
    vocabulary that differs from `vocabulary`.
    """
    for name in sorted(found):  # the vocabulary is last
        path = os.path.join(folder, name)
        if name == names.DATASET or is_shard_name(name):
            raise InputError(
                f"a data set is here; pass {option_named('overwrite', True)} to replace it", path
            )
        if name == names.VOCABULARY and type(vocabulary).from_file(path) != vocabulary:
            raise InputError(
                f"another vocabulary is here; pass {option_named('overwrite', True)} to replace it",
                path,
            )


@contextlib.contextmanager
def work_folder(output: Path) -> Iterator[Path]:
    """Locks the output folder, which is made if missing, and yields a fresh folder inside it.

    The work folder is removed at the end, also after an error. Raises InputError if another process
    is writing to the output folder.
    """
    is_new = not output.exists()
    output.mkdir(parents=True, exist_ok=True)
    work = output / WORK_FOLDER
    try:
        with locked_folder(output):
            if (work / names.DATASET).exists():  # A run was killed while it moved its shards.
                remove_shards(output)
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            try:
                yield work
            finally:
                shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        error.filename = error.filename or str(output)  # "No space left" does not say where.
        raise
    finally:
        if is_new:
            with contextlib.suppress(OSError):  # Only an empty folder can be removed.
                output.rmdir()


def publish(
    work: Path, output: Path, vocabulary: AnyVocabulary, description: Mapping[str, Any]
) -> None:
    """Moves the shards in a work folder to the output, in place of an older data set.

    `description`, from `describe`, is the last file to get its name.
    """
    vocabulary.save(work / names.VOCABULARY)
    with open_output(work / names.DATASET) as file:
        file.write(json.dumps(description, indent=2) + "\n")
    remove_shards(output)
    shards = shard_names(description["num_shards"])
    for name in [*shards, names.VOCABULARY, names.DATASET]:
        os.replace(work / name, output / name)


def remove_shards(output: Path) -> None:
    """Removes a data set. The description is removed first: without it, the set is incomplete."""
    (output / names.DATASET).unlink(missing_ok=True)
    for path in output.glob("*.tfrecord"):
        if is_shard_name(path.name):
            path.unlink()


# A larger share of unknown tokens is pointed out.
MANY_UNKNOWN = 0.02


def summary(info: dict[str, Any], seconds: float) -> str:
    """Says what was written, changed and dropped; `info` is the contents of dataset.json."""
    counts = info["counts"]
    unit = "records of merged sentences" if info.get("merge_sentences") else "sentences"
    lines = [
        f"{name}: {split['sentences']:,} {unit}, {split['tokens']:,} tokens, "
        f"{split['shards']} shard{'s' * (split['shards'] > 1)}"
        for name, split in info["splits"].items()
    ]
    lines.append(
        f"of {counts['lines']:,} lines {counts['spoken']:,} in spoken form, "
        f"{counts['truncated']:,} truncated to {info['max_seq_length']} tokens, "
        f"{counts['dropped_long']:,} dropped as longer, "
        f"{counts['dropped_short']:,} dropped with fewer than {info['min_tokens']} pieces"
    )
    unknown = counts["unknown"] / max(1, counts["tokens"])
    if unknown > MANY_UNKNOWN:
        lines.append(
            f"note: {100 * unknown:.1f} % of the tokens are words that the vocabulary cannot spell"
        )
    lines.append(f"{seconds:.0f} s, {counts['tokens'] / seconds:,.0f} tokens/s")
    return "\n".join(lines)
