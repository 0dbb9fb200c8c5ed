"""Hugging Face folders as people have them: other files, other types, padded tables."""

import contextlib
import json

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

import tta
from tests.modeling.formats.test_bert import (
    BIAS,
    DECODER,
    HF_CONFIG,
    TABLE,
    TOKENS,
    google_variables,
    huggingface_tensors,
    write_huggingface,
)
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.errors import InputError
from tta.modeling.formats.bert_tokenizer import is_lower_cased
from tta.modeling.formats.model_directory import load_model

pytestmark = pytest.mark.tensorflow

NORMALIZER = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}
TOKENIZER = {
    "version": "1.0",
    "added_tokens": [{"id": 0, "content": "[PAD]", "special": True}],
    "normalizer": NORMALIZER,
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "model": {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {token: number for number, token in enumerate(TOKENS)},
    },
}
TEXTS = ["The cats sat, unably.", "mat"]


@pytest.fixture(scope="module")
def tensors():
    return huggingface_tensors(google_variables())


@pytest.fixture
def folder(tmp_path, tensors):
    folder = write_huggingface(tmp_path / "bert", tensors)
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS))
    return folder


def write_tokenizer(folder, **changes):
    (folder / "tokenizer.json").write_text(json.dumps(TOKENIZER | changes))


def weights(folder):
    return {name: np.asarray(v) for name, v in load_model(folder).named_weights().items()}


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_a_tokenizer_without_a_vocabulary_of_its_own(folder):
    expected = tta.load(folder).score(TEXTS)
    (folder / "vocab.txt").unlink()
    write_tokenizer(folder)
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "TokenizersBackend"}')
    lm = tta.load(folder)
    np.testing.assert_array_equal(lm.score(TEXTS), expected)
    assert lm.tokenizer.vocabulary.tokens == TOKENS


def test_several_files_of_tensors(folder, tensors):
    expected = weights(folder)
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    parts = {"model-00001-of-00002.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, part in parts.items():
        save_file({name: tensors[name] for name in part}, folder / file)
    index = folder / "model.safetensors.index.json"
    places = {name: file for file, part in parts.items() for name in part}
    index.write_text(json.dumps({"metadata": {}, "weight_map": places}))
    assert_equal(weights(folder), expected)
    (folder / "b.safetensors").unlink()
    with pytest.raises(InputError, match=r"it names a file that is missing: 'b\.safetensors'"):
        load_model(folder)
    for odd in ({"x": "../b.safetensors"}, {"x": 1}, {"x": [1]}, [], None):
        index.write_text(json.dumps({"weight_map": odd}))
        with pytest.raises(InputError, match=r"index\.json: expected weight_map: "):
            load_model(folder)


def test_bfloat16(folder, tensors):
    half = {name: value.astype(ml_dtypes.bfloat16) for name, value in tensors.items()}
    rounded = {name: value.astype(np.float32) for name, value in half.items()}
    expected = weights(write_huggingface(folder, rounded))
    assert_equal(weights(write_huggingface(folder, half)), expected)


def test_a_tied_weight_under_its_second_name_alone(folder, tensors):
    expected = weights(folder)
    names = {TABLE: DECODER, BIAS: "cls.predictions.decoder.bias"}
    write_huggingface(folder, {names.get(name, name): value for name, value in tensors.items()})
    assert_equal(weights(folder), expected)


def test_a_tensor_under_two_names_is_refused(folder, tensors):
    name = next(name for name in tensors if name.endswith("LayerNorm.weight"))
    old = name.replace("weight", "gamma")
    write_huggingface(folder, dict(tensors) | {old: 2 * np.asarray(tensors[name])})
    with pytest.raises(InputError, match=r"tensor \S+LayerNorm.weight is there twice"):
        load_model(folder)


def test_tables_with_rows_for_no_piece(folder, tensors):
    padded = {name: tensors[name] for name in tensors}
    for name in (TABLE, BIAS):
        padded[name] = np.concatenate([padded[name], np.full_like(padded[name][:1], 0.1)])
    lm = tta.load(write_huggingface(folder, padded, HF_CONFIG | {"vocab_size": 24}))
    assert lm.tokenizer.vocabulary.tokens == (*TOKENS, "[padding23]")
    ids, tokens = lm.tokenizer.encode(["the [padding23]"])[0], lm.score_tokens(TEXTS)
    assert 23 not in ids
    # The rows belong to the softmax, as in Hugging Face's model.
    assert lm.model({"input_ids": ids[None], "padding_mask": np.ones_like(ids[None], bool)})[
        "logits"
    ].shape == (1, len(ids), 24)
    assert np.isfinite(np.concatenate([one.log_probabilities for one in tokens])).all()
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in [*TOKENS, "x", "y"]))
    with pytest.raises(InputError, match="it has 25 pieces, but vocab_size in the config is 24"):
        tta.load(folder)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("pytorch_model.bin", "a pickle, which can run code"),
        ("pytorch_model-00001-of-00002.bin", "a pickle, which can run code"),
        ("model.pt", "a pickle, which can run code"),
        ("tf_model.h5", "weights of another library"),
        ("flax_model.msgpack", "weights of another library"),
    ],
)
def test_other_files_of_weights_are_refused_by_name(folder, name, rule):
    (folder / "model.safetensors").rename(folder / name)
    (folder / "training_args.bin").touch()
    if not name.endswith(".bin"):
        (folder / "training_args.bin").unlink()
    with pytest.raises(InputError, match=f"{name}: {rule}"):
        load_model(folder)


