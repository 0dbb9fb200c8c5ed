"""Parts of models are regular files: a pipe or a device is refused instead of read for ever."""

import os
from pathlib import Path

import pytest

from tta.checked_files import read_json_object, reading
from tta.data.text.files import check_rereadable
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.data.vocabulary.words import WordVocabulary
from tta.errors import InputError
from tta.scoring.scorers.pooling import PoolingStatistics


def read_weights(path):
    with reading("not readable", path):
        Path(path).read_bytes()


READERS = {
    "config": read_json_object,
    "vocabulary": Vocabulary.from_file,
    "words": WordVocabulary.from_file,
    "word vectors": check_rereadable,
    "pooling": lambda path: PoolingStatistics.load(path, 5, 3),
    "weights": read_weights,
    "checkpoint": lambda path: read_weights(path.with_suffix("")),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pipe_or_a_device_is_refused(reader, kind, tmp_path):
    check_it_is_refused(READERS[reader], kind, tmp_path)


def check_it_is_refused(read, kind, tmp_path):
    path = tmp_path / "file.index"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/null")
    with pytest.raises(InputError, match=r"file.index: .*expected a file, (got|not) a pipe"):
        read(path)


def test_a_missing_file_has_its_own_error(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_json_object(tmp_path / "missing")
