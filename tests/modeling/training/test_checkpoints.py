"""A finished model is not replaced by a training that begins anew."""

import pytest

from tta.errors import InputError
from tta.modeling.training.checkpoints import check_not_replaced

pytestmark = pytest.mark.tensorflow


def test_a_model_whose_checkpoints_are_gone_is_not_replaced(tmp_path):
    folder = tmp_path / "a [1]" / "checkpoints"
    folder.mkdir(parents=True)
    check_not_replaced(folder.parent)  # a new run
    (folder / "ckpt-7.safetensors").touch()
    (folder.parent / "model.weights.h5").touch()
    check_not_replaced(folder.parent)  # a finished one, which may be made longer
    (folder / "ckpt-7.safetensors").unlink()
    with pytest.raises(InputError, match=r"weights\.h5: .*checkpoints of its training are gone"):
        check_not_replaced(folder.parent)
    folder.rmdir()
    with pytest.raises(InputError, match="begin at step 0 and replace it"):
        check_not_replaced(folder.parent)


def test_a_run_of_an_earlier_version_is_not_begun_anew(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "ckpt-9.index").touch()
    with pytest.raises(InputError, match=r"ckpt-9\.index: a checkpoint of tta-lm 0\.2 or earlier"):
        check_not_replaced(tmp_path)
