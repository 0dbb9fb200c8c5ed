"""Flags and records of BERT's and the original T-TA's scripts get a line that names ours."""

import importlib
import re

import pytest

from tests.commands import ROOT, run_command
from tta.commands import COMMANDS
from tta.help import THEIR_FLAGS as FLAGS
from tta.settings import fields

PAGE = (ROOT / "docs/tutorials/from_bert.md").read_text(encoding="utf-8")


def flags_of(command):
    """The flags of a command."""
    configs = importlib.import_module(COMMANDS[f"tta-{command}"]).run.configs
    return {field.name for config in configs for field in fields(config)}


@pytest.mark.parametrize("flag", FLAGS)
def test_the_answer_names_a_flag_that_a_command_has(flag):
    named = re.findall(r"--(\w+) of tta ([\w-]+)(?: and tta ([\w-]+))?", FLAGS[flag])
    for ours, *commands in named:
        for command in filter(None, commands):
            assert ours in flags_of(command), (ours, command)
    every = set().union(*(flags_of(name.removeprefix("tta-")) for name in COMMANDS))
    found = set(re.findall(r"--(\w+)", FLAGS[flag]))
    assert found
    assert found <= every


@pytest.mark.parametrize("flag", FLAGS)
def test_the_page_has_the_same_answer(flag):
    (row,) = (line for line in PAGE.splitlines() if re.match(rf"\|.*`--{flag}`.*\|.*\|$", line))
    ours = set(re.findall(r"`--(\w+)", row.split("|")[2]))
    assert ours == set(re.findall(r"--(\w+)", FLAGS[flag]))


@pytest.mark.parametrize(
    ("command", "given", "ours", "why"),
    [
        ("pretrain", ["--bert_config_file=c.json"], "--config_file of tta pretrain", "a value"),
        ("pretrain", ["--max_seq_length", "128"], "--max_seq_length of tta create", "apart"),
        ("pretrain", ["--do_train"], "tta pretrain trains", "a switch"),
        ("pretrain", ["--nodo_eval"], "tta pretrain trains", "a switch that is off"),
        ("pretrain", ["-use_tpu=False"], "--distribution_strategy of", "one dash"),
        ("create-tfrecords", ["--do_lower_case=True"], "--lower_case of tta", "of the data"),
        ("create-tfrecords", ["--random_seed=12345"], "--seed of tta create", "of the data"),
        ("create-tfrecords", ["--output_file=a.tfrecord"], "--output_dir of tta", "near to ours"),
        ("sts", ["--model_checkpoint=a/model.ckpt"], "--model takes the folder", "of T-TA"),
        ("classify", ["--task_name=CoLA"], "--task of tta classify", "of fine-tuning"),
        (
            "rerank",
            ["--input_file=a"],
            "--input_dir of tta pretrain, --nbest_file of tta rerank",
            "of no script",
        ),
    ],
)
def test_their_flag_is_answered_in_one_line(command, given, ours, why):
    ended = run_command(f"tta-{command}", *given)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
    assert f"is a flag of BERT's or the original T-TA's scripts: here, {ours}" in ended.stderr, why


GONE = [  # command, flag, what to do instead
    ("export", "--reduction=mean", "a client reranks in five lines, see docs/serving.md"),
    ("score", "--shard=3/8", "split -n l/4 cuts a file into parts, and cat joins their scores"),
    ("score", "--merge_shards=8", "split -n l/4 cuts a file into parts, and cat joins their sc"),
    ("export", "--nokeep_non_words", "a client reranks in five lines, see docs/serving.md"),
]


@pytest.mark.parametrize(("command", "flag", "instead"), GONE)
def test_a_flag_that_is_gone_says_what_to_do_instead(command, flag, instead):
    ended = run_command(f"tta-{command}", flag)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
    assert ended.stderr.startswith(f"error: {flag.partition('=')[0]} is gone: ")
    assert instead in ended.stderr


@pytest.mark.parametrize("flag", ["--no_such_flag=1", "--nosuch", "--no", "--bert_config=x"])
def test_other_flags_are_unknown_as_before(flag):
    ended = run_command("tta-pretrain", flag)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert "Unknown command line flag" in ended.stderr
    assert "scripts" not in ended.stderr


@pytest.mark.parametrize(
    "name", ["a/tf_examples.tfrecord", "a", "a/*"], ids=["a file", "a folder", "a pattern"]
)
def test_their_records_are_refused_with_the_command_that_makes_ours(tmp_path, name):
    pytest.importorskip("google_crc32c", reason="pip install '.[train]'")
    (tmp_path / "a").mkdir()
    (tmp_path / "a/tf_examples.tfrecord").write_bytes(b"\x10" + bytes(30))
    given = {"input_dir": tmp_path / name, "config_file": "c", "output_dir": tmp_path / "run"}
    ended = run_command("tta-pretrain", *(f"--{flag}={value}" for flag, value in given.items()))
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (1, "", 1)
    assert ": tta create-tfrecords --input_file=TEXT --vocab_file=FILE" in ended.stderr
    assert not (tmp_path / "run").exists()
