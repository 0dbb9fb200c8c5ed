"""What a user would take instead of the built-in model: sentences a second, on the same texts.

    python -m benchmarks.instead --torch_python=PATH

PATH is a Python with torch and transformers. The rows: the built-in model in onnxruntime; its
export for transformers in PyTorch, eager and compiled; a masked language model of the same size,
one pass for each piece; KenLM with 5-grams. Each comes from a process of its own with all cores,
and the best of three rounds after one that is not counted. Sentences have 20 words.
"""

import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from absl import app, flags

from benchmarks import ROOT

FLAGS = flags.FLAGS

_HEAD = """
import json, sys, time
folder, texts = sys.argv[1], json.load(open(sys.argv[2]))
"""
_OURS = """
import tta
score = tta.load(folder, **json.loads(sys.argv[3])).score
"""
_TORCH = """
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
model = AutoModelForMaskedLM.from_pretrained(folder, trust_remote_code=True).eval()
scores_of = model.token_scores
if json.loads(sys.argv[3])["compiled"]:
    scores_of = torch.compile(scores_of, dynamic=True)
def score(texts):
    order, scores = sorted(range(len(texts)), key=lambda i: len(texts[i])), [0.0] * len(texts)
    for start in range(0, len(texts), 20):
        rows = order[start : start + 20]
        batch = tokenizer([texts[i] for i in rows], return_tensors="pt", padding=True)
        with torch.inference_mode():
            found = scores_of(**batch)
        for i, row, mask in zip(rows, found, batch["attention_mask"]):
            scores[i] = float(row[mask.bool()][1:-1].sum())
    return scores
"""
_TAIL = """
times = []
for _ in range(4):
    start = time.perf_counter()
    score(texts)
    times.append(time.perf_counter() - start)
print(len(texts) / min(times[1:]))
"""


def main(_):
    import tta
    from tta.scoring.exports.formats import export_folder

    words = (ROOT / "examples/train.txt").read_text(encoding="utf-8").split()
    texts = [" ".join(words[i * 7 % 900 :][:20]) for i in range(1000)]
    with tempfile.TemporaryDirectory() as folder:
        exported, arpa = Path(folder) / "exported", Path(folder) / "5-grams.arpa"
        export_folder(tta.load(engine="onnxruntime"), exported, "huggingface", "context", "mean")
        write_ngrams(words, arpa)
        ours, torch = (sys.executable, _OURS), (FLAGS.torch_python, _TORCH)
        light = {"engine": "onnxruntime"}
        rows = [
            ("T-TA, onnxruntime, float32", *ours, "small", light, 1000),
            ("T-TA, onnxruntime, int8", *ours, "small", light | {"precision": "int8"}, 1000),
            ("T-TA, its export in PyTorch", *torch, exported, {"compiled": False}, 1000),
            ("T-TA, its export in PyTorch, compiled", *torch, exported, {"compiled": True}, 1000),
            ("biLM of the same size, one pass a piece", *ours, "bilm-small", light, 100),
            ("KenLM, 5-grams", *ours, f"kenlm:{arpa}", {}, 1000),
        ]
        for name, python, code, model, options, count in rows:
            file = Path(folder) / "texts.json"
            file.write_text(json.dumps(texts[:count]), encoding="utf-8")
            command = [
                python,
                "-c",
                _HEAD + code + _TAIL,
                str(model),
                str(file),
                json.dumps(options),
            ]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(done.stderr)
            print(f"| {name} | {float(done.stdout.split()[-1]):,.0f} |", flush=True)


def write_ngrams(words, path):
    """A 5-gram model of words with arbitrary probabilities; its speed is that of any other."""
    lines, sections = ["\\data\\"], []
    for order in range(1, 6):
        grams = collections.Counter(zip(*(words[i:] for i in range(order)), strict=False))
        rows = [f"-1\t{' '.join(gram)}" + "\t-0.3" * (order < 5) for gram in sorted(grams)]
        if order == 1:
            rows = ["-5\t<unk>\t0", "0\t<s>\t-0.3", "-2\t</s>\t0", *rows]
        lines.append(f"ngram {order}={len(rows)}")
        sections += ["", f"\\{order}-grams:", *rows]
    path.write_text("\n".join([*lines, *sections, "", "\\end\\", ""]), encoding="utf-8")


if __name__ == "__main__":
    flags.DEFINE_string("torch_python", sys.executable, "A Python with torch and transformers.")
    app.run(main)
