"""Objects of recognisers' libraries become lists for `tta.rerank`.

The classes are the library's own where pip has them, and a test skips without its library. NeMo's
need PyTorch Lightning, and no released sherpa-onnx has hypotheses yet: these are stand-ins.
"""

import json
import math
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import tta
from tests.fake_model import FakeModel
from tta.errors import InputError
from tta.integrations import collect, ctranslate2, nemo, pyctcdecode, require, sherpa_onnx, vosk
from tta.integrations import transformers as of_transformers


def test_equal_texts_keep_their_best_score_and_lists_are_in_its_order():
    found = collect([[(" a  b", -3), ("c", -2.0), ("a b", -1)], [], [("d", -1), ("e", -1)]])
    assert found.texts == [["a b", "c"], [], ["d", "e"]]
    assert found.scores == [[-1.0, -2.0], [], [-1.0, -1.0]]
    assert [one.texts for one in tta.rerank(*found, FakeModel())][1] == []


def test_vosk():
    result = {"alternatives": [
        {"confidence": 221.3, "text": "the kat sat"}, {"confidence": 220.9, "text": "the cat sat"},
    ]}  # fmt: skip
    for one in (result, json.dumps(result)):
        texts, scores = vosk.nbest([one])
        assert texts == [["the kat sat", "the cat sat"]]
        assert scores == [[0.0, pytest.approx(-0.4)]]
        # Positive scores would be noted, but a confidence of Vosk may have any sign.
        assert not any(
            note.is_warning for note in tta.Reranker(FakeModel()).rerank(texts, scores).notes
        )
    with pytest.raises(InputError, match=r"result 2 has no alternatives: call SetMaxAlternatives"):
        vosk.nbest([result, '{"text": "one"}'])


def test_pyctcdecode():
    library = pytest.importorskip("pyctcdecode", reason="pip install pyctcdecode")
    decoder = library.build_ctcdecoder(["a", "b", " ", ""])
    logits = np.log(np.full((4, 4), 0.25) + np.eye(4) * 0.2)
    beams = decoder.decode_beams(logits, beam_width=20)
    texts, scores = pyctcdecode.nbest([beams])
    assert texts[0][0] == beams[0][0]
    assert len(set(texts[0])) == len(texts[0]) > 2
    assert scores[0] == sorted(scores[0], reverse=True)
    assert scores[0][0] == pytest.approx(beams[0][-1])


@dataclass
class Hypothesis:
    """What is read of NeMo's and sherpa-onnx's hypotheses."""

    text: str
    score: float


def test_nemo():
    beams = [Hypothesis("a b", -1.5), Hypothesis("a", -2.5)]
    for result in (beams, SimpleNamespace(n_best_hypotheses=beams)):
        assert nemo.nbest([result]) == ([["a b", "a"]], [[-1.5, -2.5]])
    with pytest.raises(InputError, match="result 1 is one Hypothesis: decode with a beam"):
        nemo.nbest(beams[:1])


def test_sherpa_onnx():
    result = SimpleNamespace(hypotheses=[Hypothesis("a b", -1.5), Hypothesis("a", -2.5)])
    for one in (result, SimpleNamespace(result=result)):
        assert sherpa_onnx.nbest([one]) == ([["a b", "a"]], [[-1.5, -2.5]])
    with pytest.raises(InputError, match="result 1 has no hypotheses: use a version"):
        sherpa_onnx.nbest([SimpleNamespace(text="a", hypotheses=[])])


def test_ctranslate2():
    result = SimpleNamespace(hypotheses=[["▁a", "▁b"], ["▁a"]], scores=[-1.0, -2.0])
    found = ctranslate2.nbest([result], lambda pieces: "".join(pieces).replace("▁", " "))
    assert found == ([["a b", "a"]], [[-1.0, -2.0]])
    of_ids = SimpleNamespace(sequences_ids=[[1, 2], [1]], scores=[-1.0, -2.0])
    assert ctranslate2.nbest([of_ids], str) == ([["[1, 2]", "[1]"]], [[-1.0, -2.0]])
    with pytest.raises(InputError, match="result 1 has no scores: pass return_scores=True"):
        ctranslate2.nbest([[{"tokens": ["a"]}]], str)  # of version 1
    with pytest.raises(InputError, match="result 1 has no scores: pass return_scores=True"):
        ctranslate2.nbest([SimpleNamespace(hypotheses=[["a"]], scores=[])], str)


