"""The settings of a run: the flags stay as they are, and each part has only its own."""

from pathlib import Path

import pytest

from tests.commands import run_command
from tta.errors import InputError
from tta.modeling.config.training import LossSettings
from tta.modeling.training.config import (
    LoopSettings,
    OptimizerSettings,
    PretrainingConfig,
    TrainingSettings,
)
from tta.settings import fields

HELP = Path(__file__).resolve().parents[2] / "flags/pretraining_help.txt"


def names(config):
    return {field.name for field in fields(config)}


def test_the_help_is_that_of_earlier_versions(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert run_command("tta-pretrain", "--help").stdout == HELP.read_text()


def test_a_config_is_all_of_its_parts():
    parts = LoopSettings, OptimizerSettings, LossSettings
    assert all(issubclass(PretrainingConfig, part) for part in parts)
    common = names(LoopSettings) & names(OptimizerSettings) & names(LossSettings)
    assert common == {"num_train_steps"}
    assert not any(name.endswith(("_dir", "_file")) for name in names(TrainingSettings))


@pytest.mark.parametrize("objective", ["ae", "mlm"])
def test_a_threshold_of_the_kl_needs_a_variational_objective(objective):
    files = {"input_dir": "a", "config_file": "b", "output_dir": "c"}
    rule = f"kl_threshold is for vae and full_vae, not {objective}"
    with pytest.raises(InputError, match=rule):
        PretrainingConfig(**files, objective=objective, kl_threshold=0.5)
    assert PretrainingConfig(**files, objective="full_vae", kl_threshold=0.5).kl_threshold == 0.5


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({}, "^set input_dir, a data set, or input_file, raw text$"),
        ({"input_dir": "a", "input_file": ["b"]}, "^set input_dir, a data set, or input_file"),
        ({"input_dir": "a", "vocab_size": 9}, "vocab_size has no meaning with input_dir"),
        (
            {"input_file": ["a"], "distribution_strategy": "multi_worker_mirrored"},
            "multi_worker_mirrored needs input_dir: tta create-tfrecords makes one data set",
        ),
    ],
)
def test_a_run_has_a_data_set_or_raw_text(changes, rule):
    files = {"config_file": "b", "output_dir": "c"}
    assert PretrainingConfig(**files, input_file=["a"], vocab_size=9).input_dir is None
    with pytest.raises(InputError, match=rule):
        PretrainingConfig(**files, **changes)


def test_a_batch_is_counted_in_sentences_or_in_tokens():
    files = {"input_dir": "a", "config_file": "b", "output_dir": "c"}
    assert PretrainingConfig(**files, train_batch_size=64).train_batch_size == 64
    with pytest.raises(InputError, match=r"^set train_batch_size or train_batch_tokens, not both$"):
        PretrainingConfig(**files, train_batch_size=64, train_batch_tokens=99)


def test_a_warm_up_as_long_as_the_run_is_refused():
    LoopSettings(num_train_steps=5)  # it has no warm-up
    with pytest.raises(InputError, match="num_warmup_steps must be smaller than num_train_steps"):
        OptimizerSettings(num_train_steps=5, num_warmup_steps=5)
