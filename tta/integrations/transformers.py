"""Hugging Face transformers: the beams of `generate`."""

import itertools
from collections.abc import Sequence
from typing import Any

from tta.errors import InputError
from tta.integrations import NBest, collect, require


def nbest(output: Any, texts: Sequence[str], size: int) -> NBest:
    """The lists of a `generate` call with beams.

    Args:
        output: of `generate(num_beams=size, num_return_sequences=size, length_penalty=0.0,
            return_dict_in_generate=True, output_scores=True)`. With `length_penalty=0.0` the scores
            are sums, as they should be; by default they are means.
        texts: `tokenizer.batch_decode(output.sequences, skip_special_tokens=True)`.
        size: the number of texts of a list.

    Raises:
        InputError: the output has no scores of sequences, or `size` does not fit them.
    """
    scores = getattr(output, "sequences_scores", None)
    if scores is None:
        rule = "pass num_beams, return_dict_in_generate=True and output_scores=True"
        raise InputError(f"generate gave no sequences_scores: {rule}")
    values = scores.tolist()
    if size < 1 or len(values) != len(texts) or len(texts) % size:
        got = f"{len(texts)} texts and {len(values)} scores"
        raise InputError(f"expected a multiple of size={size}, num_return_sequences, got {got}")
    pairs = list(zip(texts, values, strict=True))
    lists = [pairs[start : start + size] for start in range(0, len(pairs), size)]
    for hypotheses in lists:
        if any(score < after for (_, score), (_, after) in itertools.pairwise(hypotheses)):
            rule = "beams are sorted, but scores rise inside a list"
            raise InputError(f"{rule}: is size={size} the num_return_sequences of generate?")
    return collect(lists)


def whisper(
    model: Any, processor: Any, features: Any, size: int = 10, language: str = "en"
) -> NBest:
    """The lists of recordings, by a `WhisperForConditionalGeneration`.

    Whisper's own `generate` answers `num_return_sequences` with copies of the best beam.

    Args:
        model: the model.
        processor: its `WhisperProcessor`.
        features: [B, M, F] float32, `processor(audio, ...).input_features`, of at most 30 seconds.
        size: width of the beam and number of hypotheses.
        language: of a multilingual model.

    Raises:
        InputError: the model does not know the language, or transformers is too old.
    """
    require("transformers", "4.57")
    import torch  # pyright: ignore[reportMissingImports]
    from transformers import GenerationMixin  # pyright: ignore  # found beside this file

    config = model.generation_config
    prompt = [config.decoder_start_token_id]
    if getattr(config, "is_multilingual", False):
        if f"<|{language}|>" not in config.lang_to_id:
            languages = ", ".join(sorted(token.strip("<|>") for token in config.lang_to_id))
            raise InputError(f"language {language!r} is unknown; the model has {languages}")
        prompt += [config.lang_to_id[f"<|{language}|>"], config.task_to_id["transcribe"]]
    if getattr(config, "no_timestamps_token_id", None) is not None:
        prompt.append(config.no_timestamps_token_id)
    with torch.no_grad():
        output = GenerationMixin.generate(  # pyright: ignore[reportAttributeAccessIssue]
            model,
            features.to(model.device),
            decoder_input_ids=torch.tensor([prompt] * len(features), device=model.device),
            num_beams=size,
            num_return_sequences=size,
            length_penalty=0.0,
            return_dict_in_generate=True,
            output_scores=True,
        )
    return nbest(output, processor.batch_decode(output.sequences, skip_special_tokens=True), size)
