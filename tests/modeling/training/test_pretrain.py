"""pretrain(config) from Python: which objectives train which families."""

import pytest

from tests.modeling.tiny import tiny_config, training_config
from tests.tiny_dataset import sentences, write_dataset
from tta.errors import InputError
from tta.modeling.objectives import OBJECTIVES
from tta.modeling.objectives.lae import LanguageAutoencoding
from tta.modeling.training.pretrain import pretrain


@pytest.mark.parametrize("model_types", [("tta",), ("bilm",)])
def test_a_new_objective_names_the_families_that_it_can_train(tmp_path, monkeypatch, model_types):
    class New(LanguageAutoencoding):
        pass

    New.model_types = model_types
    monkeypatch.setitem(OBJECTIVES, "new", New)
    write_dataset(tmp_path / "data", sentences(9))
    tiny_config(num_hidden_layers=1).to_json(tmp_path / "config.json")
    config = training_config(
        input_dir=str(tmp_path / "data"),
        config_file=str(tmp_path / "config.json"),
        output_dir=str(tmp_path / "out"),
        objective="new",
        num_train_steps=1,
    )
    if model_types == ("tta",):
        result = pretrain(config)
        assert (result.finished, result.step, result.evaluation) == (True, 1, None)
        assert (result.directory / "model.weights.h5").exists()
        return
    with pytest.raises(InputError, match="model_type is 'tta', which --objective=lae trains, not"):
        pretrain(config)
