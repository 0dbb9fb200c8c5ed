"""What is asked of transformers when a model is loaded; without torch and transformers."""

import ast
from pathlib import Path

import pytest

import tta
from tta.errors import InputError

ROOT = Path(__file__).resolve().parents[4]
FOLDERS = ["benchmarks", "data", "examples", "flags", "modeling", "scoring", "tests", "tta"]


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
