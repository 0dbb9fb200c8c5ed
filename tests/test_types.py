"""Pyright finds no error in the package, and every import resolves without installing it."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import ROOT


def pyright(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "pyright", *arguments], cwd=ROOT, capture_output=True, text=True
    )


@pytest.mark.slow
def test_pyright():
    version = pyright("--version")  # downloads pyright the first time
    if version.returncode:
        pytest.skip(f"pyright cannot run: {version.stderr.strip()[-200:]}")
    done = pyright("-p", "pyproject.toml", "--pythonpath", sys.executable, "--outputjson")
    report = json.loads(done.stdout)
    found = [
        f"{Path(one['file']).relative_to(ROOT)}:{one['range']['start']['line'] + 1}: "
        f"{one['message']} ({one.get('rule')})"
        for one in report["generalDiagnostics"]
        if one["severity"] == "error"
    ]
    assert not found, "\n".join(found)
    assert report["summary"]["filesAnalyzed"] > 100


USER_SCRIPT = """
import tta

lm = tta.load("cloze-base", precision="bfloat16", batch_tokens=4096)
reveal_type(lm)
reveal_type(lm.score(["a"]))
lm.model({"input_ids": [[1]], "padding_mask": [[True]]})
lm.tokenizer.encode(["a"])
reveal_type(lm.score_tokens(iter(["a"])))
reveal_type(lm.perplexity(("a", "b")))
reveal_type(lm.encode(["a"], pooling="sif"))
reveal_type(lm.similarity(["a"], ["b"]))
weights = tta.tune([["a", "b"]], ["a"], [[-1, -2.5]], lm)
reveal_type(weights)
reveal_type(tta.rerank([["a", "b"]], [[-1, -2.5]], [lm, "cloze-base"], weights=weights))
reveal_type(tta.rerank(["a", "b"], [-1, -2.5]))
from tta.scoring.scorers.options import ScoreOptions
from tta.scoring.scorers.text_model import TextModel
text_model = TextModel.from_directory("path", ScoreOptions())
reveal_type(text_model.score(["a"]))
reveal_type(text_model.score_with_counts(["a"]))
tta.load(precison="bfloat16")
tta.load(batch_tokens="4096")
tta.load(precision="float16")
"""
REVEALED = [
    '"lm" is "Scorer"',
    '"lm.score(["a"])" is "ndarray[',
    '"lm.score_tokens(iter(["a"]))" is "list[TokenScores]"',
    '"lm.perplexity(("a", "b"))" is "ndarray[',
    '"lm.encode(["a"], pooling="sif")" is "ndarray[',
    '"lm.similarity(["a"], ["b"])" is "ndarray[',
    '"weights" is "RerankWeights"',
    'weights=weights)" is "list[RerankedList]"',
    '"tta.rerank(["a", "b"], [-1, -2.5])" is "RerankedList"',
    '"text_model.score(["a"])" is "ndarray[',
    '"text_model.score_with_counts(["a"])" is "tuple[ndarray[',
]


@pytest.mark.slow
def test_the_types_that_a_user_sees(tmp_path):
    if pyright("--version").returncode:
        pytest.skip("pyright cannot run")
    (tmp_path / "script.py").write_text(USER_SCRIPT)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT)]}))
    done = pyright("-p", str(tmp_path), "--pythonpath", sys.executable, "--outputjson")
    found = json.loads(done.stdout)["generalDiagnostics"]
    revealed = [one["message"] for one in found if one["severity"] == "information"]
    assert len(revealed) == len(REVEALED)  # pyright skips code after a call that never returns
    for expected, message in zip(REVEALED, revealed, strict=True):
        assert expected in message
    errors = [one["message"] for one in found if one["severity"] == "error"]
    assert len(errors) == 3  # in the last three lines
    assert errors[0] == 'No parameter named "precison"'
    assert '"batch_tokens"' in errors[1]
    assert '"precision"' in errors[2]


def public_parameters(path):
    """Yields (name, annotation or None) of each parameter of public functions and methods."""
    bodies = [ast.parse(path.read_text(encoding="utf-8")).body]
    while bodies:
        for node in bodies.pop():
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                bodies.append(node.body)
            elif isinstance(node, ast.FunctionDef) and (
                node.name == "__init__" or not node.name.startswith("_")
            ):
                arguments = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
                for one in arguments:
                    if one.arg not in ("self", "cls"):
                        annotation = one.annotation and ast.unparse(one.annotation)
                        yield f"{path.relative_to(ROOT)}: {node.name}({one.arg})", annotation


@pytest.mark.parametrize("room", ["modeling", "papers"])
def test_three_quarters_of_the_public_parameters_of_models_have_a_type(room):
    paths = [path for path in (ROOT / room).rglob("*.py") if "tests" not in path.parts]
    found = [one for path in paths for one in public_parameters(path)]
    loose = sorted(name for name, annotation in found if annotation in (None, "Any"))
    assert len(found) > 300
    assert len(loose) <= 0.27 * len(found), "\n".join([f"{len(loose)} of {len(found)}", *loose])
