"""Exports in the libraries that load them: size, start, speed, and how far they are from ours.

    python -m benchmarks.exports --python=PATH

PATH is a Python with torch, transformers, sentence-transformers and model2vec, and without this
package; a SavedModel is read by TensorFlow. One row a format, each in a process of its own:
megabytes of the folder, seconds from the start of the process to the first result, sentences a
second on 1,000 transcripts of LibriSpeech dev-clean, the largest difference to `tta.load` on 200 of
them (nats of a score, or 1 minus the cosine of two vectors), and for vectors Pearson's r x 100 on
STS-B dev. The data is in $TTA_DATA.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from absl import flags

from benchmarks import evaluation_data
from benchmarks.paper import common
from tta import cli

FLAGS = flags.FLAGS

_HEAD = """
import json, sys, time
folder = sys.argv[1]
sentences, pairs = json.load(open(sys.argv[2]))
"""
_TAIL = """
first = {call}(sentences[:1])
ready = time.time()
{call}(sentences)
speed = len(sentences) / (time.time() - ready)
result = {call}(sentences[:200])
vectors = [{call}(side) for side in pairs] if pairs else []
print(json.dumps([ready, speed, result, vectors]))
"""
_SCORES = """
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
model = AutoModelForMaskedLM.from_pretrained(folder, trust_remote_code=True).eval()
def score(texts):
    order, scores = sorted(range(len(texts)), key=lambda i: len(texts[i])), [0.0] * len(texts)
    for start in range(0, len(texts), 32):
        rows = order[start : start + 32]
        batch = tokenizer([texts[i] for i in rows], return_tensors="pt", padding=True)
        found = model.token_scores(**batch)
        for i, row, mask in zip(rows, found, batch["attention_mask"]):
            scores[i] = float(row[mask.bool()][1:-1].sum())
    return scores
"""
_ONNX = """
import numpy as np, onnxruntime, tokenizers
tokenizer = tokenizers.Tokenizer.from_file(folder + "/tokenizer.json")
tokenizer.enable_padding(pad_id=0)
run = onnxruntime.InferenceSession(folder + "/scores.onnx").run
def score(texts):
    order, scores = sorted(range(len(texts)), key=lambda i: len(texts[i])), [0.0] * len(texts)
    for start in range(0, len(texts), 32):
        rows = order[start : start + 32]
        found = tokenizer.encode_batch([texts[i] for i in rows])
        inputs = {"input_ids": np.array([row.ids for row in found], np.int32)}
        inputs["padding_mask"] = np.array([row.attention_mask for row in found], bool)
        inputs["wanted"] = ~np.array([row.special_tokens_mask for row in found], bool)
        for i, one in zip(rows, run(None, inputs)[0]):
            scores[i] = float(one.sum())
    return scores
"""
_VECTORS = """
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(folder, trust_remote_code=True)
def encode(texts):
    return model.encode(texts, show_progress_bar=False).tolist()
"""
_STATIC = """
from model2vec import StaticModel
model = StaticModel.from_pretrained(folder)
def encode(texts):
    return model.encode(texts).tolist()
"""
_MASKED = """
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
model = AutoModelForMaskedLM.from_pretrained(folder, trust_remote_code=False).eval()
def score(texts):
    scores = []
    for text in texts:
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        rows = torch.arange(ids.shape[1] - 2)
        masked = ids.repeat(len(rows), 1)
        masked[rows, rows + 1] = tokenizer.mask_token_id
        with torch.no_grad():
            found = model(input_ids=masked).logits[rows, rows + 1].log_softmax(-1)
        scores.append(float(found[rows, ids[0, 1:-1]].sum()))
    return scores
"""
_SERVED = """
import tensorflow as tf
import tensorflow_text
served = tf.saved_model.load(folder).signatures["score"]
def score(texts):
    return served(texts=tf.constant(texts))["scores"].numpy().tolist()
"""


class Row(NamedTuple):
    """A row of the table: a format, and the code of the process that loads it.

    Attributes:
        format, representation, pooling: as the flags of tta export.
        code: defines the function `call`, texts -> scores or vectors.
        model: another model than that of the flag.
        needs_tensorflow: whether this Python runs the code, not the one of the flag.
    """

    format: str
    code: str
    call: str = "encode"
    representation: str = "token"
    pooling: str = "whitened"
    model: str | None = None
    needs_tensorflow: bool = False


ROWS = {
    "saved_model": Row("saved_model", _SERVED, "score", needs_tensorflow=True),
    "onnx": Row("onnx", _ONNX, "score"),
    "huggingface": Row("huggingface", _SCORES, "score"),
    "huggingface, bilm-small": Row("huggingface", _MASKED, "score", model="bilm-small"),
    "sentence_transformers, token": Row("sentence_transformers", _VECTORS),
    "sentence_transformers, joint": Row(
        "sentence_transformers", _VECTORS, representation="joint", pooling="mean"
    ),
    "static, model2vec": Row("static", _STATIC),
    "static, sentence-transformers": Row("static", _VECTORS),
}


def main():
    import numpy as np
    from tabulate import tabulate

    import tta
    from tta.data.pairs.sts import read_sts
    from tta.scoring.exports.formats import SAVED_MODEL, export_folder
    from tta.scoring.exports.serving.export import export
    from tta.scoring.metrics.correlation import cosine

    sentences = common.transcripts()
    pairs = read_sts(evaluation_data.FOLDER / "sts" / "stsb-en-dev.csv")
    gold = [pair.gold for pair in pairs]
    sides = [[pair.first for pair in pairs], [pair.second for pair in pairs]]
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for name in FLAGS.row:
            row = ROWS[name]
            lm = tta.load(row.model or FLAGS.model, unknown="model", normalizer="exact")
            folder, data = Path(place) / name.replace(" ", "") / "1", Path(place) / "data.json"
            if row.format == SAVED_MODEL:
                export(lm, folder)
            else:
                export_folder(lm, folder, row.format, row.representation, row.pooling)
            size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / 1e6
            data.write_text(json.dumps([sentences, sides if row.call == "encode" else None]))
            python = sys.executable if row.needs_tensorflow else FLAGS.python
            begun = time.time()
            done = subprocess.run(
                [python, "-c", _HEAD + row.code + _TAIL.format(call=row.call), folder, data],
                stdout=subprocess.PIPE,
                text=True,
                cwd=place,
                check=True,
            )
            ready, speed, found, vectors = json.loads(done.stdout.splitlines()[-1])
            if row.call == "score":
                error = abs(np.array(found) - lm.score(sentences[:200])).max()
            else:
                ours = lm.encode(sentences[:200], row.representation, row.pooling)
                error = (1.0 - cosine(found, ours)).max()
            quality = 100 * np.corrcoef(cosine(*vectors), gold)[0, 1] if vectors else None
            rows.append([name, size, ready - begun, speed, error, quality])
            print(rows[-1], file=sys.stderr)
    heads = ["format", "MB", "s to the first", "sentences/s", "difference", "STS-B dev"]
    print(
        tabulate(rows, heads, tablefmt="github", floatfmt=("", ".1f", ".1f", ",.0f", ".1e", ".2f"))
    )


if __name__ == "__main__":
    common.define_flags()
    flags.DEFINE_string("model", "small", "The model, as for tta.load.")
    flags.DEFINE_multi_enum("row", list(ROWS), list(ROWS), "A row of the table; repeatable.")
    flags.DEFINE_string("python", sys.executable, "The Python that has the libraries.")
    FLAGS.set_default("limit", 1_000)
    cli.run(main)
