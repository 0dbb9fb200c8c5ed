"""Loads a masked or causal language model of transformers, or says why a folder is none."""

import contextlib
import hashlib
import importlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

from tta.errors import InputError, install

VERSIONS = {"torch": (2, 4), "transformers": (4, 57)}
DTYPES = ("float32", "bfloat16")


def load_model(name: str, precision: str) -> tuple[Any, Any, bool, int]:
    """Loads a model directory, a name of the Hub, or a GGUF file. No code of the model is run.

    Returns (the model, its tokenizer, whether it is masked, its longest input in tokens). Raises
    InputError if a package is missing or too old, there is no such model, it is neither masked nor
    causal, or it lacks weights that its output depends on.
    """
    torch, transformers = (_package(package) for package in VERSIONS)
    if precision not in DTYPES:
        raise InputError(f"precision must be {' or '.join(DTYPES)}", name)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()  # no table of weights that are missing
    with one_line(name), contextlib.ExitStack() as stack:
        source, source_options = _source(name)
        if (
            source_options
        ):  # transformers shows the progress of a GGUF file, whatever is asked of it
            stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        config = transformers.AutoConfig.from_pretrained(
            source, trust_remote_code=False, **source_options
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            source, trust_remote_code=False, **source_options
        )
        is_masked = "gguf_file" not in source_options and _is_masked(config)
        kind = "AutoModelForMaskedLM" if is_masked else "AutoModelForCausalLM"
        model, report = getattr(transformers, kind).from_pretrained(
            source,
            dtype=getattr(torch, precision),
            output_loading_info=True,
            ignore_mismatched_sizes=True,
            trust_remote_code=False,
            **source_options,
        )
        model = model.eval().to("cuda" if torch.cuda.is_available() else "cpu")
        # With their shapes, in some versions.
        mismatched = {k if isinstance(k, str) else k[0] for k in report["mismatched_keys"]}
        _check_weights(torch, model, mismatched.union(report["missing_keys"]))
    return model, tokenizer, is_masked, _max_length(config, tokenizer)


def _source(name) -> tuple[str, dict[str, Any]]:
    """What `from_pretrained` takes for a name, and for a GGUF file or a folder with one."""
    path = Path(name)
    files = [path] if path.suffix == ".gguf" else []
    if path.is_dir() and not (path / "config.json").exists():
        files = sorted(path.glob("*.gguf"))
    if len(files) > 1:
        raise InputError(f"{len(files)} GGUF files: name one of them, such as {files[0]}")
    return (str(files[0].parent), {"gguf_file": files[0].name}) if files else (name, {})


def _package(name):
    """A package that the models need. Raises InputError if it is missing or too old."""
    try:
        package = importlib.import_module(name)
    except ImportError:
        raise InputError(f"transformers:MODEL needs {name}: {install('transformers')}") from None
    least = VERSIONS[name]
    if tuple(map(int, package.__version__.split(".")[:2])) < least:
        version = ".".join(map(str, least))
        raise InputError(
            f"transformers:MODEL needs {name} {version} or later, not {package.__version__}: "
            f"{install('transformers')}"
        )
    return package


@contextlib.contextmanager
def one_line(name: str):
    """Turns what transformers raises about a model into one line, which names the model."""
    try:
        yield
    except InputError as error:
        raise InputError(error.rule, name) from None
    except Exception as error:  # of many kinds: files, formats, networks
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        rule = lines[0] if lines else type(error).__name__
        if "trust_remote_code" in str(error):
            rule = "the model needs code from its folder, which is never run"
        raise InputError(rule, name) from None


def _is_masked(config) -> bool:
    """Whether a model is masked, by the name of its class; InputError if it is not causal."""
    architectures = " ".join(config.architectures or ())
    if "ForMaskedLM" in architectures or "ForPreTraining" in architectures:
        return True
    if "ForCausalLM" in architectures or "LMHeadModel" in architectures:
        return False
    raise InputError(f"neither a masked nor a causal language model: {architectures or 'no class'}")


def _check_weights(torch, model, missing):
    """Raises InputError if the output depends on weights with these names, which are random.

    It does not depend on a pooler's. A tied weight is there if one of its names is.
    """
    weights = dict(model.named_parameters(remove_duplicate=False))
    loaded = {id(weight) for name, weight in weights.items() if name not in missing}
    drawn = {n: w for n, w in weights.items() if w.requires_grad and id(w) not in loaded}
    if drawn:
        ids = torch.zeros([1, 2], dtype=torch.long, device=model.device)
        total = model(input_ids=ids).logits.sum()
        slopes = torch.autograd.grad(total, list(drawn.values()), allow_unused=True)
        needed = [name for name, slope in zip(drawn, slopes, strict=True) if slope is not None]
        if needed:
            raise InputError(
                f"{len(needed):,} weights of {type(model).__name__} are missing or have another "
                f"shape, first {needed[0]}: it would score with random numbers"
            )


def _max_length(config, tokenizer) -> int:
    """The longest input, of the table of positions or of the tokenizer, in tokens."""
    positions = getattr(config, "max_position_embeddings", None) or 0
    if positions < 1:  # as in XLNet, which has no table
        positions = tokenizer.model_max_length
    if config.model_type in ("roberta", "xlm-roberta", "camembert"):  # rows before the first token
        positions -= config.pad_token_id + 1
    return int(min(positions, tokenizer.model_max_length))


# Keys of a config that say where the model came from.
_PLACES = ("_name_or_path", "_commit_hash", "transformers_version")


def weights_digest(torch: Any, model: Any) -> str:
    """Eight hexadecimal digits that change with names, types, shapes and bytes of the weights."""
    sha256 = hashlib.sha256()
    for name, weight in sorted(model.state_dict().items()):
        sha256.update(f"{name} {weight.dtype} {tuple(weight.shape)}:".encode())
        flat = weight.detach().cpu().contiguous().reshape(-1)
        sha256.update(flat.view(torch.uint8).numpy().data)
    return sha256.hexdigest()[:8]


def config_values(config: Any) -> dict[str, Any]:
    """{name: JSON value} of a config, also those that are defaults, but not where it came from."""
    values = json.loads(config.to_json_string(use_diff=False))
    return {name: value for name, value in values.items() if name not in _PLACES}


def tokenizer_files(tokenizer: Any) -> dict[str, bytes]:
    """{name: contents} of the files that a tokenizer saves: all that its ids depend on."""
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        paths = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
