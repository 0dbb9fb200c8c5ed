"""The models that commands find in their tests: a fake one, or none."""

import pytest

import tta
from tests.fake_model import FakeModel


@pytest.fixture
def model(monkeypatch):
    """The fake model, which `tta.load` returns whatever it is asked for."""
    model = FakeModel()
    monkeypatch.setattr(tta, "load", lambda path=None, **options: model)
    return model


@pytest.fixture
def no_model(monkeypatch):
    """A test that loads a model fails."""
    monkeypatch.setattr(tta, "load", lambda *_, **__: pytest.fail("the model was loaded"))
