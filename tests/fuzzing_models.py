"""Hostile files of models and data sets, read by h5py, safetensors, gensim, KenLM and TensorFlow.

As tests/fuzzing.py. The libraries are written in C or C++, so a damaged file may also end the
process: benchmarks/faults/fuzz.py reads these files in child processes. Sizes are tiny.
"""

import contextlib
import functools
import io
import json
import struct
import tempfile
from pathlib import Path

import h5py
import ml_dtypes
import numpy as np
from safetensors.numpy import save

from tests.fuzzing import BERT_CONFIG, Reader, json_bytes
from tta.data.records.features import IdLimits
from tta.modeling.config.transformer import TransformerConfig
from tta.modeling.config.weights import named
from tta.modeling.formats import bert
from tta.modeling.formats.bert_tokenizer import is_lower_cased
from tta.modeling.formats.huggingface import huggingface_name
from tta.modeling.formats.model_directory import load_model
from tta.modeling.formats.run_checkpoint import write_checkpoint
from tta.modeling.formats.standardization import read_standardization
from tta.modeling.formats.weights import load_weights, save_weights
from tta.modeling.kits.onnx.weights import Arrays
from tta.scoring.scorers.ngram_model import NgramModel

CONFIG = TransformerConfig(
    vocab_size=7,
    hidden_size=2,
    num_hidden_layers=1,
    num_attention_heads=1,
    intermediate_size=3,
    max_position_embeddings=5,
)
LIMITS = IdLimits(max_length=9, vocab_size=7)


def _values(config=CONFIG):
    """{name of a weight: array}, all different numbers."""
    rng = np.random.default_rng(0)
    shapes = {name: weight.shape for name, weight in named(config.weights)}
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def _original_values():
    """{name in the original code: array}."""
    names, values = bert.original_names(CONFIG.num_hidden_layers), _values()
    return {theirs: values[ours] for ours, theirs in names.items()}


# A model directory, whose mutated part is written anew for each input.


def folder_of(path, **files):
    """A folder beside the path, with these files where they are not there yet."""
    folder = path.with_suffix(".folder")
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        target = folder / name.replace("__", ".")
        if not target.exists():
            target.write_bytes(content)
    return folder


class _Model(Arrays):
    """What weights are read into; they are there if `arrays` has them all."""

    def __init__(self, config=CONFIG):
        super().__init__(config)

    def check(self):
        assert list(self.arrays) == [name for name, _ in named(self.config.weights)]
        assert all(np.isfinite(array).all() for array in self.arrays.values())


def _check_weights(path):
    model = _Model()
    fingerprints = load_weights(model, path)
    model.check()
    assert all(isinstance(value, str) for value in fingerprints.values())


def _weights_files():
    """A file of `save_weights`, and one that has no checksums, so that edits get further."""

    class Random:
        def named_weights(self):
            return _values()

    with tempfile.TemporaryDirectory() as folder:
        save_weights(Random(), Path(folder) / "file", fingerprints={"vocab.txt": "00"})  # pyright: ignore
        ours = (Path(folder) / "file").read_bytes()
    plain = io.BytesIO()
    with h5py.File(plain, "w") as file:
        file.attrs["vocab.txt"] = "00"
        for name, array in _values().items():
            file.create_dataset(name, data=array)
    return ours, plain.getvalue()


def _check_huggingface(name, path):
    folder = folder_of(path, config__json=json_bytes(BERT_CONFIG | {"model_type": "bert"}))
    (folder / name).write_bytes(path.read_bytes())
    if name != "model.safetensors" and not (folder / "part").exists():
        (folder / "part").write_bytes(_safetensors_files()[0])
    load_model(folder, build=_Model).check()


@functools.cache
def _safetensors_files():
    config = TransformerConfig(**{k: v for k, v in BERT_CONFIG.items() if k != "hidden_act"})
    names = bert.original_names(config.num_hidden_layers)
    values = {huggingface_name(names[ours]): array for ours, array in _values(config).items()}
    values["bert.embeddings.token_type_embeddings.weight"] = np.ones((2, 8), np.float32)
    values = {
        n: v.T.copy() if v.ndim == 2 and "embeddings" not in n else v for n, v in values.items()
    }
    half = {n: v.astype(ml_dtypes.bfloat16) for n, v in values.items()}
    return save(values), save(half)


def _weight_map():
    (whole, _) = _safetensors_files()
    size = struct.unpack_from("<Q", whole)[0]
    names = json.loads(whole[8 : 8 + size])
    return (json_bytes({"weight_map": dict.fromkeys(names, "part")}),)


def _check_tokenizer(name, path):
    folder = path.with_suffix(f".{name}")
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(path.read_bytes())
    assert is_lower_cased(folder) in (True, False)
    if name == "tokenizer.json":
        from tta.data.vocabulary.word_pieces import Vocabulary

        assert len(Vocabulary.from_file(folder / name))


_TOKENIZER = {
    "added_tokens": [{"id": 0, "content": "[PAD]", "special": True}],
    "normalizer": {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    },
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "model": {
        "type": "WordPiece",
        "continuing_subword_prefix": "##",
        "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "the": 5},
    },
}


# TensorFlow's files. It is imported in the checks: most readers do without it.


def _bundle(values, suffix):
    """A file of a TensorFlow checkpoint of arrays: that with the suffix."""
    import tensorflow as tf

    with tempfile.TemporaryDirectory() as folder:
        tf.raw_ops.SaveV2(
            prefix=f"{folder}/ckpt",
            tensor_names=list(values),
            shape_and_slices=[""] * len(values),
            tensors=[tf.constant(array) for array in values.values()],
        )
        return (Path(folder) / f"ckpt.{suffix}").read_bytes()


