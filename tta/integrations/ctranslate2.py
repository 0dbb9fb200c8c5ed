"""CTranslate2 and faster-whisper: results with `num_hypotheses` and `return_scores=True`."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tta.errors import InputError
from tta.integrations import NBest, collect, require


def nbest(results: Iterable[Any], decode: Callable[[Sequence[Any]], str]) -> NBest:
    """The lists of results of a Translator, a Generator or a Whisper model.

    Args:
        results: what `translate_batch`, `generate_batch` or `generate` returned. With
            `length_penalty=0` the scores are sums, as they should be; by default they are means.
        decode: the text of a hypothesis: of its tokens (Translator), or of its ids.

    Raises:
        InputError: a result has no scores.
    """
    lists = []
    for number, result in enumerate(results, 1):
        scores = getattr(result, "scores", None)
        if not scores:
            rule = "pass return_scores=True, to ctranslate2 2 or later"
            raise InputError(f"result {number} has no scores: {rule}")
        hypotheses = getattr(result, "hypotheses", None) or result.sequences_ids
        lists.append(
            [(decode(tokens), score) for tokens, score in zip(hypotheses, scores, strict=True)]
        )
    return collect(lists)


def faster_whisper(model: Any, audio: Any, size: int = 10, language: str = "en") -> NBest:
    """The list of a recording, by a `faster_whisper.WhisperModel`: `transcribe` gives one text.

    Args:
        model: a `WhisperModel`.
        audio: [S] float32, 16 kHz, -1 to 1, of at most 30 seconds, as `decode_audio` gives it.
        size: width of the beam and number of hypotheses.
        language: of a multilingual model.

    Raises:
        InputError: the recording is longer than 30 seconds, or faster-whisper is too old.
    """
    require("faster-whisper", "1.1")
    from faster_whisper.audio import pad_or_trim  # pyright: ignore[reportMissingImports]
    from faster_whisper.tokenizer import Tokenizer  # pyright: ignore[reportMissingImports]

    rate = model.feature_extractor.sampling_rate
    if len(audio) > 30 * rate:
        raise InputError(f"a recording has at most 30 seconds, not {len(audio) / rate:.1f}")
    many = model.model.is_multilingual
    reader = Tokenizer(model.hf_tokenizer, many, "transcribe", language)
    result = model.model.generate(
        model.encode(pad_or_trim(model.feature_extractor(audio))),
        [[*reader.sot_sequence, reader.no_timestamps]],
        beam_size=size,
        num_hypotheses=size,
        length_penalty=0,
        return_scores=True,
    )
    return nbest(result, reader.decode)
