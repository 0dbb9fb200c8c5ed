"""mteb takes the model, and gets its vectors and cosines."""

import builtins
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tests.fake_model import FakeModel
from tta.errors import InputError
from tta.integrations.mteb import encoder


def test_mteb_takes_it():
    library = pytest.importorskip("mteb", minversion="2", reason="pip install 'mteb>=2'")
    from mteb.models import EncoderProtocol

    lm = FakeModel()
    model = encoder(lm)
    assert isinstance(model, EncoderProtocol)
    assert isinstance(model.mteb_model_meta, library.models.ModelMeta)
    batches = [{"text": ["a cat", "dogs"]}, {"text": ["a"]}]
    options = {"task_metadata": None, "hf_split": "test", "hf_subset": "default"}
    found = model.encode(batches, **options)
    np.testing.assert_array_equal(found, lm.encode(["a cat", "dogs", "a"]))
    length = np.linalg.norm(found, axis=1)
    np.testing.assert_allclose(
        np.asarray(model.similarity(found, found)), found @ found.T / np.outer(length, length), 1e-5
    )
    other = encoder(lm, lambda texts: np.zeros((len(texts), 2), np.float32))
    assert other.encode(batches, **options).shape == (3, 2)


def test_what_mteb_is_given(monkeypatch):
    """Stand-ins for mteb's classes: the package needs torch."""
    meta = SimpleNamespace(create_empty=lambda about: about)
    cosine = SimpleNamespace(COSINE="cosine")
    modules = {
        "mteb": SimpleNamespace(),
        "mteb.models": SimpleNamespace(),
        "mteb.models.abs_encoder": SimpleNamespace(AbsEncoder=object),
        "mteb.models.model_meta": SimpleNamespace(ModelMeta=meta, ScoringFunction=cosine),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    lm = FakeModel()
    for signature, revision in (("model:a|weights:12ab|vocab:3", "12ab"), ("kenlm", "unknown")):
        lm.signature = signature
        about = {"name": f"tta/{lm.name}", "revision": revision, "similarity_fn_name": "cosine"}
        assert encoder(lm).mteb_model_meta == about
    found = encoder(lm).encode([{"text": ["a cat", "dogs"]}, {"text": ["a"]}], prompt_type=None)
    np.testing.assert_array_equal(found, lm.encode(["a cat", "dogs", "a"]))
    other = encoder(lm, lambda texts: np.ones((len(texts), 2), np.float32))
    assert other.encode([{"text": ["a", "b"]}]).tolist() == [[1.0, 1.0]] * 2


def test_without_mteb_there_is_one_line(monkeypatch):
    for name in [one for one in sys.modules if one.partition(".")[0] == "mteb"]:
        monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def without(name, *rest):
        if name.partition(".")[0] == "mteb":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"^this needs mteb 2 or later: pip install 'mteb>=2'$"):
        encoder(FakeModel())
