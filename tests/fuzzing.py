"""Hostile files for every reader: a reader gives a result or an `InputError`, and nothing else.

A tape of bytes, whoever made it, is read as edits of a valid file: so a fuzzer that knows nothing
of a format gets past its first line, and every tape is some file. tests/test_fuzzing.py draws
tapes with Hypothesis, benchmarks/faults/fuzz.py many more, also with Atheris. Without TensorFlow.
"""

import bz2
import gzip
import io
import json
import lzma
import re
import struct
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from tta.data.nbest.files import read_nbest, write_nbest
from tta.data.nbest.formats import FORMATS, load_format
from tta.data.pairs.minimal_pairs import read_minimal_pairs
from tta.data.pairs.sts import read_sts
from tta.data.records.dataset import load_dataset_info, shard_paths
from tta.data.text.files import open_input
from tta.data.text.lines import TextReader
from tta.data.vocabulary.word_pieces import TTA_SPECIALS, Vocabulary
from tta.data.vocabulary.words import WordVocabulary
from tta.errors import InputError
from tta.modeling.config.base import read_config
from tta.modeling.formats.bert import GOOGLE_ACTIVATIONS, bert_config
from tta.scoring.reports.marked_text import mark
from tta.scoring.scorers.ngram_model import check_counts
from tta.scoring.scorers.pooling import PoolingStatistics
from tta.scoring.scorers.scorer import TokenScores