_INDEX, _DATA = "index", "data-00000-of-00001"


def _check_original(name, path):
    folder = path.with_suffix(".folder")
    if not folder.exists():
        values = _original_values()
        files = {f"model.ckpt-1.{suffix}": _bundle(values, suffix) for suffix in (_INDEX, _DATA)}
        config = CONFIG.to_dict() | {"model_type": "tta"}
        folder.mkdir()
        (folder / "config.json").write_bytes(json_bytes(config))
        for file, content in files.items():
            (folder / file).write_bytes(content)
    (folder / name).write_bytes(path.read_bytes())
    load_model(folder, build=_Model).check()


def _run():
    """A checkpoint of a run."""
    with tempfile.TemporaryDirectory() as folder:
        write_checkpoint(Path(folder) / "ckpt-7.safetensors", _values())
        return ((Path(folder) / "ckpt-7.safetensors").read_bytes(),)


def _check_run(path):
    folder = folder_of(path)
    (folder / "checkpoints").mkdir(exist_ok=True)
    CONFIG.to_json(folder / "config.json")
    (folder / "checkpoints" / "ckpt-7.safetensors").write_bytes(path.read_bytes())
    with contextlib.redirect_stderr(io.StringIO()):
        load_model(folder, build=_Model).check()


@functools.cache
def _shard_reader():
    """The pipeline of training, compiled once: path -> number of records; it raises as training."""
    import tensorflow as tf

    from tta.data.records.examples import parse_record
    from tta.data.records.features import DEFAULT_FEATURES

    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def count(path):
        records = tf.data.TFRecordDataset(path).map(
            lambda record: parse_record(record, DEFAULT_FEATURES, LIMITS)
        )
        return records.reduce(0, lambda number, _: number + 1)

    return count


def _check_shard(path):
    import tensorflow as tf

    from tta.data.records.examples import read_sentences

    try:
        trained = int(_shard_reader()(str(path)))
    except (tf.errors.OpError, UnicodeDecodeError):
        trained = None  # training would stop, and read the shard anew to find the record
    found = list(read_sentences(path, LIMITS))
    # What training takes, reading takes, too. Conversely, TensorFlow refuses an Example in two
    # parts, which protobuf joins: `check_records` then names the shard.
    assert trained in (None, len(found))
    for ids in found:
        assert LIMITS.min_length <= len(ids) <= LIMITS.max_length
        assert set(ids) <= set(range(LIMITS.vocab_size))


def _check_record(path):
    """The file is one record, with a checksum that is right: edits get past it."""
    import tensorflow as tf

    shard = path.with_suffix(".shard")
    with tf.io.TFRecordWriter(str(shard)) as writer:
        writer.write(path.read_bytes())
    _check_shard(shard)


def _records():
    from tta.data.records.examples import encode_records

    ids = np.array([3, 5, 6, 1, 3, 6, 1], np.int64)
    return tuple(encode_records(ids, np.array([4, 3])))


def _shard():
    import tensorflow as tf

    with tempfile.TemporaryDirectory() as folder:
        with tf.io.TFRecordWriter(f"{folder}/shard") as writer:
            for record in _records():
                writer.write(record)
        return ((Path(folder) / "shard").read_bytes(),)


# Libraries that people install for them.


def _check_arpa(path):
    scores = NgramModel(path).score(["the cat", ""])
    assert np.isfinite(scores).all()


def _check_standardization(path):
    mean, deviation = read_standardization(path, 2)
    assert np.isfinite(mean / deviation).all()


def _standardization_file():
    return (save({"mean": np.array([1.0, -2.0]), "deviation": np.array([0.5, 3.0])}),)


_ARPA = b"""\\data\\
ngram 1=5
ngram 2=2

\\1-grams:
-1.0\t<unk>
-99\t<s>\t-0.5
-0.75\t</s>
-0.5\tthe\t-0.25
-0.625\tcat\t-0.125

\\2-grams:
-0.25\t<s> the
-0.125\tcat </s>

\\end\\
"""

MODEL_READERS = {
    "weights": Reader(_check_weights, _weights_files),
    "safetensors": Reader(
        functools.partial(_check_huggingface, "model.safetensors"), _safetensors_files
    ),
    "weight_map": Reader(
        functools.partial(_check_huggingface, "model.safetensors.index.json"), _weight_map
    ),
    "tokenizer_config": Reader(
        functools.partial(_check_tokenizer, "tokenizer_config.json"),
        (json_bytes({"do_lower_case": False, "tokenizer_class": "BertTokenizer"}),),
    ),
    "tokenizer_json": Reader(
        functools.partial(_check_tokenizer, "tokenizer.json"), (json_bytes(_TOKENIZER),)
    ),
    "standardization": Reader(_check_standardization, _standardization_file),
    "run": Reader(_check_run, _run),
    "arpa": Reader(_check_arpa, (_ARPA,)),
}
TENSORFLOW_READERS = {
    "tf1_index": Reader(
        functools.partial(_check_original, f"model.ckpt-1.{_INDEX}"),
        lambda: (_bundle(_original_values(), _INDEX),),
    ),
    "tf1_data": Reader(
        functools.partial(_check_original, f"model.ckpt-1.{_DATA}"),
        lambda: (_bundle(_original_values(), _DATA),),
    ),
    "tf1_state": Reader(
        functools.partial(_check_original, "checkpoint"),
        (b'model_checkpoint_path: "a/model.ckpt-1"\nall_model_checkpoint_paths: "b"\n',),
    ),
    "shard": Reader(_check_shard, _shard),
    "record": Reader(_check_record, _records),
}
