"""Training on a machine that is lent for minutes: pieces of files, plans, and runs that are cut."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import ROOT, half_hour
from tta.data.records.arrays import ArrayBatches
from tta.data.records.features import ModelInputs
from tta.errors import InputError
from tta.modeling.formats.run_checkpoint import checkpoint_steps, read_checkpoint


@pytest.fixture
def flags(monkeypatch, tmp_path):
    values = SimpleNamespace(pieces=tmp_path / "pieces", work_dir=tmp_path / "work")
    monkeypatch.setattr(half_hour, "FLAGS", values)
    return values


def cut(flags, size=2 << 20):
    """Two files in three pieces; returns their contents."""
    contents = {f"runs/mine/{n}": np.random.default_rng(n).bytes(size // 2) for n in range(2)}
    given = {}
    for name, content in contents.items():
        given[name] = flags.pieces.parent / Path(name).name
        given[name].write_bytes(content)
    half_hour.cut(given, flags.pieces, 1)
    return contents


def test_pieces_are_put_together(flags):
    contents = cut(flags)
    pieces = sorted(flags.pieces.glob("piece-*"))
    assert [path.stat().st_size <= 1 << 20 for path in pieces] == [True] * 3
    half_hour.unpack()
    for name, content in contents.items():
        assert (flags.work_dir / name).read_bytes() == content
    cut(flags, 1000)  # fewer pieces: none of the earlier ones is left
    assert len([*flags.pieces.glob("piece-*")]) == 1
    with pytest.raises(InputError, match=r"work/runs/mine: it is there already"):
        half_hour.unpack()


@pytest.mark.parametrize(
    ("harm", "what"),
    [
        (lambda path: path.unlink(), "missing"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "damaged"),  # cut short
        (lambda path: path.write_bytes(b"x" * (1 << 20)), "damaged"),
    ],
)
def test_nothing_is_written_if_a_piece_is_not_whole(flags, harm, what):
    cut(flags)
    harm(flags.pieces / "piece-001")
    with pytest.raises(InputError, match=f"piece-001: this piece is {what}$"):
        half_hour.unpack()
    assert not flags.work_dir.exists()


def test_tokens_per_step_are_those_of_the_batches(tmp_path):
    lengths = np.random.default_rng(0).integers(3, 41, 500)
    batches = ArrayBatches(
        np.ones(lengths.sum(), np.int64), lengths, 200, None, 40, 0, ModelInputs({})
    )
    wanted = np.mean([batch["padding_mask"].sum() for batch in batches])
    (tmp_path / "dataset.json").write_text('{"max_seq_length": 40}')
    counts = {int(n): int((lengths == n).sum()) for n in set(lengths)}
    (tmp_path / "lengths.json").write_text(json.dumps(counts))
    assert half_hour.tokens_per_step(tmp_path, 200) == pytest.approx(wanted)


def test_the_shipped_plan(tmp_path):
    """Each run has known flags, and a trial's flags are taken over if it is better."""
    from tta.modeling.training.config import PretrainingConfig

    for name in ("single", "mixed"):
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        (folder / "dataset.json").write_text('{"max_seq_length": 128}')
        (folder / "lengths.json").write_text('{"12": 10000, "40": 10000}')
    plan = half_hour.Plan(ROOT / "benchmarks/half_hour.json", tmp_path)
    trials = [name for name in plan.runs if name.startswith("trial")]
    plan.state = {name: {"nll": 3.0} for name in trials}
    plan.state["trial-weight-decay"]["nll"] = 2.98
    plan.state["trial-neighbours"]["nll"] = 2.995  # not by the margin
    for name in plan.runs:
        steps, decay = plan.steps(name)
        given = plan.flags(name)
        PretrainingConfig(**given, num_train_steps=steps, num_decay_steps=decay, output_dir="x")
        assert (ROOT / given["config_file"]).exists()
    assert plan.flags("small") == plan.flags("small-constant")
    assert plan.flags("small")["weight_decay"] == 0.1
    assert plan.flags("small")["input_dir"] == "single"
    assert plan.steps("small-constant")[1] == 0
    steps, constant = plan.steps("small")[0], plan.steps("small-constant")[0]
    assert plan.steps("small")[1] == steps - constant
    # Where there was no time for all of it, "tokens" may become fewer than those of the run.
    plan.state["small-constant"] = {"finished": constant + 9}
    assert plan.is_done("small-constant")
    assert plan.steps("small")[1] == steps - constant - 9
    assert not plan.is_done("small")