@pytest.mark.parametrize(
    ("config", "normalizer", "expected"),
    [
        (None, {}, True),
        (None, {"lowercase": False}, False),
        ({"do_lower_case": False}, {}, False),
        ({"do_lower_case": True, "tokenizer_class": "PreTrainedTokenizerFast"}, {}, True),
        (None, {"lowercase": False, "strip_accents": False}, False),
    ],
)
def test_whether_a_tokenizer_lowers_text(tmp_path, config, normalizer, expected):
    write_tokenizer(tmp_path, normalizer=NORMALIZER | normalizer)
    if config is not None:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    assert is_lower_cased(tmp_path) is expected


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"model": {"type": "BPE"}}, 'type must be "WordPiece", not "BPE"'),
        ({"model": None}, 'type must be "WordPiece", not null'),
        ({"normalizer": {"type": "Lowercase"}}, 'type must be "BertNormalizer", not "Lowercase"'),
        ({"normalizer": NORMALIZER | {"strip_accents": False}}, "strip_accents must be true"),
        ({"normalizer": NORMALIZER | {"lowercase": None}}, "lowercase must be true or false"),
        ({"pre_tokenizer": {"type": "Metaspace"}}, 'type must be "BertPreTokenizer"'),
    ],
)
def test_other_tokenizers_are_refused(tmp_path, changes, rule):
    write_tokenizer(tmp_path, **changes)
    with pytest.raises(InputError, match=rf"tokenizer\.json: {rule}"):
        is_lower_cased(tmp_path)


@pytest.mark.parametrize(
    "vocab",
    [
        *({}, [], None, "a", "ab", -1, [["a"]], ["ab"], [[5, 0]], [["a", [0]]]),
        *({"[PAD]": 1, "[UNK]": 2}, {"[PAD]": 0, "a": 0}, {"[PAD]": "0"}),
    ],
)
def test_ids_with_gaps_are_refused(tmp_path, vocab):
    write_tokenizer(tmp_path, model={"vocab": vocab}, added_tokens=[])
    with pytest.raises(InputError, match=r"tokenizer\.json: expected model\.vocab with the ids"):
        Vocabulary.from_file(tmp_path / "tokenizer.json")


