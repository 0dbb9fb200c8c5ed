"""The data set of a training on raw text: made once, in the folder of the run."""

import json
import sys
import time
from pathlib import Path
from typing import Any

from tta.checked_files import read_json_object
from tta.data.corpus.config import MAX_SEQ_LENGTH, LocalCorpusConfig, TextSettings
from tta.data.corpus.output import summary
from tta.data.corpus.prepare import create_tfrecords
from tta.data.text.files import check_rereadable, file_digest, open_output
from tta.data.text.lines import expand_globs
from tta.data.vocabulary.config import VocabularyConfig
from tta.data.vocabulary.train import create_vocab
from tta.errors import InputError
from tta.names import DATASET, VOCABULARY

RECORD = "text.json"  # the settings of the data set, and digests of its text


def make_dataset(
    config: TextSettings, vocab_file: str | None, folder: Path, max_seq_length: int = MAX_SEQ_LENGTH
) -> None:
    """Writes the data set of a text into a folder, by `create_vocab` and `create_tfrecords`.

    The folder gets `text.json`, `vocab.txt`, the shards and, last, `dataset.json`. A complete data
    set of the same text and settings stays as it is. `vocab_file` is used in place of a new
    vocabulary. Longer sentences are cut to `max_seq_length` tokens, begin and end included.

    Raises:
        InputError: the text cannot be read twice, the data set in the folder was made of other text
            or with other settings, or one of the two functions raises it.
    """
    paths = expand_globs(config.input_file or [])
    for path in paths:
        check_rereadable(path)
    settings = config.of_dataset()
    files = {"text": paths, "vocabulary": [vocab_file] if vocab_file is not None else []}
    digests = {what: list(map(file_digest, named)) for what, named in files.items()}
    if (folder / DATASET).exists():
        _check_kept(folder, settings, files, digests)
        return
    folder.mkdir(parents=True, exist_ok=True)
    with open_output(folder / RECORD, overwrite=True) as file:
        file.write(json.dumps(settings | digests, indent=2) + "\n")
    if vocab_file is None:
        vocab_file = str(folder / VOCABULARY)
        vocabulary = create_vocab(
            VocabularyConfig(
                input_file=paths,
                vocab_file=vocab_file,
                vocab_size=config.vocab_size,
                lower_case=config.lower_case,
                strip_accents=config.strip_accents,
                overwrite=True,
            )
        )
        print(f"{vocab_file}: {len(vocabulary)} pieces", file=sys.stderr)
    start = time.monotonic()
    info = create_tfrecords(
        LocalCorpusConfig(
            input_file=paths,
            vocab_file=vocab_file,
            output_dir=str(folder),
            max_seq_length=max_seq_length,
            lower_case=config.lower_case,
            strip_accents=config.strip_accents,
            spoken_fraction=config.spoken_fraction,
            heldout_fraction=config.heldout_fraction,
            overwrite=True,
        )
    )
    print(summary(info, time.monotonic() - start), file=sys.stderr)


def _check_kept(
    folder: Path,
    settings: dict[str, Any],
    files: dict[str, list[str]],
    digests: dict[str, list[str]],
) -> None:
    """Raises InputError if the data set of a folder was made of other files or settings."""
    path = folder / RECORD
    if not path.exists():
        raise InputError("a data set of tta create-tfrecords: pass it as --input_dir", folder)
    before = read_json_object(path)
    for name, value in settings.items():
        if before.get(name) != value:
            began = f"this run began with --{name}={before.get(name)}, not {value}"
            raise InputError(f"{began}; choose another --output_dir", path)
    differences = {"text": "other text", "vocabulary": "another vocabulary"}
    for what, paths in files.items():
        if before.get(what) != digests[what]:
            than = ", ".join(paths) or "that of its text"
            rule = f"this run began with {differences[what]} than {than}"
            raise InputError(f"{rule}; choose another --output_dir", path)