STEPS = 200  # of the constant part; the whole run has half as many more
PLAN = {
    "flags": {
        "input_dir": "data",
        "optimizer": "muon",
        "learning_rate": 0.01,
        "num_warmup_steps": 5,
        "train_batch_tokens": 100,
        "save_checkpoints_steps": 5,
        "log_steps": 5,
    },
    "runs": [
        {"name": "constant", "group": 1, "steps": STEPS, "decay": 0},
        {"name": "other", "group": 1, "steps": STEPS, "flags": {"seed": 1}},
        {"name": "whole", "group": 2, "steps": 3 * STEPS // 2, "from": "constant"},
    ],
}
UNCUT = PLAN | {"runs": [{"name": "whole", "group": 1, "steps": 3 * STEPS // 2, "decay": 1 / 3}]}


@pytest.mark.slow
def test_a_run_that_is_cut_brought_back_and_goes_on_ends_with_the_same_bits(tmp_path):
    pytest.importorskip("jax")
    from tests.modeling.tiny import tiny_config
    from tests.tiny_dataset import sentences, write_dataset

    train = [one for one in sentences(300) if len(one) in (6, 12)]  # one shape
    write_dataset(tmp_path / "data", train, [one for one in train if len(one) == 6])
    tiny_config(num_hidden_layers=1, hidden_dropout_prob=0.2).to_json(tmp_path / "config.json")
    for name, plan in (("plan", PLAN), ("uncut", UNCUT)):
        plan = plan | {"flags": plan["flags"] | {"config_file": str(tmp_path / "config.json")}}
        (tmp_path / f"{name}.json").write_text(json.dumps(plan))
    here, there, uncut = (tmp_path / name for name in ("here", "there", "uncut"))
    cache = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "compiled")}
    cache |= {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    xla = cache | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_backend_optimization_level=0"}

    def start(command, *options):
        line = [sys.executable, "-m", "benchmarks.half_hour", command, *options]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(
            line, cwd=ROOT, env=os.environ | xla, text=True, start_new_session=True, **pipes
        )

    def end(process, status=0):
        text = process.communicate()[0]
        assert process.returncode == status, text
        return text

    def run(work, *options, plan="plan"):
        return start("run", f"--work_dir={work}", f"--plan={tmp_path / plan}.json", *options)

    def progress(work):
        folders = [work / "runs" / name / "checkpoints" for name in ("constant", "other")]
        return [max(checkpoint_steps(folder), default=0) for folder in folders]

    def wait(work, steps):
        until = time.monotonic() + 600
        while min(progress(work)) < steps:
            assert time.monotonic() < until
            time.sleep(0.02)

    end(start("pack", f"--data={tmp_path / 'data'}", f"--pieces={tmp_path / 'carried'}"))
    for work in (here, there, uncut):
        end(start("unpack", f"--pieces={tmp_path / 'carried'}", f"--work_dir={work}"))

    cut = run(here)
    wait(here, 10)
    cut.send_signal(signal.SIGTERM)
    end(cut, 143)
    at_sigterm = progress(here)
    assert min(at_sigterm) >= 10
    assert max(at_sigterm) < STEPS
    cut = run(here)
    wait(here, max(at_sigterm) + 10)
    os.killpg(cut.pid, signal.SIGKILL)
    end(cut, -signal.SIGKILL)
    text = end(
        start("run", f"--work_dir={here}", f"--plan={tmp_path}/plan.json", "--seconds=1"), 143
    )
    assert f" of {STEPS} steps" in text

    brought = tmp_path / "brought"
    options = f"--work_dir={here}", f"--plan={tmp_path}/plan.json", f"--output_dir={brought}"
    end(start("bring", *options, "--part=0", "--mib=1"))
    names = json.loads((brought / "sums.json").read_text())
    for part in range(1, -(-len(names) // 4)):
        end(start("bring", *options, f"--part={part}"))
    assert "--part=99, but the parts are 0 to" in end(start("bring", *options, "--part=99"), 1)
    end(start("unpack", f"--pieces={brought}", f"--work_dir={there}"))
    assert progress(there) == progress(here)

    end(run(there))
    end(run(uncut, plan="uncut"))
    path = f"runs/whole/checkpoints/ckpt-{3 * STEPS // 2}.safetensors"
    found, wanted = (read_checkpoint(work / path) for work in (there, uncut))
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)
    assert json.loads((there / "runs/state.json").read_text())["other"]["finished"] == STEPS