BEGIN = {"content": "[BEGIN]", "lstrip": False}
MODEL, TEMPLATE = TOKENIZER["model"], [{"SpecialToken": {"id": "[CLS]"}}, {"Sequence": {"id": "A"}}]
# Changes of tokenizer.json, or (another file, its contents) -> the rule.
OTHER_TOKENS = [
    ({"added_tokens": [{"id": 23, "content": "<num>"}]}, "it adds tokens to the vocabulary"),
    ({"added_tokens": [{"id": 6, "content": "the"}]}, "it adds tokens to the vocabulary"),
    (("added_tokens.json", {"covid-19": 23}), "it adds tokens .* not supported: 'covid-19'"),
    (("tokenizer_config.json", {"added_tokens_decoder": {"23": BEGIN}}), r"it adds .*'\[BEGIN\]'"),
    (("tokenizer_config.json", {"additional_special_tokens": ["<e>"]}), "it adds tokens"),
    (("special_tokens_map.json", {"additional_special_tokens": [BEGIN]}), "it adds tokens"),
    (("tokenizer_config.json", {"extra_special_tokens": {"x": "<e>"}}), "it adds tokens"),
    (("tokenizer_config.json", {"bos_token": "<s>"}), "it adds tokens"),
    (("tokenizer_config.json", {"never_split": ["cats"]}), "it adds tokens"),
    (("tokenizer_config.json", {"cls_token": "[BEGIN]"}), r'cls_token must be "\[CLS\]", not "\[B'),
    (("tokenizer_config.json", {"sep_token": BEGIN}), r'sep_token must be "\[SEP\]", not "\[B'),
    (("special_tokens_map.json", {"mask_token": "<mask>"}), r'mask_token must be "\[MASK\]"'),
    (("tokenizer_config.json", {"max_input_chars_per_word": 50}),
     "max_input_chars_per_word must be"),
    (("tokenizer_config.json", {"clean_text": False}), "clean_text must be true, not false"),
    (("tokenizer_config.json", {"auto_map": {"AutoTokenizer": "x"}}), "auto_map must be null"),
    ({"model": MODEL | {"max_input_chars_per_word": 200}}, "max_input_chars_per_word must be 100"),
    ({"model": MODEL | {"unk_token": "the"}}, r'unk_token must be "\[UNK\]", not "the"'),
    ({"model": MODEL | {"vocab": {"[PAD]": 0}}}, r"its vocabulary differs from vocab\.txt"),
    ({"post_processor": {"type": "T", "single": TEMPLATE}}, r"post_processor must put \[CLS\]"),
    ({"post_processor": {"cls": ["[CLS]", 3], "sep": ["the", 6]}}, "post_processor must put"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "rule"), OTHER_TOKENS, ids=[str(c) for c, _ in OTHER_TOKENS])
def test_files_that_change_the_pieces_are_refused(folder, change, rule):
    name, values = ("tokenizer.json", TOKENIZER | change) if isinstance(change, dict) else change
    (folder / name).write_text(json.dumps(values))
    with pytest.raises(InputError, match=f"{name}: {rule}"):
        tta.load(folder)


SINGLE = [*TEMPLATE, {"SpecialToken": {"id": "[SEP]"}}]
SAME_TOKENS = [
    {"post_processor": {"type": "TemplateProcessing", "single": SINGLE}},
    {"post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 3], "sep": ["[SEP]", 4]}},
    ("added_tokens.json", {"[MASK]": 5}),
    ("special_tokens_map.json", {"cls_token": {"content": "[CLS]"}, "unk_token": "[UNK]"}),
    ("tokenizer_config.json", {"added_tokens_decoder": {"3": {"content": "[CLS]"}}}),
    ("tokenizer_config.json", {"never_split": None, "additional_special_tokens": []}),
    ("tokenizer_config.json", {"bos_token": None, "eos_token": "[SEP]", "auto_map": None}),
]


@pytest.mark.parametrize("change", SAME_TOKENS, ids=str)
def test_files_that_name_the_tokens_of_the_vocabulary_are_read(folder, change):
    expected = tta.load(folder).score(TEXTS)
    name, values = ("tokenizer.json", TOKENIZER | change) if isinstance(change, dict) else change
    (folder / name).write_text(json.dumps(values))
    np.testing.assert_array_equal(tta.load(folder).score(TEXTS), expected)


def test_two_pairs_of_boundary_tokens_are_refused(folder):
    tokens = [*TOKENS[:-2], "[SOS]", "[EOS]"]
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens))
    with pytest.raises(InputError, match=r"it(s vocabulary)? has \[SOS\] and \[EOS\] beside"):
        tta.load(folder)
    names = {"cls_token": "[SOS]", "sep_token": "[EOS]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(names))
    vocabulary = tta.load(folder).tokenizer.vocabulary
    assert vocabulary.tokens[vocabulary.bos_id] == "[SOS]"


def test_a_class_that_follows_tokenizer_json_must_not_contradict_it(tmp_path):
    write_tokenizer(tmp_path)
    values = {"tokenizer_class": "PreTrainedTokenizerFast", "do_lower_case": False}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(values))
    with pytest.raises(InputError, match="do_lower_case must be true, not false"):
        is_lower_cased(tmp_path)


@pytest.mark.parametrize("value", [5, "x", [5], [[]], {"a": [None]}, {"single": [5, {}]}, None])
def test_odd_values_are_no_traceback(folder, value):
    for name in ("added_tokens", "post_processor", "model", "never_split"):
        (folder / "tokenizer.json").write_text(json.dumps(TOKENIZER | {name: value}))
        with contextlib.suppress(InputError):
            tta.load(folder)
