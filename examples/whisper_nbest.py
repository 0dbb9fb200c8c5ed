"""Decodes recordings with Whisper and writes its beams as N-best lists, which `tta rerank` reads.

    pip install '.[transformers]'
    python examples/whisper_nbest.py --output=lists.jsonl recordings/*.wav

A recording is a WAV file of 16 bits, mono, 16 kHz, of at most 30 seconds. Its name without the
ending is the id of its list. The score is the sum of the token log-probabilities, natural log.
"""

import argparse
import contextlib
import json
import wave
from pathlib import Path

import numpy as np

with contextlib.suppress(ModuleNotFoundError):  # --help works without them
    from transformers import WhisperForConditionalGeneration, WhisperProcessor

    from tta.integrations.transformers import whisper

SAMPLE_RATE, MAX_SECONDS = 16_000, 30


def read_wav(path):
    """The samples of a recording: [S] float32, -1 to 1."""
    with wave.open(str(path)) as audio:
        layout = audio.getnchannels(), audio.getsampwidth(), audio.getframerate()
        if layout != (1, 2, SAMPLE_RATE):
            raise SystemExit(f"{path}: expected mono, 16 bits, 16 kHz, got {layout}")
        if audio.getnframes() > MAX_SECONDS * SAMPLE_RATE:
            raise SystemExit(f"{path}: longer than {MAX_SECONDS} seconds")
        samples = np.frombuffer(audio.readframes(audio.getnframes()), np.int16)
    return samples.astype(np.float32) / 32768


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("recordings", nargs="+", type=Path)
    parser.add_argument("--model", default="openai/whisper-tiny.en", help="a name or a folder")
    parser.add_argument("--language", default="en", help="of a multilingual model")
    parser.add_argument("--beams", type=int, default=20)
    parser.add_argument("--output", required=True, type=Path)
    arguments = parser.parse_args()
    if "WhisperProcessor" not in globals():
        raise SystemExit("error: pip install '.[transformers]'")
    processor = WhisperProcessor.from_pretrained(arguments.model, trust_remote_code=False)
    model = WhisperForConditionalGeneration.from_pretrained(
        arguments.model, trust_remote_code=False
    ).eval()
    with arguments.output.open("w", encoding="utf-8") as output:
        for path in arguments.recordings:
            made = processor(read_wav(path), sampling_rate=SAMPLE_RATE, return_tensors="pt")
            features, size = made.input_features, arguments.beams
            (texts,), (scores,) = whisper(model, processor, features, size, arguments.language)
            pairs = zip(texts, scores, strict=True)
            hypotheses = [{"text": text, "score": score} for text, score in pairs]
            row = {"id": path.stem, "hypotheses": hypotheses}
            output.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
