"""What is asked of transformers when a model is loaded; without torch and transformers."""

import ast
import sys
from pathlib import Path
from types import ModuleType

import pytest

import tta
from tta.errors import InputError

ROOT = Path(__file__).resolve().parents[4]
FOLDERS = ["benchmarks", "data", "examples", "flags", "modeling", "scoring", "tests", "tta"]
AUTO = ("AutoConfig", "AutoTokenizer", "AutoModelForMaskedLM", "AutoModelForCausalLM")


@pytest.fixture
def asked(monkeypatch):
    """The calls of `from_pretrained`; that of the model fails as one with custom code."""
    calls = []

    def stand_in(name):
        def from_pretrained(model, **given):
            calls.append((name, given.get("trust_remote_code")))
            if "ForCausalLM" in name:
                raise ValueError("It contains custom code.\nSet `trust_remote_code=True`.")
            made = ModuleType(name)
            made.architectures, made.model_type = ["ToyForCausalLM"], "toy"
            return made

        made = ModuleType(name)
        made.from_pretrained = from_pretrained
        return made

    torch, transformers = ModuleType("torch"), ModuleType("transformers")
    torch.__version__, transformers.__version__, torch.float32 = "2.9", "5.0", "float32"
    for name in AUTO:
        setattr(transformers, name, stand_in(name))
    logging = ModuleType("logging")
    logging.get_verbosity = lambda: 30
    logging.disable_progress_bar = logging.set_verbosity_error = lambda: None
    logging.set_verbosity = lambda level: None
    transformers.utils = ModuleType("utils")
    transformers.utils.logging = logging
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "transformers", transformers)
    return calls


def test_no_code_of_a_model_is_run(asked):
    with pytest.raises(InputError) as caught:
        tta.load("transformers:custom")
    assert asked == [(name, False) for name in AUTO if "Masked" not in name]
    assert str(caught.value) == "custom: the model needs code from its folder, which is never run"


def test_every_call_says_whether_it_runs_code():
    found = 0
    for path in (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "from_pretrained" in text else ():
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if not is_call or node.func.attr != "from_pretrained":
                continue
            values = [word.value.value for word in node.keywords if word.arg == "trust_remote_code"]
            assert values == [False], f"{path}:{node.lineno}"
            found += 1
    assert found >= 5


@pytest.mark.parametrize("model", [None, "small", "kenlm:lm.arpa", "cosine:folder", "random:small"])
def test_a_begin_token_is_for_causal_models_of_transformers(model):
    with pytest.raises(InputError) as caught:
        tta.load(model, begin_token="<s>")
    assert "only a causal model, transformers:NAME, has a begin_token" in str(caught.value)
