"""Fixtures that tests of several rooms share."""

import dataclasses
import functools
import gc
import os
import signal
from importlib.util import find_spec
from pathlib import Path

import pytest

import tta
from benchmarks import evaluation_data
from benchmarks.report_picture import launch
from tests.fake_model import FakeModel
from tta.scoring.scorers.options import ScoreOptions

# Tests compile many small functions, so LLVM's optimizations take longer than they save.
# TensorFlow, which nothing above imports, reads this when it is loaded.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

# Commands that tests start end on a hang-up, also if the tests run under nohup.
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


# Of all that is imported nothing is garbage: looking through it again and again takes seconds.
# So does looking through all models and graphs of earlier tests, now once per 2.5 million objects.
gc.disable()
gc.set_threshold(5000, 10, 50)


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


MARKED = "pytestmark = pytest.mark.tensorflow", "pytestmark = [pytest.mark.tensorflow"
# They need what training needs, too. As the ground that all models stand on, they run wherever they
# can; so do those of the plan of trainings.
GROUND = (
    "modeling/kits/",
    "modeling/encoders/",
    "modeling/training/test_pretrain.py",
    "benchmarks/test_half_hour.py",
)
HAS_TENSORFLOW = find_spec("tensorflow") is not None


def pytest_configure(config):
    # pytest-xdist would hand out the files with the most tests first. These are not the slowest.
    config.option.loadscopereorder = False
    named = any(".py" in argument for argument in config.invocation_params.args)
    if not HAS_TENSORFLOW:
        config.option.markexpr = f"({config.option.markexpr}) and not tensorflow"
    elif named:  # A file that is named runs with all tests that its environment allows.
        config.option.markexpr = config.option.markexpr.replace(" and not tensorflow", "")


def pytest_ignore_collect(collection_path, config):
    """A file that is marked as a whole is not even imported where its tests are not selected."""
    if collection_path.suffix != ".py" or "not tensorflow" not in config.option.markexpr:
        return None
    if not HAS_TENSORFLOW and any(f"tests/{name}" in collection_path.as_posix() for name in GROUND):
        return True
    lines = collection_path.read_text(encoding="utf-8").splitlines()
    return any(line.startswith(MARKED) for line in lines) or None


def pytest_collection_modifyitems(items):
    """Sorts the files of `data`, which take a second each, to the end: all workers end together."""
    items.sort(key=lambda item: "tests/data/" in item.path.as_posix())


@pytest.fixture(scope="session")
def tta_data() -> Path:
    """The folder of the evaluation data; skips the test if it is missing."""
    folder = evaluation_data.FOLDER
    if not folder.is_dir():
        pytest.skip(f"needs the evaluation data: no folder {folder} (set TTA_DATA)")
    return folder


@pytest.fixture
def loaded(monkeypatch):
    """The models that `tta.load` gave, in order; from now on it gives fake models."""
    models = []

    def load(name=None, **options):
        models.append(FakeModel(name, **options))
        return models[-1]

    monkeypatch.setattr(tta, "load", load)
    return models


@pytest.fixture(scope="module")
def browser():
    """Chromium, by Playwright (CONTRIBUTING.md)."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = launch(started)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def models_are_loaded_once():
    """`tta.load` returns the same model for the same arguments: most of its time is tracing.

    For files whose tests change neither a model nor its folder after the first `tta.load`.
    """
    load = tta.load

    @functools.cache
    def loaded(model, options):
        return load(model, **dataclasses.asdict(options))

    def load_once(model=None, **options):
        return loaded(model if model is None else os.fspath(model), ScoreOptions(**options))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tta, "load", load_once)
        yield
