"""GGUF files are read as transformers reads them, or refused in one line."""

import numpy as np
import pytest

import tta
from tta.errors import InputError

torch = pytest.importorskip("torch", reason="pip install '.[transformers]'")
transformers = pytest.importorskip("transformers", reason="pip install '.[transformers]'")
gguf = pytest.importorskip("gguf", reason="pip install gguf accelerate")
pytest.importorskip("accelerate", reason="pip install gguf accelerate")

LETTERS = "abcdefghijklmnopqrstuvwxyzĠ"
TOKENS = ["<|endoftext|>", *LETTERS, "Ġa", "Ġd"]
SIZE, INNER = 32, 64
TEXTS = ["a dog sat", "a dog ran", "a cat", ""]


def write(path):
    """A llama of one layer and random weights."""
    file, draw = gguf.GGUFWriter(path, "llama"), np.random.default_rng(0)
    file.add_context_length(64)
    file.add_embedding_length(SIZE)
    file.add_block_count(1)
    file.add_feed_forward_length(INNER)
    file.add_head_count(2)
    file.add_head_count_kv(2)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_vocab_size(len(TOKENS))
    file.add_tokenizer_model("gpt2")
    file.add_tokenizer_pre("gpt-2")
    file.add_token_list(TOKENS)
    file.add_token_types([3] + [1] * (len(TOKENS) - 1))
    file.add_token_merges(["Ġ a", "Ġ d"])
    file.add_bos_token_id(0)
    file.add_eos_token_id(0)
    square, wide = (SIZE, SIZE), (INNER, SIZE)
    shapes = {f"blk.0.attn_{one}": square for one in ("q", "k", "v", "output")}
    shapes |= {"blk.0.ffn_gate": wide, "blk.0.ffn_up": wide, "blk.0.ffn_down": wide[::-1]}
    shapes |= {"token_embd": (len(TOKENS), SIZE), "output": (len(TOKENS), SIZE)}
    for name, shape in shapes.items():
        file.add_tensor(f"{name}.weight", draw.normal(0, 0.3, shape).astype(np.float32))
    for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"):
        file.add_tensor(f"{name}.weight", np.ones(SIZE, np.float32))
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


def test_a_file_its_folder_and_what_transformers_saves_score_alike(tmp_path, capfd):
    (folder := tmp_path / "own").mkdir()
    write(folder / "model.gguf")
    for kind in (transformers.AutoTokenizer, transformers.AutoModelForCausalLM):
        one = kind.from_pretrained(folder, gguf_file="model.gguf", trust_remote_code=False)
        one.hf_quantizer = None  # otherwise it cannot be saved
        one.save_pretrained(tmp_path / "saved")
    names = folder / "model.gguf", folder, tmp_path / "saved"
    capfd.readouterr()
    scores = [tta.load(f"transformers:{name}").score(TEXTS) for name in names]
    assert capfd.readouterr().err == ""
    assert len(set(np.round(scores[0], 3))) == len(TEXTS)
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_allclose(scores[0], scores[2], rtol=0, atol=1e-4)


def test_several_files_and_one_that_is_none_are_one_line(tmp_path):
    for name in ("q4.gguf", "q8.gguf"):
        (tmp_path / name).write_bytes(b"GGUF and no more")
    with pytest.raises(InputError, match=r"2 GGUF files: name one of them, such as .*q4\.gguf$"):
        tta.load(f"transformers:{tmp_path}")
    with pytest.raises(InputError) as caught:
        tta.load(f"transformers:{tmp_path / 'q8.gguf'}")
    assert "\n" not in str(caught.value)
    assert "q8.gguf" in str(caught.value)
