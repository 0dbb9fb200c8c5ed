"""CTranslate2's Translator and faster-whisper's model, tiny and random, made by its own writers."""

import numpy as np
import pytest

from tta.errors import InputError
from tta.integrations import ctranslate2 as adapter

library = pytest.importorskip("ctranslate2", reason="pip install ctranslate2")

SIZE, INNER, MELS = 8, 16, 80
RNG = np.random.default_rng(0)


def random(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def fill_linear(spec, rows, columns=SIZE):
    spec.weight, spec.bias = random(rows, columns), random(rows)


def fill_norm(spec):
    spec.gamma, spec.beta = np.ones(SIZE, np.float32), np.zeros(SIZE, np.float32)


def fill_attention(spec):
    fill_norm(spec.layer_norm)
    rows = [3 * SIZE, SIZE] if len(spec.linear) == 2 else [SIZE, 2 * SIZE, SIZE]
    for one, count in zip(spec.linear, rows, strict=True):
        fill_linear(one, count)


def fill_layers(*specs):
    for spec in specs:
        fill_norm(spec.layer_norm)
        for layer in spec.layer:
            fill_attention(layer.self_attention)
            if hasattr(layer, "attention"):
                fill_attention(layer.attention)
            fill_norm(layer.ffn.layer_norm)
            fill_linear(layer.ffn.linear_0, INNER)
            fill_linear(layer.ffn.linear_1, SIZE, INNER)


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    folder, words = str(tmp_path_factory.mktemp("m")), ["<blank>", "<s>", "</s>", "<unk>", *"abcd"]
    spec = library.specs.TransformerSpec.from_config(1, 2)
    fill_layers(spec.encoder, spec.decoder)
    spec.encoder.embeddings[0].weight = random(len(words), SIZE)
    spec.decoder.embeddings.weight = random(len(words), SIZE)
    fill_linear(spec.decoder.projection, len(words))
    spec.decoder.projection.bias[2] += 4  # a text ends soon
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.validate()
    spec.save(folder)
    return library.Translator(folder)


def test_a_translator_gives_sums_of_log_probabilities(translator):
    sources = [list("abc"), list("db")]
    options = {"beam_size": 4, "num_hypotheses": 4, "length_penalty": 0, "min_decoding_length": 0}
    results = translator.translate_batch(sources, return_scores=True, **options)
    texts, scores = adapter.nbest(results, " ".join)
    assert [len(one) for one in texts] == [4, 4]
    for source, list_texts, list_scores in zip(sources, texts, scores, strict=True):
        assert list_scores == sorted(list_scores, reverse=True)
        targets = [text.split() for text in list_texts]
        scored = translator.score_batch([source] * 4, targets)
        totals = [sum(one.log_probs) for one in scored]
        np.testing.assert_allclose(list_scores, totals, atol=1e-3)
    with pytest.raises(InputError, match="result 1 has no scores: pass return_scores=True"):
        adapter.nbest(translator.translate_batch(sources, **options), " ".join)


@pytest.fixture(scope="module")
def whisper(tmp_path_factory):
    faster_whisper = pytest.importorskip("faster_whisper", reason="pip install faster-whisper")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    names = ["endoftext", "startoftranscript", "en", "translate", "transcribe", "startoflm"]
    names += ["startofprev", "nospeech", "notimestamps", "0.00"]
    special = [f"<|{name}|>" for name in names]
    folder, pieces = tmp_path_factory.mktemp("whisper"), [*"abcdef", "Ġ", *special]
    spec = library.specs.WhisperSpec(1, 2, 1, 2)
    fill_layers(spec.encoder, spec.decoder)
    for one, channels in ((spec.encoder.conv1, MELS), (spec.encoder.conv2, SIZE)):
        one.weight, one.bias = random(SIZE, channels, 3), random(SIZE)
    spec.encoder.position_encodings.encodings = random(1500, SIZE)
    spec.decoder.position_encodings.encodings = random(448, SIZE)
    spec.decoder.embeddings.weight = random(len(pieces), SIZE)
    spec.decoder.scale_embeddings = False
    fill_linear(spec.decoder.projection, len(pieces))
    spec.decoder.projection.bias[:7] += 4  # letters are likely
    spec.decoder.projection.bias[7] += 3  # and so is the end
    spec.register_vocabulary(pieces)
    spec.config.suppress_ids, spec.config.suppress_ids_begin = [], []
    spec.config.alignment_heads = [(0, 0)]
    spec.validate()
    spec.save(str(folder))
    reader = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, []))
    reader.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    reader.decoder = decoders.ByteLevel()
    reader.add_special_tokens(special)
    reader.save(str(folder / "tokenizer.json"))
    return faster_whisper.WhisperModel(str(folder), device="cpu")


def test_faster_whisper_gives_different_texts(whisper):
    texts, scores = adapter.faster_whisper(whisper, 0.1 * random(16_000), size=4)
    assert len(texts) == 1
    assert 1 < len(texts[0]) == len(set(texts[0])) <= 4
    assert set("".join(texts[0])) <= set("abcdef ")
    assert scores[0] == sorted(scores[0], reverse=True)
    with pytest.raises(InputError, match=r"at most 30 seconds, not 31\.0"):
        adapter.faster_whisper(whisper, random(31 * 16_000))
