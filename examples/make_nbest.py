"""Generates the N-best lists of this folder by recognizing synthetic speech with noise.

It needs NumPy, the speech synthesizer flite and the recognizer pocketsphinx, whose wheel contains
an English model. tta-lm itself needs neither flite nor pocketsphinx:

    apt-get install flite
    python -m venv venv && venv/bin/pip install pocketsphinx==5.1.1 numpy
    venv/bin/python examples/make_nbest.py --split=dev  --output=examples/asr.dev.json
    venv/bin/python examples/make_nbest.py --split=test --output=examples/asr.test.json

The score of a hypothesis is pocketsphinx's score of the whole sentence, in natural log, higher is
better. It is the acoustic log-likelihood, relative to the best state of each frame, plus the
language model's log-probability times its weight (--lm_weight), including the word insertion
penalty. Compare scores only within a list: pocketsphinx also scores the sentence start as a word,
and subtracts 45,000 or more if all paths of the lattice go through a noise mark.
"""

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

import numpy as np
import pocketsphinx

SAMPLE_RATE = 16000  # Hz, what the acoustic model was trained on
SENSCR_SHIFT = 10  # pocketsphinx keeps its scores divided by 2 ** 10 (src/hmm.h)
MAX_PATHS = 5000  # lattice paths to search for distinct texts
VOICES = ["rms", "slt", "awb"]
STRETCHES = [0.8, 0.9, 1.0, 1.1]  # factors on the durations of sounds


def read_sentences(path, split):
    """Yields (id, sentence) of the lines whose id starts with the split's name."""
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        utterance_id, sentence = line.split("\t")
        if utterance_id.startswith(split + "-"):
            yield utterance_id, sentence


def speak(sentence, voice, stretch):
    """Returns flite's speech as float samples at SAMPLE_RATE, padded with 0.2 s of silence."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/speech.wav"
        duration = f"duration_stretch={stretch}"
        command = ["flite", "-voice", voice, "--setf", duration, "-t", sentence, "-o", path]
        subprocess.run(command, check=True)
        with wave.open(path) as audio:
            if audio.getframerate() != SAMPLE_RATE:
                raise ValueError(f"voice {voice}: {audio.getframerate()} Hz, not {SAMPLE_RATE}")
            samples = np.frombuffer(audio.readframes(audio.getnframes()), np.int16)
    return np.pad(samples.astype(float), SAMPLE_RATE // 5)


def add_noise(samples, snr_db, rng):
    """Adds white noise at a signal-to-noise ratio in dB and returns 16-bit samples."""
    noise_level = np.sqrt(np.mean(samples**2)) / 10 ** (snr_db / 20)
    noisy = 0.5 * (samples + rng.normal(0, noise_level, len(samples)))  # halved: no clipping
    return np.clip(noisy, -32768, 32767).astype(np.int16)


def clean_text(text):
    """Removes everything but words: <s>, <sil>, [NOISE], ++UM++, variant marks such as (2)."""
    text = re.sub(r"<[^>]*>|\[[^\]]*\]|\+\+[^+]*\+\+|\(\d+\)", " ", text.lower())
    return " ".join(text.replace("-", " ").replace(".", "").split())


def recognize(samples, lm_weight, max_hypotheses):
    """Returns up to max_hypotheses distinct texts with their best scores, best first."""
    # A new decoder for each recording, because a decoder adapts to what it has heard. Its three
    # passes get the same language model weight, so that the score contains a single weight.
    decoder = pocketsphinx.Decoder(
        lw=lm_weight, fwdflatlw=lm_weight, bestpathlw=lm_weight, cmn="batch", loglevel="ERROR"
    )
    decoder.start_utt()
    decoder.process_raw(samples.tobytes(), full_utt=True)
    decoder.end_utt()
    scores = {}
    for _, path in zip(range(MAX_PATHS), decoder.nbest(), strict=False):
        text = clean_text(path.hypstr) if path else ""
        if not text:
            continue
        # The binding returns exp(score); the shift prevents its underflow.
        score = math.log(path.score) * 2**SENSCR_SHIFT
        scores[text] = max(score, scores.get(text, -math.inf))
        if len(scores) == max_hypotheses:
            break
    return sorted(scores.items(), key=lambda item: -item[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sentences = Path(__file__).with_name("sentences.txt")
    parser.add_argument("--sentences", default=sentences, help="file with lines id<TAB>sentence")
    parser.add_argument("--split", default="dev", help="start of the ids to use: dev or test")
    parser.add_argument("--output", required=True, help="JSON file to write")
    parser.add_argument("--max_hypotheses", type=int, default=25, help="hypotheses in a list")
    parser.add_argument("--lm_weight", type=float, default=6.5, help="weight of the n-gram model")
    parser.add_argument("--snr_db", type=float, default=30, help="signal-to-noise ratio in dB")
    parser.add_argument("--seed", type=int, default=1, help="seed of the noise")
    args = parser.parse_args()

    lists = {}
    for number, (utterance_id, sentence) in enumerate(read_sentences(args.sentences, args.split)):
        voice = VOICES[number % len(VOICES)]
        stretch = STRETCHES[number % len(STRETCHES)]
        rng = np.random.default_rng([args.seed, number])
        samples = add_noise(speak(sentence, voice, stretch), args.snr_db, rng)
        hypotheses = recognize(samples, args.lm_weight, args.max_hypotheses)
        lists[utterance_id] = {
            f"hyp_{rank}": {"score": round(score, 3), "text": text}
            for rank, (text, score) in enumerate(hypotheses, start=1)
        }
        lists[utterance_id]["ref"] = sentence
        print(f"{utterance_id} {voice} {stretch}: {len(hypotheses)}", file=sys.stderr)
    text = json.dumps(lists, indent=0)
    Path(args.output).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