@pytest.fixture(scope="module")
def tiny_whisper():
    """A random Whisper of 30 seconds, which has almost equal beams, and a reader of its ids."""
    torch = pytest.importorskip("torch", reason="pip install '.[transformers]'")
    library = pytest.importorskip("transformers", reason="pip install '.[transformers]'")
    torch.manual_seed(1)
    config = library.WhisperConfig(
        vocab_size=40, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, num_mel_bins=8,
        max_source_positions=20, max_target_positions=16, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None,
    )  # fmt: skip
    model = library.WhisperForConditionalGeneration(config).eval()
    model.generation_config.max_length = 8
    model.generation_config.no_timestamps_token_id = 3

    class Processor:
        def batch_decode(self, ids, skip_special_tokens):
            assert skip_special_tokens
            rows = [row[2:] for row in ids.tolist()]  # after the prompt, up to the end token
            ends = [row.index(2) if 2 in row else len(row) for row in rows]
            return [" ".join(map(str, row[:end])) for row, end in zip(rows, ends, strict=True)]

    return model, Processor(), torch.randn(2, 8, 40)


def test_whisper_gives_different_beams_with_the_scores_of_the_model(tiny_whisper):
    import torch

    model, processor, features = tiny_whisper
    found = of_transformers.whisper(model, processor, features, size=4)
    assert [len(texts) for texts in found.texts] == [4, 4]
    for row, texts, scores in zip(features, *found, strict=True):
        assert scores == sorted(scores, reverse=True)
        for text, score in zip(texts, scores, strict=True):
            ids = torch.tensor([[1, 3, *map(int, text.split())]])
            with torch.no_grad():
                logits = model(input_features=row[None], decoder_input_ids=ids).logits[0]
            chances = logits.log_softmax(-1)
            ended = ids.shape[1] < 8  # else the end token is not reached
            targets = [*ids[0, 2:].tolist(), *[2] * ended]
            total = sum(float(chances[place + 1, one]) for place, one in enumerate(targets))
            assert score == pytest.approx(total, abs=1e-4)


def test_outputs_of_generate():
    output = SimpleNamespace(sequences_scores=np.array([-1.0, -2.0, -0.5, -0.7]))
    found = of_transformers.nbest(output, ["a", "b", "c", "c"], size=2)
    assert found == ([["a", "b"], ["c"]], [[-1.0, -2.0], [-0.5]])
    with pytest.raises(InputError, match="generate gave no sequences_scores: pass num_beams"):
        of_transformers.nbest(SimpleNamespace(sequences_scores=None), ["a"], size=1)


def test_pocketsphinx_lists_have_different_texts_and_natural_logs():
    from tta.integrations.pocketsphinx import nbest

    given = [("a", 1e-3), (None, 0.1), ("a", 1e-4), ("b", 1e-5), ("c", 0.0)]
    beams = [SimpleNamespace(hypstr=text, score=score) for text, score in given]
    found = nbest(SimpleNamespace(nbest=lambda: iter(beams)))
    assert found.texts == [["a", "b"]]
    assert found.scores == [[pytest.approx(math.log(1e-3)), pytest.approx(math.log(1e-5))]]
    with pytest.raises(InputError, match=r"no hypothesis: call it after end_utt\(\)"):
        nbest(SimpleNamespace(nbest=lambda: None))
    old = SimpleNamespace(hypstr="a", score=-812)
    with pytest.raises(InputError, match="this needs pocketsphinx 5 or later"):
        nbest(SimpleNamespace(nbest=lambda: iter([old])))


def test_a_version_that_is_too_old_is_one_line(monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda package: "1.0.3")
    require("faster-whisper", "1.0")
    with pytest.raises(InputError) as error:
        ctranslate2.faster_whisper(None, np.zeros(9))
    assert str(error.value) == (
        "this needs faster-whisper 1.1 or later, and 1.0.3 is installed: "
        "pip install 'faster-whisper>=1.1'"
    )
    with pytest.raises(InputError, match=r"^this needs transformers 4\.57 or later, and 1\."):
        of_transformers.whisper(None, None, None)
    monkeypatch.undo()
    with pytest.raises(
        InputError, match=r"^this needs no-such 1 or later, and none is installed: "
    ):
        require("no-such", "1")


def test_a_language_that_whisper_does_not_know_is_one_line(tiny_whisper):
    _, processor, features = tiny_whisper
    config = SimpleNamespace(
        decoder_start_token_id=1, is_multilingual=True, lang_to_id={"<|de|>": 4, "<|en|>": 5}
    )
    known = SimpleNamespace(generation_config=config)
    with pytest.raises(InputError, match=r"^language 'english' is unknown; the model has de, en$"):
        of_transformers.whisper(known, processor, features, language="english")