# What has broken parsers before: not UTF-8, half a surrogate pair, line ends that are none, byte
# order marks, magic numbers of archives and pickles, numbers that are none or too many.
NASTY = (
    *(b"\x00", b"\xff", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\xc2\x85", b"\x0b", b"\x0c"),
    *(b"\x1b[31m", b"\r", b"\n", b"\r\n", b"\t", b" ", b"\xef\xbb\xbf", b"\x1f\x8b"),
    *(b"\xfd7zXZ\x00", b"\xff\xfe", b"\x80\x04"),
    *(b"0", b"-1", b"1e999", b"1e-999", b"nan", b"-inf", b"NaN", b"Infinity", b"1_0", b"0x1"),
    *(b"9" * 400, b"9" * 5000, b"1" + b"0" * 11, b"true", b"null", b'""', b'"\\ud800"', b'"'),
    *(b"{", b"}", b"[", b"]", b"[]", b"{}", b":", b",", b"\\", b"'", b"|||", b"-", b"cat"),
)

# Bytes of what is repeated in a row. The second number shows what takes quadratic time.
_REPEATED = 1_000, 100_000

_TOKEN = re.compile(rb"\w+|[^\w\s]|\s", re.DOTALL)


@dataclass(frozen=True)
class Reader:
    """A reader and files that it takes.

    Attributes:
        check: called with a path; reads the file, and raises AssertionError where a result is none.
        seeds: valid files, bytes; or a function that makes them.
    """

    check: Callable
    seeds: tuple | Callable

    @cached_property
    def tokens(self):
        """The tokens of each seed."""
        seeds = self.seeds() if callable(self.seeds) else self.seeds
        return [_TOKEN.findall(seed) for seed in seeds]


def hostile_file(reader, tape):
    """The file that a tape makes: bytes.

    The first byte chooses a seed, or no seed and the tape itself; then every four bytes are an
    edit: what is done, where (two bytes), and how much or with what.
    """
    if not tape or tape[0] % 16 == 15:
        return tape[1:]
    tokens = list(reader.tokens[tape[0] % len(reader.tokens)])
    for kind, place, amount in struct.iter_unpack("<BHB", tape[1 : 1 + (len(tape) - 1) // 4 * 4]):
        start = place % (len(tokens) + 1)
        run = tokens[start : start + 1 + amount % 32]
        nasty = NASTY[amount % len(NASTY)]
        match kind % 8:
            case 0:
                tokens[start : start + 1] = [nasty]
            case 1:
                tokens[start:start] = [nasty]
            case 2:
                del tokens[start : start + len(run)]
            case 3:
                tokens[start:start] = run
                if kind > 250 and run:
                    tokens[start:start] = run * (_REPEATED[1] // sum(map(len, run)))
            case 4:
                tokens += run
            case 5 if run:
                flipped = bytearray(run[0])
                flipped[amount % len(flipped)] ^= 1 << kind // 8 % 8
                tokens[start] = bytes(flipped)
            case 6:
                tokens[start:start] = [nasty] * (_REPEATED[kind > 250] // len(nasty))
            case _:
                tokens[start:] = [] if amount > 200 else tokens[start:]
    return b"".join(tokens)


def outcome(reader, path, tape):
    """Writes the file that a tape makes, and reads it.

    Returns:
        "result" or "refused".

    Raises:
        AssertionError: the refusal is not one printable line.
        Exception: whatever the reader raised that it must not.
    """
    path.write_bytes(hostile_file(reader, tape))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            reader.check(path)
        except InputError as refusal:
            message = str(refusal)
        else:
            return "result"
    assert message.isprintable(), f"not one printable line: {message!r}"
    assert len(message) < 2000, f"not a short line: {len(message)} characters"
    return "refused"


# The checks: what is read is used, as far as that takes no model.


def _check_nbest(format, path, **options):
    lists = read_nbest(path, format, **options).lists
    written = io.StringIO()
    write_nbest(written, lists, format)
    if "score_file" in options or written.getvalue().startswith("\ufeff"):
        return  # Costs are in a second file; a byte order mark at the start of a file is not text.
    again = path.with_suffix(".again")
    again.write_text(written.getvalue(), encoding="utf-8", newline="")
    columns = written.getvalue().partition("\n")[0].count("\t") + 1
    if format == "tsv" and columns != 2:
        options = {}
    if (
        format == "srilm"
    ):  # Features and the last digits of scores change, and the name of the file.
        (one,), (other,) = lists, read_nbest(again, format, **options).lists
        assert [h.text for h in one.hypotheses] == [h.text for h in other.hypotheses]
        return
    assert read_nbest(again, format, **options).lists == lists


def _check_espnet2(name, path):
    folder = path.with_suffix(".folder")
    (folder / "1best_recog").mkdir(parents=True, exist_ok=True)
    (folder / "1best_recog" / "text").write_text("u a cat\nv a hat\n")
    (folder / "1best_recog" / name).write_bytes(path.read_bytes())
    lists = read_nbest(folder).lists
    again = path.with_suffix(".written")
    write_nbest(again, lists, "espnet2", overwrite=True)
    if not (again / "1best_recog" / "text").read_bytes().startswith(b"\xef\xbb\xbf"):
        assert read_nbest(again).lists == lists  # a byte order mark is not text there, see above


def _check_costs(path):
    hypotheses = path.with_suffix(".text")
    hypotheses.write_text("utt-1 a cat\nutt-2 a hat\nw-x-1 the dog\n", encoding="utf-8")
    _check_nbest("kaldi", hypotheses, score_file=path)


def _check_references(path):
    hypotheses = path.with_suffix(".tsv")
    hypotheses.write_text("0\ta cat\t-1\n1\ta hat\t-2\n", encoding="utf-8")
    read_nbest(hypotheses, reference_file=path)


def _check_vocabulary(path):
    vocabulary = Vocabulary.from_file(path)
    again = path.with_suffix(".again")
    vocabulary.save(again, overwrite=True)
    assert Vocabulary.from_file(again) == vocabulary


def check_config(path):
    config = read_config(path)
    values = config.to_dict().values()
    assert all(np.isfinite(float(v)) for v in values if isinstance(v, (int, float)))
    again = path.with_suffix(".again")
    config.to_json(again)
    assert read_config(again) == config


def _check_dataset(path):
    folder = path.parent / "dataset"
    folder.mkdir(exist_ok=True)
    (folder / "dataset.json").write_bytes(path.read_bytes())
    (folder / "train-00000-of-00001.tfrecord").write_bytes(b"12345")
    info = load_dataset_info(folder)
    assert shard_paths(folder, info, "train")
    assert info["max_seq_length"] > 0


def _check_packed(path):
    with open_input(path) as stream:
        while stream.read(1 << 16):
            pass


def _check_words(path):
    vocabulary = WordVocabulary.from_file(path)
    again = path.with_suffix(".again")
    vocabulary.save(again, overwrite=True)
    assert WordVocabulary.from_file(again) == vocabulary


def _check_marks(path):
    first, _, rest = path.read_bytes().decode("utf-8", "replace").partition("\n")
    tokens = rest.split(" ")
    mark(first, rest, TokenScores(tokens, np.zeros(len(tokens))))


def json_bytes(value):
    return json.dumps(value).encode()


_ARPA = b"\\data\\\nngram 1=3\nngram 2=1\n\n\\1-grams:\n-1\t<unk>\n-1\t<s>\t0\n-1\tcat\n\n\\end\\\n"


def _pooling_file(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


_HYPOTHESES = [{"text": "the cat", "score": -1.5}, {"text": "a hat", "score": -2}]
_DATASET = {
    "format_version": 1,
    "vocab_size": 7,
    "vocab_sha256": "00",
    "lower_case": True,
    "max_seq_length": 16,
    "sources": ["a.txt"],
    "splits": {"train": {"shards": 1, "sentences": 2, "tokens": 9, "shard_bytes": [5]}},
}
CONFIG = {"vocab_size": 30, "hidden_size": 8, "num_attention_heads": 2, "layer_norm_eps": 1e-6}
_CONFIGS = (
    CONFIG,
    CONFIG | {"model_type": "bilm"},
    CONFIG | {"model_type": "cloze", "num_tower_layers": 1},
    CONFIG | {"model_type": "unilm", "output_layer": "softmax"},
)
BERT_CONFIG = {
    "vocab_size": 30,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 9,
    "max_position_embeddings": 5,
    "hidden_act": "gelu",
}
_PIECE_SHARES = np.full(3, 1 / 3, np.float32)
_NBEST_SEEDS = {
    "dict": (
        json_bytes({"u": {"hyp_1": _HYPOTHESES[0], "hyp_2": _HYPOTHESES[1], "ref": "the cat"}}),
        b'{"u": {"hyp_1": {"text": "a"}},\n "v": {"hyp_7": {"text": "b", "x": [1]}, "k": 1}}\n',
    ),
    "jsonl": (
        json_bytes({"id": "u", "hypotheses": _HYPOTHESES, "reference": "the cat"}) + b"\n",
        b'{"nbest": ["a cat", "a hat"]}\n{"hyps": [{"text": "b"}]}\n',
        b'{"hyps": ["a cat", "a hat"], "scores": [-1, -2.5]}\n{"hyps": []}\n',
        b'{"hyps": ["a", "b"], "am_score": [-1, -2], "lm_score": [-3, -4], "lm": [1, null]}\n',
        b'{"hyps": [{"text": "a", "am_score": -1, "scores": {"ctc": 3}, "lm_score": "-2"}]}\n',
        b'{"audio": "a/u.wav", "nbest": [["a", -1], ["b", -2]]}\n{"uttId": 2, "nbest": []}\n',
        b'{"hypotheses": [["\xe2\x96\x81a", "b"], ["c"]], "scores": [-1, -2], "target": "x"}\n',
        b'{"id": 1, "asr": {"n_best": [{"text": "a", "score": -1}, {"text": "b", "score": -2}]}}',
        b'{"hyps": ["a", "b"], "am_scores": [-1, -2], "lm_scores": [-3, -4]}\n',
        b'{"hyps": [["a", null, [["a", [0, 1]]], -1, -2]]}\n',
        b'{"id": 1, "hyps": [{"sentence": "&apos;a", "logprob": -1}, {"hyp": "<s> b", "logp": 0}]}',
    ),
    "json_rows": (
        b'[{"id": 1, "rank": 2, "text": "a"}, {"id": 1, "rank": "1", "text": "b"}]',
        b'{"utt": "u", "text": "a", "score": -1}\n{"utt": "u", "text": "b", "score": -2}\n',
        b'[{"id": 1, "hyp": "a", "ref": "x"}, {"id": 1, "hyp": "b", "ref": "x", "lm": 3}]\n',
    ),
    "moses": (
        b"0 ||| the cat ||| lm= -3.2 tm= -1.2 ||| -4.4\n0 ||| a hat ||| lm= -1 ||| -5 ||| 0-0\n",
        b"7|||a &apos; b@@ c|||-1\n8|||b|||-2|||0-0|||[S [NP x]]\n",
        b"0 ||| a ||| -3 7 ||| d: 1 2 ||| -1\n1 ||| b ||| F0=-1e2 ||| -2 ||| 0-0\n",
    ),
    "kaldi": (b"utt-1 the cat\nutt-2 a hat\nw-x-1 the dog\nw-x-2\n",),
    "hyporadise": (
        b'{"texts": ["a cat", "a hat"], "scores": [-1, -2.5]}\n{"texts": ["b"], "scores": [-1]}',
        b'{"texts": [["a cat", "a hat"], ["b"]], "scores": [[-1, -2.5], [-3]], "n": 1}',
        json_bytes(
            [{"input": ["a cat", "a hat"], "output": "a cat", "score": [-1, -2.5], "id": 3}]
        ),
        b'[{"input": ["a"], "am_score": [-1e-3]},\n {"input": ["b"], "am_score": [2]}]',
        b'[{"input": ["a", "b"], "am_score": [-1, 2], "ctc_score": [3, 4], "x_prob": [0, 1]}]',
    ),
    "csv": (
        b'id,text,score,reference\nu,"the cat, a",-1.5,r\nu,a hat,-2,r\nv,"a ""b""",-3,\n',
        b"n,hyp,utt_id\n1,the cat,u\n2,a hat,u\n",
        b"id,text,am_score,LM_score,lm\nu,a,-1,-2,\nu,b,-1,-3,4\n",
    ),
    "tsv": (
        b"u\tthe cat\t-1.5\nu\ta hat\t-2\nv\tdog\t-3\n",
        b"the cat\t-1.5\na hat\t-2\n",
        b'id\ttext\tref\nu\tthe "cat"\tr\nu\ta hat\t\n',
    ),
    "fairseq": (
        b"S-1\tx\nT-1\ty\nH-1\t-0.5\ta c@@ at\nD-1\t-0.5\ta cat\nP-1\t-0.5 -0.5\nA-1\t0-0\n"
        b"H-1\t-1\thats\nD-1\t-1\thats\nP-1\t-1\n",
        b"1 | INFO | fairseq_cli | x\nH-0\t-1\ta cat\nH-7\t-2e-1\tb\nH-0\t-3\t\n",
    ),
    "nemo": (
        b'{"audio_filepath": "a/u.wav", "text": "r", "pred_text": "a", "beams": [["a", -1.5]]}\n',
        b'{"file": "x/a.wav", "beams": [{"text": "a", "score": -1}, {"text": "b", "score": -2}]}',
        b'{"id": "u", "beams": [["a cat", -1], ["a hat", -2]]}\n{"id": "v", "beams": []}\n',
    ),
    "sockeye": (
        b'{"sentence_id": 1, "translation": "a", "score": 1.5, "scores": [[1.5], [2, 3]],'
        b'"translations": ["a", "b"]}\n{"sentence_id": 2, "scores": [1], "translations": ["c"]}',
    ),
    "responses": (
        json_bytes(
            {"results": [{"alternatives": [{"transcript": "a", "confidence": 0.5}, {}]}] * 2}
        ),
        b'{"alternatives": [{"confidence": 9.5, "text": "a"}]}\n'
        b'{"alternatives": [{"text": "", "confidence": 1}]}',
        b'[{"Id": "u", "NBest": [{"Confidence": 0.5, "Lexical": "a", "Display": "A."}]}]',
        b'{"jobName": "u", "results": {"transcripts": [{"transcript": "a"}], "segments": '
        b'[{"alternatives": [{"transcript": "a"}, {"transcript": "b"}]}]}}',
        b'{"id": "u", "result": {"hypotheses": [{"transcript": "a", "likelihood": -3}]}}',
        b'{"custom_id": "u", "choices": [{"message": {"content": "a"}, "logprobs": {"content": '
        b'[{"logprob": -1}, {"logprob": -2.5}]}}, {"message": {"content": null}}]}',
        b'{"choices": [{"text": "a", "logprobs": {"token_logprobs": [-1, -2]}}, {"text": "b"}]}',
        b'{"request_id": "7", "outputs": [{"index": 0, "text": "a", "cumulative_logprob": -3}]}',
    ),
    "srilm": (
        b"-1.5 -2e1 2 <s> the cat </s>\n-3 -4 0\n",
        b"NBestList1.0\n(-100) the cat\n(-200.5) a\n",
        b"NBestList2.0\n(-9) a ( st: 0.1 et: 0.5 g: -1 a: -2 ) k ( st: 0.2 et: 0.5 g: 0 a: 1 )\n",
    ),
    "plain": (b"the cat\na hat\n\nb\n",),
    "espnet1": (
        json_bytes(
            {"utts": {"u": {"output": [{"rec_text": "a <eos>", "score": -1, "text": "a"}]}}}
        ),
    ),
}
assert _NBEST_SEEDS.keys() == {name for name in FORMATS if not load_format(name).is_folder}

READERS = {
    **{
        f"nbest_{name}": Reader(
            partial(_check_nbest, name, **{"beam_size": 2} if name in ("tsv", "plain") else {}),
            seeds,
        )
        for name, seeds in _NBEST_SEEDS.items()
    },
    "nbest_any": Reader(
        lambda path: read_nbest(path),
        tuple(seed for seeds in _NBEST_SEEDS.values() for seed in seeds),
    ),
    "espnet2_text": Reader(partial(_check_espnet2, "text"), (b"u a cat\nv a hat\n", b"v\nu b\n")),
    "espnet2_score": Reader(
        partial(_check_espnet2, "score"), (b"u -1\nv tensor(-2., device='cuda:0')\n",)
    ),
    "kaldi_costs": Reader(_check_costs, (b"utt-1 1.5\nutt-2 -3e2\nw-x-1 0\n",)),
    "references": Reader(
        _check_references,
        (
            *(b"0 a cat\n1 a hat\n", b"a cat\na hat\n", b"a cat (0)\na hat (b-1)\n"),
            b"0 1 s 0.0 1.5 <o,f0> a cat\n1 1 s 0 1 a hat\n",
            b'id,reference\n0,"a, cat"\n1,a hat\n',
            b'{"audio_filepath": "0.wav", "text": "a cat"}\n{"audio": "1", "text": "a hat"}\n',
            b'{"0": "a cat", "1": "a hat"}',
            b'{"audio": {"path": "0.wav"}, "text": "a"}\n{"audio": {"path": "1"}, "text": "b"}',
            b"<s> a cat </s> (0)\n<s> a hat </s> (1)\n",
            b'[{"session_id": "0", "words": "a { b / c }"}, {"session_id": "1", "words": "d"}]',
            b'<refset refid="a"><doc><seg id="1">a&#32;cat</seg><seg id="2">b</seg></doc></refset>',
        ),
    ),
    "sts": Reader(
        read_sts,
        (
            b"main\tcaptions\t2012\t0001\t5.000\tA cat sits.\tA cat is sitting.\n",
            b"pair_ID\tsentence_A\tsentence_B\trelatedness_score\n1\tA cat.\tA dog.\t4.5\n",
            b'sentence1,sentence2,score\n"A, cat",a dog,3\n',
            b'"one ""two""",three,4\n',
        ),
    ),
    "minimal_pairs": Reader(
        read_minimal_pairs,
        (
            b'{"sentence_good": "A cat sits.", "sentence_bad": "A cat sit.", "UID": "a", "n": 1}\n',
            b"A cat sits.\tA cat sit.\n\nDogs run.\tDogs runs.\n",
            b"UID\tsentence_good\tsentence_bad\na\tA cat sits.\tA cat sit.\n",
        ),
    ),
    "text_column": Reader(
        lambda path: list(TextReader([str(path)], column="text")),
        (b'id,text\n1,"a, cat"\n', b"text\tid\na cat\t1\n", b'{"text": "a"}\n{"text": 3}\n'),
    ),
    "text": Reader(lambda path: list(TextReader([str(path)])), (b"a cat\n\n the dog \r\n",)),
    "vocabulary": Reader(
        _check_vocabulary,
        (
            "".join(f"{t}\n" for t in (*TTA_SPECIALS, "cat", "##s", "ä")).encode(),
            b"[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\na\r\n",
        ),
    ),
    "config": Reader(check_config, tuple(map(json_bytes, _CONFIGS))),
    "bert_config": Reader(
        lambda path: bert_config(path, GOOGLE_ACTIVATIONS), (json_bytes(BERT_CONFIG),)
    ),
    "dataset_info": Reader(_check_dataset, (json_bytes(_DATASET),)),
    "pooling": Reader(
        lambda path: PoolingStatistics.load(path, 3, 2),
        (
            _pooling_file(piece_probabilities=_PIECE_SHARES),
            _pooling_file(
                **{
                    "piece_probabilities": _PIECE_SHARES,
                    "context.mean": np.zeros(2, np.float32),
                    "context.matrix": np.eye(2, dtype=np.float32),
                }
            ),
        ),
    ),
    "arpa_counts": Reader(check_counts, (_ARPA, gzip.compress(_ARPA, mtime=0))),
    "packed_text": Reader(
        _check_packed,
        tuple(pack(b"the cat\n" * 9) for pack in (lzma.compress, bz2.compress, gzip.compress)),
    ),
    "word_vocabulary": Reader(
        _check_words,
        (b"[PAD] 0\n[EOS] 9\n[UNK] 3\n[SOS] 9\nthe 5\ncat 2\n",),
    ),
    "marked_text": Reader(_check_marks, (b"the cats' sat\n[SOS] the cat ##s ' sat [EOS]",)),
}
