"""Scores with any masked or causal language model of Hugging Face transformers, in PyTorch.

T tokens of a text, B rows of a batch, H hidden size, V vocabulary.
"""

import contextlib
import importlib
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

import tta
from tta.errors import InputError, install
from tta.scoring.scorers.arguments import NOT_FINITE, SentenceError, as_texts
from tta.scoring.scorers.options import DEFAULTS, ScoreOptions
from tta.scoring.scorers.scorer import Scorer, TokenScores, signature_name, split_at_blanks

_VERSIONS = {"torch": (2, 4), "transformers": (4, 57)}
_BATCH_TOKENS = 8192
_DTYPES = ("float32", "bfloat16")


class _Row(NamedTuple):
    """One row of a batch: the ids that the model reads, and the positions that it scores."""

    text: int
    ids: list[int]
    positions: list[int]  # whose outputs predict the targets
    targets: list[int]
    places: list[int]  # of the targets in the text's tokens


class TransformersModel(Scorer):
    """Scores a text by the log-probability of each token, of a model on disk or of the Hub.

    A causal model predicts every token from those before it, the first one from the begin token. A
    masked model predicts every token from all others, in one pass per token (Salazar et al. 2020).

    Args:
        name: a model directory, or a name on the Hub, as `from_pretrained` takes it.
        options: `pll_variant` as in docs/scoring.md, for masked models; `precision` float32 or
            bfloat16; `batch_tokens`; `score_boundary_tokens`: a causal model's end token, a masked
            model's special tokens. A text that is longer than the model's input is refused.

    Raises:
        InputError: a package is missing or too old, there is no such model, it is neither masked
            nor causal, or an option does not suit it.
    """

    no_vectors = "a model of transformers gives scores, no sentence vectors"

    def __init__(self, name: str, options: ScoreOptions = DEFAULTS):
        torch, transformers = (_package(name) for name in _VERSIONS)
        if options.precision not in _DTYPES:
            raise InputError(f"precision must be {' or '.join(_DTYPES)}", name)
        self.name, self._path = os.path.basename(name), name
        self.options, self._torch = options, torch
        transformers.utils.logging.disable_progress_bar()
        with _one_line(name):
            config = transformers.AutoConfig.from_pretrained(name)
            self._reader = transformers.AutoTokenizer.from_pretrained(name)
            self.is_masked = _is_masked(config, name)
            kind = "AutoModelForMaskedLM" if self.is_masked else "AutoModelForCausalLM"
            dtype = getattr(torch, options.precision)
            made = getattr(transformers, kind).from_pretrained(name, dtype=dtype)
        self._model = made.eval().to("cuda" if torch.cuda.is_available() else "cpu")
        self._max_length = _max_length(config, self._reader)
        self._begin = self._check()

    def _check(self):
        """The id of a causal model's begin token, None for a masked one."""
        read, variant = self._reader, self.options.pll_variant
        if self.is_masked:
            if read.mask_token_id is None:
                raise InputError(
                    "a masked model needs a mask token, and its tokenizer has none", self._path
                )
            if variant == "within_word_l2r" and not read.is_fast:
                raise InputError(f"pll_variant {variant} needs a fast tokenizer", self._path)
            return None
        if variant != DEFAULTS.pll_variant:
            raise InputError(f"a causal model has no pll_variant {variant}", self._path)
        begin = read.eos_token_id if read.bos_token_id is None else read.bos_token_id
        if begin is None:
            raise InputError("a causal model needs a begin or an end token", self._path)
        return begin

    def __reduce__(self):  # a copy loads the model again
        return type(self), (self._path, self.options)

    @property
    def signature(self) -> str:
        """What a score depends on, in one line."""
        boundary = "yes" if self.options.score_boundary_tokens else "no"
        pll = f"|pll:{self.options.pll_variant}" if self.is_masked else ""
        digest = 0
        for weight in self._model.state_dict().values():
            digest = zlib.crc32(weight.detach().cpu().float().numpy().tobytes(), digest)
        versions = "|".join(
            f"{one}:{importlib.import_module(one).__version__}" for one in _VERSIONS
        )
        return (
            f"model:{signature_name(self.name)}|type:{type(self._model).__name__}"
            f"|weights:{digest:08x}{pll}|boundary_tokens:{boundary}"
            f"|precision:{self.options.precision}|{versions}|log:natural|version:{tta.__version__}"
        )

    def count_unknown(self, texts: Iterable[str]) -> np.ndarray:
        """As `Scorer.count_unknown`: tokens that are the tokenizer's unknown token."""
        read, unknown = self._reader, self._reader.unk_token_id
        if unknown is None or (unknown == read.eos_token_id):  # as in GPT-2, which spells all
            return np.zeros(len(as_texts(texts)), np.int64)
        ids = [read(text, add_special_tokens=False)["input_ids"] for text in as_texts(texts)]
        return np.array([one.count(unknown) for one in ids], np.int64)

    def score_tokens(self, texts: Iterable[str], progress: bool = False) -> list[TokenScores]:
        """As `Scorer.score_tokens`; tokens are the tokenizer's."""
        listed, rows, found = as_texts(texts), [], []
        for number, text in enumerate(listed):
            ids, scored, words = self._read(text)
            if len(ids) > self._max_length:
                raise SentenceError(
                    f"has {len(ids):,} tokens, more than {self._max_length:,}", number
                )
            rows += self._rows(number, ids, scored, words)
            tokens = self._reader.convert_ids_to_tokens([ids[place] for place in scored])
            found.append(TokenScores(tokens, np.zeros(len(scored))))
        with tqdm(total=len(rows), unit=" passes", disable=not progress, desc="scoring") as bar:
            for batch in self._batches(rows):
                for row, scores in zip(batch, self._log_probabilities(batch), strict=True):
                    found[row.text].log_probabilities[row.places] = scores
                bar.update(len(batch))
        for number, one in enumerate(found):
            if not np.isfinite(one.log_probabilities).all():
                raise SentenceError(NOT_FINITE, number)
        return found

    def by_words(self, texts: Sequence[str], scored: Sequence[TokenScores]) -> list[TokenScores]:
        """As `Scorer.by_words`; a token belongs to the word in which it ends.

        Raises:
            InputError: the tokenizer does not say where its tokens stand.
        """
        if not self._reader.is_fast:
            raise InputError("word scores need a fast tokenizer", self._path)
        first, found = int(self.is_masked and self.options.score_boundary_tokens), []
        for text, (tokens, values) in zip(texts, scored, strict=True):
            words, ends = split_at_blanks(text), []
            for word in words:
                ends.append(text.index(word, ends[-1] if ends else 0) + len(word))
            encoded = self._reader(text, add_special_tokens=False, return_offsets_mapping=True)
            last = np.array([max(end - 1, 0) for _, end in encoded["offset_mapping"]], int)
            owners = np.searchsorted(ends, last, "right").clip(max=len(words) - 1)
            stop = first + len(owners)
            sums = np.bincount(owners, values[first:stop], len(words))
            names = tokens[:first] + words + tokens[stop:]
            parts = np.concatenate([values[:first], sums, values[stop:]])
            found.append(TokenScores(names, parts))
        return found

    def _read(self, text) -> tuple[list[int], list[int], list[Any] | None]:
        """The ids of a text with special tokens, the places that are scored, and their words."""
        read, ends = self._reader, self.options.score_boundary_tokens
        if self.is_masked:
            encoded = read(text, return_special_tokens_mask=True)
            ids, special = encoded["input_ids"], encoded["special_tokens_mask"]
            scored = [place for place in range(len(ids)) if ends or not special[place]]
            return ids, scored, encoded.word_ids() if read.is_fast else None
        ids = read(text)["input_ids"]
        ids = ids if ids[:1] == [self._begin] else [self._begin, *ids]
        if ends and read.eos_token_id is not None and ids[-1] != read.eos_token_id:
            ids = [*ids, read.eos_token_id]
        last = len(ids) - (not ends and len(ids) > 1 and ids[-1] == read.eos_token_id)
        return ids, list(range(1, last)), None

    def _rows(self, number, ids, scored, words) -> Iterator[_Row]:
        """The rows that score a text."""
        if not scored:
            return
        if not self.is_masked or self.options.pll_variant == "maskless":
            # A causal model predicts a token at the one before.
            positions = scored if self.is_masked else [place - 1 for place in scored]
            yield _Row(number, ids, positions, [ids[p] for p in scored], list(range(len(scored))))
        else:
            by_word = self.options.pll_variant == "within_word_l2r"
            for index, place in enumerate(scored):
                hidden = {place}
                if by_word and words[place] is not None:
                    later = range(place, len(ids))
                    hidden |= {other for other in later if words[other] == words[place]}
                seen = [self._reader.mask_token_id if p in hidden else i for p, i in enumerate(ids)]
                yield _Row(number, seen, [place], [ids[place]], [index])

    def _batches(self, rows: Sequence[_Row]) -> Iterator[list[_Row]]:
        """Rows of similar length, the longest first."""
        room = self.options.batch_tokens or _BATCH_TOKENS
        batch: list[_Row] = []
        for row in sorted(rows, key=lambda one: -len(one.ids)):
            if batch and len(batch[0].ids) * (len(batch) + 1) > room:
                yield batch
                batch = []
            batch.append(row)
        if batch:
            yield batch

    def _log_probabilities(self, batch: list[_Row]) -> list[np.ndarray]:
        """The log-probabilities of the targets of each row."""
        torch, device = self._torch, self._model.device
        lengths, pad = [len(row.ids) for row in batch], self._reader.pad_token_id or 0
        ids = torch.full((len(batch), lengths[0]), pad)
        for number, row in enumerate(batch):
            ids[number, : len(row.ids)] = torch.tensor(row.ids)
        mask = torch.arange(lengths[0])[None] < torch.tensor(lengths)[:, None]
        numbers = torch.tensor([n for n, row in enumerate(batch) for _ in row.positions])
        positions = torch.tensor([position for row in batch for position in row.positions])
        targets = torch.tensor([target for row in batch for target in row.targets])

        def wanted(_, inputs):  # of all positions of a batch, the output layer gets these
            return (inputs[0][numbers, positions][None], *inputs[1:])

        hook = self._model.get_output_embeddings().register_forward_pre_hook(wanted)
        try:
            with torch.inference_mode():
                given = {"input_ids": ids.to(device), "attention_mask": mask.long().to(device)}
                logits = self._model(**given).logits[0].float()
                found = logits.gather(1, targets.to(device)[:, None])[:, 0] - logits.logsumexp(1)
        finally:
            hook.remove()
        counts = [len(row.positions) for row in batch]
        return np.split(found.double().cpu().numpy(), np.cumsum(counts)[:-1])


