"""A real recogniser from speech to a reranked transcript: espeak-ng speaks, PocketSphinx hears.

    apt-get install espeak-ng
    pip install pocketsphinx
    python -m benchmarks.recogniser --json=recogniser.json

The references of examples/asr.test.json are spoken, decoded by PocketSphinx's English model, and
its N-best lists reranked by the built-in model, with guessed weights and with weights tuned on the
references of examples/asr.dev.json. Word error rates are in percent, with 95 % intervals of the
paired bootstrap over sentences.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from absl import app, flags
from scipy.signal import resample_poly

import tta
from tta.data.text.files import open_output
from tta.integrations import NBest
from tta.integrations.pocketsphinx import nbest
from tta.scoring.metrics.metric import Metric, load_metric
from tta.scoring.metrics.significance import paired_bootstrap

FLAGS = flags.FLAGS
RATE, LOUDEST = 16_000, 12_000
EXAMPLES = Path(__file__).parents[1] / "examples"


def references(name: str, count: int) -> list[str]:
    """The references of an example's lists."""
    lists = json.loads((EXAMPLES / name).read_text(encoding="utf-8"))
    return [one["ref"] for one in lists.values()][:count]


def speak(text: str, voice: str) -> np.ndarray:
    """A text as [S] int16, 16 kHz."""
    command = ["espeak-ng", f"-v{voice}", "-s150", "-p60", "--stdout", "--", text]
    wave = subprocess.run(command, check=True, capture_output=True).stdout
    start = wave.index(b"data") + 8
    samples = np.frombuffer(wave[start : start + (len(wave) - start) // 2 * 2], np.int16)
    heard = resample_poly(samples.astype(float), RATE, int.from_bytes(wave[24:28], "little"))
    return (heard * (LOUDEST / np.abs(heard).max())).astype(np.int16)


def recognise(decoder: Any, samples: np.ndarray, size: int) -> NBest:
    """The list of an utterance, with a pause before and after it."""
    pause = np.zeros(RATE // 4, np.int16)
    decoder.start_utt()
    decoder.process_raw(np.concatenate([pause, samples, pause]).tobytes(), full_utt=True)
    decoder.end_utt()
    return nbest(decoder, size)


def lists_of(texts: list[str], voice: str, size: int) -> NBest:
    """The lists of all texts."""
    import pocketsphinx

    decoder, found = pocketsphinx.Decoder(samprate=RATE, loglevel="FATAL"), NBest([], [])
    for text in texts:
        for column, new in zip(found, recognise(decoder, speak(text, voice), size), strict=True):
            column.extend(new)
    return found


def closest(metric: Metric, texts: list[str], reference: str) -> str:
    """The text of a list with the fewest errors."""
    return texts[int(np.argmin(metric.errors(metric.statistics(texts, reference))))]


def main(_):
    dev, test = (references(f"asr.{part}.json", FLAGS.sentences) for part in ("dev", "test"))
    dev_lists, test_lists = (lists_of(part, FLAGS.voice, FLAGS.size) for part in (dev, test))
    lm, metric = tta.load(normalizer="auto"), load_metric("wer")
    weights = tta.tune(dev_lists.texts, dev, dev_lists.scores, lm)
    picks = {
        "first pass": [texts[0] for texts in test_lists.texts],
        "guessed weights": [one.texts[0] for one in tta.rerank(*test_lists, lm)],
        "tuned weights": [one.texts[0] for one in tta.rerank(*test_lists, lm, weights=weights)],
        "oracle": [closest(metric, *one) for one in zip(test_lists.texts, test, strict=True)],
    }
    pairs = [zip(texts, test, strict=True) for texts in picks.values()]
    counts = np.array([[metric.statistics([text], ref)[0] for text, ref in one] for one in pairs])
    rates = metric.corpus(counts.sum(axis=1))
    bounds = paired_bootstrap(counts, metric, lambda values: values - values[:1])
    rows = {
        name: {"wer": float(rate), "change": [float(bound) for bound in pair]}
        for name, rate, pair in zip(picks, rates, bounds, strict=True)
    }
    size = np.mean([len(texts) for texts in test_lists.texts])
    print(f"{len(test)} sentences, lists of {size:.1f} texts, {len(dev)} dev lists")
    for name, row in rows.items():
        low, high = row["change"]
        print(f"{name:16} {row['wer']:6.2f}  [{low:+.2f}, {high:+.2f}] from the first pass")
    if FLAGS.json:
        with open_output(FLAGS.json, overwrite=True) as file:
            file.write(json.dumps({"sentences": len(test), "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    flags.DEFINE_string("json", None, "File for the measurements.")
    flags.DEFINE_string("voice", "en-us+f2", "Voice of espeak-ng.")
    flags.DEFINE_integer("sentences", 100, "Sentences of dev and of test, at most.", 1)
    flags.DEFINE_integer("size", 50, "Texts of a list, at most.", 2)
    app.run(main)
