"""The scripts in examples/ that turn the output of recognisers into lists."""

import json
import os
import re
import runpy
import subprocess
import sys
import wave

import numpy as np
import pytest

from tests.commands import ROOT, python
from tests.reranking import rerank
from tta.data.nbest.files import read_nbest

# Kaldi's programs, which write what they would write for one utterance with two paths.
KALDI = {
    "lattice-to-nbest": "cat > /dev/null < /dev/null",
    "nbest-to-linear": """cat > /dev/null
        for out in "$@"; do case $out in
        */ids) printf 'a-1 1 2\\na-2 2\\n' > "${out#ark,t:}" ;;
        */lm) printf 'a-1 2\\na-2 3.5\\n' > "${out#ark,t:}" ;;
        */ac) printf 'a-1 10\\na-2 20\\n' > "${out#ark,t:}" ;;
        esac; done""",
    "int2sym.pl": "sed 's/ 1/ the/; s/ 2/ cat/' \"$4\"",
}


def test_kaldi_s_costs_become_scores(tmp_path):
    for name, code in KALDI.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{code}\n")
        (tmp_path / name).chmod(0o755)
    command = [ROOT / "examples/kaldi_nbest.sh", "lat.gz", "words.txt", "lists", "2", "0.5"]
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(command, cwd=tmp_path, env=os.environ | {"PATH": path}, check=True)
    texts, costs = tmp_path / "lists/text", tmp_path / "lists/cost"
    assert sorted(os.listdir(tmp_path / "lists")) == ["cost", "text"]
    (one,) = read_nbest(str(texts), None, None, str(costs)).lists
    assert [(h.text, h.score) for h in one.hypotheses] == [("the cat", -7.0), ("cat", -13.5)]


@pytest.mark.slow
def test_the_notebook_runs_from_top_to_bottom_and_is_kept_without_outputs():
    """Its code, cell after cell; no kernel is needed."""
    path = ROOT / "examples/rerank.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [one for one in cells if one["cell_type"] == "code"]
    assert all(not one["outputs"] and one["execution_count"] is None for one in code)
    text = "\n".join("".join(one["source"]) for one in code)
    done = python(text, cwd=path.parent, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert (done.returncode, done.stderr) == (0, "")  # nor a log, as TensorFlow writes
    *_, best, _, _ = done.stdout.splitlines()
    assert best.endswith("  the children are playing football in the park")
    assert re.search(r"^[1-9]\d* of 20 picks changed$", done.stdout, re.MULTILINE)


@pytest.mark.slow
def test_guessed_weights_do_not_make_the_lists_worse():
    # Their first-pass scores have a constant of up to -54,000 in each list.
    report = rerank(ROOT / "examples/asr.test.json")
    assert report.test.row("reranked").gain >= 0
    assert "is worse" not in str(report)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["lat.gz", "words.txt"]])
def test_the_script_for_kaldi_says_what_it_takes(tmp_path, arguments):
    script = [ROOT / "examples/kaldi_nbest.sh", *arguments]
    done = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, os.listdir(tmp_path)) == (2, "", [])
    assert "kaldi_nbest.sh exp/decode/lat.1.gz data/lang/words.txt lists [N]" in done.stderr
    assert "#" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "shown"),
    [(["--help"], 0, "usage:"), (["--output=a", "b.wav"], 1, "pip install '.[transformers]'")],
)
def test_the_script_for_whisper_starts_without_torch(arguments, status, shown):
    code = f"""
import runpy, sys
sys.modules.update(torch=None, transformers=None)
sys.argv = ["whisper_nbest.py", *{arguments!r}]
runpy.run_path({str(ROOT / "examples/whisper_nbest.py")!r}, run_name="__main__")
"""
    done = python(code)
    assert done.returncode == status
    assert shown in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def whisper(tmp_path):
    """The folder of a tiny Whisper with random weights and a tokenizer of letters."""
    import torch
    import transformers

    torch.manual_seed(0)
    tokens = {chr(97 + i): i for i in range(26)} | {
        "<|endoftext|>": 26,
        "<|startoftranscript|>": 27,
    }
    (tmp_path / "vocab.json").write_text(json.dumps(tokens))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    files = str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt")
    tokenizer = transformers.WhisperTokenizer(*files)
    folder = tmp_path / "model"
    transformers.WhisperProcessor(
        transformers.WhisperFeatureExtractor(), tokenizer
    ).save_pretrained(folder)
    config = transformers.WhisperConfig(
        vocab_size=len(tokens),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_target_positions=12,
        pad_token_id=26,
        bos_token_id=26,
        eos_token_id=26,
        decoder_start_token_id=27,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    model = transformers.WhisperForConditionalGeneration(config)
    model.generation_config.max_new_tokens = 5
    model.save_pretrained(folder)
    return folder


@pytest.mark.large
def test_whisper_s_beams_become_lists(whisper, tmp_path, monkeypatch):
    samples = (np.random.default_rng(0).normal(size=16_000) * 3000).astype(np.int16)
    for name in ("one", "two"):
        with wave.open(str(tmp_path / f"{name}.wav"), "wb") as audio:
            audio.setparams((1, 2, 16_000, len(samples), "NONE", ""))
            audio.writeframes(samples.tobytes())
    recordings = [str(tmp_path / "one.wav"), str(tmp_path / "two.wav")]
    output = tmp_path / "lists.jsonl"
    flags = [f"--model={whisper}", "--beams=5", f"--output={output}"]
    monkeypatch.setattr(sys, "argv", ["whisper_nbest.py", *flags, *recordings])
    runpy.run_path(str(ROOT / "examples/whisper_nbest.py"), run_name="__main__")
    lists = read_nbest(str(output)).lists
    assert [one.utterance_id for one in lists] == ["one", "two"]
    for one in lists:
        scores = [hypothesis.score for hypothesis in one.hypotheses]
        assert 1 < len(scores) <= 5
        assert scores == sorted(scores, reverse=True)
        assert scores[0] < 0