def _package(name):
    """A package that the models need. Raises InputError if it is missing or too old."""
    try:
        package = importlib.import_module(name)
    except ImportError:
        raise InputError(f"transformers:MODEL needs {name}: {install('transformers')}") from None
    least = _VERSIONS[name]
    if tuple(map(int, package.__version__.split(".")[:2])) < least:
        wanted = ".".join(map(str, least))
        raise InputError(
            f"transformers:MODEL needs {name} {wanted} or later, not {package.__version__}: "
            f"{install('transformers')}"
        )
    return package


@contextlib.contextmanager
def _one_line(name):
    """Turns what transformers raises about a model into one line."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # of many kinds: files, formats, networks
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise InputError(lines[0] if lines else type(error).__name__, name) from None


def _is_masked(config, name) -> bool:
    """Whether a model is masked, by the name of its class; InputError if it is not causal."""
    found = " ".join(config.architectures or ())
    if "ForMaskedLM" in found or "ForPreTraining" in found:
        return True
    if "ForCausalLM" in found or "LMHeadModel" in found:
        return False
    raise InputError(f"neither a masked nor a causal language model: {found or 'no class'}", name)


def _max_length(config, tokenizer) -> int:
    """The longest input, of the table of positions or of the tokenizer, in tokens."""
    positions = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    if config.model_type in ("roberta", "xlm-roberta", "camembert"):  # rows before the first token
        positions -= config.pad_token_id + 1
    return int(min(positions, tokenizer.model_max_length))
