"""A file of vectors is a regular file, as every part of a model."""

import pytest

from tests.data.vocabulary.test_regular_files import check_it_is_refused
from tta.papers.semfit.vectors.target_vectors import map_vectors


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pipe_or_a_device_is_refused(kind, tmp_path):
    check_it_is_refused(map_vectors, kind, tmp_path)