@pytest.mark.parametrize(
    ("config", "prompt", "why"),
    [
        ({}, [1], "English alone"),
        ({"no_timestamps_token_id": 3}, [1, 3], "a model that writes times"),
        (
            {"is_multilingual": True, "no_timestamps_token_id": 3},
            [1, 5, 9, 3],
            "of several languages",
        ),
    ],
)
def test_what_generate_is_asked_for(monkeypatch, config, prompt, why):
    """Stand-ins for torch and transformers, which are large."""
    asked = {}

    class GenerationMixin:
        def generate(self, features, **options):
            asked.update(options, features=features)
            scores = np.array([-1.0, -2.0, -0.5, -0.7])
            return SimpleNamespace(sequences=[1, 2, 3, 4], sequences_scores=scores)

    torch = SimpleNamespace(no_grad=nullcontext, tensor=lambda rows, device: (rows, device))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(
        sys.modules, "transformers", SimpleNamespace(GenerationMixin=GenerationMixin)
    )
    monkeypatch.setattr("importlib.metadata.version", lambda package: "5.0")
    of_languages = {"lang_to_id": {"<|en|>": 5}, "task_to_id": {"transcribe": 9}}
    config = SimpleNamespace(decoder_start_token_id=1, **of_languages, **config)
    model = SimpleNamespace(generation_config=config, device="cpu")

    class Features(list):
        def to(self, device):
            return device, [*self]

    def batch_decode(ids, skip_special_tokens):
        return ["abcd"[i - 1] for i in ids] if skip_special_tokens else None

    processor = SimpleNamespace(batch_decode=batch_decode)
    found = of_transformers.whisper(model, processor, Features([0.1, 0.2]), size=2)
    assert found == ([["a", "b"], ["c", "d"]], [[-1.0, -2.0], [-0.5, -0.7]])
    assert asked == {
        "features": ("cpu", [0.1, 0.2]),
        "decoder_input_ids": ([prompt] * 2, "cpu"),
        "num_beams": 2,
        "num_return_sequences": 2,
        "length_penalty": 0.0,
        "return_dict_in_generate": True,
        "output_scores": True,
    }, why


@pytest.mark.slow
def test_a_real_recogniser_from_speech_to_a_reranked_transcript():
    import shutil

    pytest.importorskip("pocketsphinx", reason="pip install pocketsphinx")
    if shutil.which("espeak-ng") is None:
        pytest.skip("needs espeak-ng")
    from benchmarks.recogniser import closest, lists_of, references
    from tta.scoring.metrics.metric import load_metric

    texts = references("asr.dev.json", 5)
    found = lists_of(texts, "en-us+f2", 20)
    assert all(len(one) > 5 for one in found.texts)
    metric = load_metric("wer")

    def errors(picks):
        pairs = zip(picks, texts, strict=True)
        return sum(metric.errors(metric.statistics([text], ref))[0] for text, ref in pairs)

    best = [closest(metric, *one) for one in zip(found.texts, texts, strict=True)]
    reranked = tta.rerank(*found, tta.load(normalizer="auto", engine="onnxruntime"))
    first, picks = [one[0] for one in found.texts], [one.texts[0] for one in reranked]
    assert errors(best) < errors(first)
    assert errors(picks) <= errors(first) + 2


H = Hypothesis
BEST = [[H("a", -1.0), H("b", -2.0)], [H("c", -1.0)]]
BEAM = ("turn on", None, [], -1.0, -1.5)
WRONG = [
    (lambda: nemo.nbest(([one[0] for one in BEST], BEST)), r"NeMo's pair \(best, all\)"),
    (lambda: nemo.nbest((["a"], [["a", "b"]])), "result 1 holds str"),
    (lambda: pyctcdecode.nbest([BEAM, BEAM]), "result 1 is no list of beams"),
    (lambda: pyctcdecode.nbest(["turn on"]), "result 1 is no list of beams"),
    (lambda: vosk.nbest([""]), "result 1 has no alternatives"),
    (lambda: vosk.nbest(['{"partial": "turn"}']), r"Result\(\) or FinalResult\(\)"),
    (lambda: vosk.nbest(["3"]), "result 1 has no alternatives"),
    (lambda: vosk.nbest(['{"alternatives": [{"text": "a"}]}']), "result 1 has no alternatives"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_results_of_another_shape_are_one_line(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize(
    ("count", "size", "message"),
    [(6, 4, "a multiple of size=4"), (6, 0, "a multiple of size=0"), (6, 2, "scores rise inside"),
     (5, 3, "a multiple of size=3")],
)  # fmt: skip
def test_a_size_that_does_not_fit_the_beams_is_one_line(count, size, message):
    output = SimpleNamespace(sequences_scores=np.array([-1.0, -2.0, -3.0, -1.0, -2.0, -3.0]))
    with pytest.raises(InputError, match=message):
        of_transformers.nbest(output, [*"abcdef"][:count], size)
    assert len(of_transformers.nbest(output, [*"abcdef"], 3).texts) == 2
