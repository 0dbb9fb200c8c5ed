"""Decodes recordings with Whisper and writes its beams as N-best lists, which `tta rerank` reads.

    pip install torch transformers
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
    import torch
    from transformers import GenerationMixin, WhisperForConditionalGeneration, WhisperProcessor

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


def prompt(config, language):
    """The tokens before the text, from the generation config of a model: [1, P] int64."""
    tokens = [config.decoder_start_token_id]
    if getattr(config, "is_multilingual", False):
        tokens += [config.lang_to_id[f"<|{language}|>"], config.task_to_id["transcribe"]]
    if getattr(config, "no_timestamps_token_id", None) is not None:
        tokens.append(config.no_timestamps_token_id)
    return torch.tensor([tokens])


def decode(model, processor, samples, beams, language):
    """The beams of a recording as (text, score), best first. Equal texts keep their best score."""
    features = processor(samples, sampling_rate=SAMPLE_RATE, return_tensors="pt").input_features
    with torch.no_grad():
        # Whisper's own `generate` replaces num_return_sequences by copies of the best beam.
        made = GenerationMixin.generate(
            model,
            features,
            decoder_input_ids=prompt(model.generation_config, language),
            num_beams=beams,
            num_return_sequences=beams,
            length_penalty=0.0,  # scores are then sums, not means
            return_dict_in_generate=True,
            output_scores=True,
        )
    texts = processor.batch_decode(made.sequences, skip_special_tokens=True)
    best = {}
    for text, score in zip(texts, made.sequences_scores.tolist(), strict=True):
        best.setdefault(text.strip(), score)
    return sorted(best.items(), key=lambda one: -one[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("recordings", nargs="+", type=Path)
    parser.add_argument("--model", default="openai/whisper-tiny.en", help="a name or a folder")
    parser.add_argument("--language", default="en", help="of a multilingual model")
    parser.add_argument("--beams", type=int, default=20)
    parser.add_argument("--output", required=True, type=Path)
    arguments = parser.parse_args()
    if "WhisperProcessor" not in globals():
        raise SystemExit("error: pip install torch transformers")
    processor = WhisperProcessor.from_pretrained(arguments.model)
    model = WhisperForConditionalGeneration.from_pretrained(arguments.model).eval()
    with arguments.output.open("w", encoding="utf-8") as output:
        for path in arguments.recordings:
            beams = decode(model, processor, read_wav(path), arguments.beams, arguments.language)
            hypotheses = [{"text": text, "score": score} for text, score in beams]
            row = {"id": path.stem, "hypotheses": hypotheses}
            output.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
