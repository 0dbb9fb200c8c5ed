"""A message names an option as it is written at the user's door."""

import ast
import re
import threading

import pytest

from tests.commands import ROOT
from tta.doors import REQUEST_FIELDS, Door, option_named, through
from tta.errors import InputError
from tta.scoring.server.config import ServerConfig
from tta.scoring.server.forms import ListRequest
from tta.settings import fields

NAMES = [
    (("partial_references", True), "--partial_references", "partial_references=True"),
    (("rank_scores", False), "--norank_scores", "rank_scores=False"),
    (("metric", "cer"), "--metric=cer", "metric='cer'"),
    (("beam_size",), "--beam_size", "beam_size"),
]


@pytest.mark.parametrize(("option", "flag", "argument"), NAMES)
def test_a_command_names_the_flag_and_python_the_argument(option, flag, argument):
    assert option_named(*option) == argument
    with through(Door.COMMAND):
        assert option_named(*option) == flag
        in_thread = []
        thread = threading.Thread(target=lambda: in_thread.append(option_named(*option)))
        thread.start()
        thread.join()
        assert in_thread == [flag]
    with pytest.raises(InputError), through(Door.COMMAND):
        raise InputError("it fails")
    assert option_named(*option) == argument


def test_a_request_names_its_field_or_the_flag_of_the_service():
    with through(Door.COMMAND), through(Door.HTTP):  # tta serve, and a request
        assert option_named("rank_scores", False) == '"rank_scores": false'
        assert option_named("metric", "cer") == '"metric": "cer"'
        assert option_named("weights") == '"weights"'
        assert option_named("long_sentences", "window") == "tta serve --long_sentences=window"


def test_the_fields_of_a_request_are_known():
    assert ListRequest.model_fields.keys() >= REQUEST_FIELDS
    assert not REQUEST_FIELDS & {field.name for field in fields(ServerConfig)}


# Messages of what a command alone does, and texts of other commands that messages advise.
COMMANDS_ALONE = {
    "data/corpus", "data/vocabulary", "data/records", "modeling/training", "modeling/formats",
    "scoring/adaptation", "scoring/exports", "scoring/reranking/writing",
    "scoring/scorers/inference/unfinished.py", "scoring/scorers/options.py",
    "scoring/scorers/scorer.py", "scoring/server/config.py", "scoring/server/guard.py",
    "scoring/server/server.py",
}  # fmt: skip


@pytest.mark.parametrize("room", ["data", "scoring"])
def test_no_message_of_python_and_http_spells_a_flag(room):
    """Docstrings and the help of settings may."""
    for path in (ROOT / room).rglob("*.py"):
        place = path.relative_to(ROOT).as_posix()
        is_help = path.name in ("config.py", "settings.py") or place.endswith("engines/options.py")
        if is_help or any(place.startswith(other) for other in COMMANDS_ALONE):
            continue
        tree = ast.parse(path.read_text())
        documented = [
            node.body[0].value
            for node in ast.walk(tree)
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and node.body
            if isinstance(node.body[0], ast.Expr)
        ]
        spelled = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            if node not in documented and re.search(r"(?<!\w)--[a-z]", node.value)
        ]
        assert not spelled, place
