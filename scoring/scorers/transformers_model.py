"""Scores with any masked or causal language model of Hugging Face transformers, in PyTorch.

T tokens of a text, B rows of a batch, H hidden size, V vocabulary.
"""

import contextlib
import importlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tta.data.text.progress import tqdm
from tta.doors import option_named
from tta.errors import InputError
from tta.scoring.scorers.arguments import NOT_FINITE, SentenceError, as_texts
from tta.scoring.scorers.huggingface.loading import (
    VERSIONS,
    config_values,
    load_model,
    one_line,
    tokenizer_files,
    weights_digest,
)
from tta.scoring.scorers.huggingface.tokens import TextTokens
from tta.scoring.scorers.huggingface.trees import Row, ancestors, trees, window
from tta.scoring.scorers.inference.signature import digest
from tta.scoring.scorers.options import DEFAULTS, ScoreOptions
from tta.scoring.scorers.scorer import Scorer, TokenScores

_BATCH_TOKENS = 8192
_TREE_TOKENS = 512  # of a tree of short texts; of long ones, four times the longest text
# In place of an id: all tokens that begin a word, as a term or as a divisor.
_WORD_BEGINS, _WORD_BEGAN = -1, -2
_ROUNDING = {"float32": 1e-3, "bfloat16": 0.1}  # nats; of a causal model it is 0, but for experts


class TransformersModel(Scorer):
    """Scores a text by the log-probability of each token, of a model on disk or of the Hub.

    A causal model predicts every token from those before it, the first one from the begin token. It
    reads what texts share at their begin once, if its attention takes a mask of token trees. A
    masked model predicts every token from all others, in one pass per token (Salazar et al. 2020).

    Args:
        name: a model directory, or a name on the Hub, as `from_pretrained` takes it.
        options: `pll_variant` as in docs/scoring.md; `precision` float32 or bfloat16;
            `batch_tokens`; `score_boundary_tokens`: a causal model's end token, a masked model's
            special tokens; `begin_token`, for causal models; `unknown`. A text that is longer than
            the model's input is refused.

    Raises:
        InputError: a package is missing or too old, there is no such model, it lacks weights, it is
            neither masked nor causal, or an option does not suit it.
    """

    no_vectors = "a model of transformers gives scores, no sentence vectors"

    def __init__(self, name: str, options: ScoreOptions = DEFAULTS):
        self.name, self._path, self.options = os.path.basename(name), name, options
        loaded = load_model(name, options.precision)
        self._model, self._reader, self.is_masked, self._max_length = loaded
        self._torch, self._tokens = importlib.import_module("torch"), TextTokens(self._reader)
        ends = options.score_boundary_tokens
        self._leading = len(self._tokens.added) if self.is_masked and ends else 0  # scored ones
        self._priced = self._tokens.unknown_id if options.unknown == "price" else None
        self._begins: Any = None  # [V] bool, tokens that begin words, for "whole_words"
        self._reach = 0  # the most nodes of a tree; 0: no trees
        with one_line(name):
            self._output = self._model.get_output_embeddings()
            tables = self._model.get_input_embeddings().weight, self._output.weight
            self._size = min(len(table) for table in tables)  # tokens of the model
            self._begin = self._check()
            if max(self._begin or [self._reader.mask_token_id]) >= self._size:
                raise InputError("the begin or mask token of its tokenizer has no embedding")
            if not self.is_masked:
                self._check_order()
                begin = "".join(self._reader.convert_ids_to_tokens(self._begin))
                self.notes = (
                    f"{self.name}: a text begins with {begin} ({option_named('begin_token')})",
                )

    def _check(self):
        """The ids that a causal model reads before a text, [] for a masked one."""
        read, variant, token = self._reader, self.options.pll_variant, self.options.begin_token
        if self.is_masked:
            if read.mask_token_id is None:
                raise InputError("a masked model needs a mask token, and its tokenizer has none")
            if variant == "within_word_l2r" and not read.is_fast:
                raise InputError(f"pll_variant {variant} needs a fast tokenizer")
            if token is not None or variant == "whole_words":
                name = "begin_token" if token is not None else f"pll_variant {variant}"
                raise InputError(f"a masked model has no {name}")
            return []
        if variant not in ("original", "whole_words"):
            raise InputError(f"a causal model has no pll_variant {variant}")
        if variant == "whole_words":
            self._begins = self._torch.tensor(self._tokens.begins[: self._size])
        return self._tokens.begin(token)

    def _check_order(self):
        """Raises InputError if what comes later in a text changes the scores before it."""
        half = max(1, min(8, self._max_length // 2))
        special = set(self._reader.all_special_ids)
        usual = [number for number in range(self._size) if number not in special]
        first, later, other = np.random.default_rng(0).choice(usual, [3, half]).tolist()
        texts, every = (first + later, first + other), list(range(2 * half))
        rows = [Row(ids, [], every, first + first, [(0, 0)] * 2 * half) for ids in sorted(texts)]
        alone = [self._log_probabilities([row])[0] for row in rows]

        def equal(these, those):
            return np.allclose(these, those, rtol=0, atol=_ROUNDING[self.options.precision])

        if not equal(alone[0][:half], alone[1][:half]):
            raise InputError(
                f"not causal: in {type(self._model).__name__}, later tokens change the scores of "
                "those before them"
            )
        with contextlib.suppress(Exception):  # attention of another kind takes no such mask
            (branched,) = self._log_probabilities([*trees(rows, 4 * half)])
            if equal(branched, [*alone[0], *alone[1]]):
                self._reach = window(self._model.config) or sys.maxsize

    def __reduce__(self):  # a copy loads the model again
        return type(self), (self._path, self.options)

    @property
    def settings(self):
        options, device = self.options, self._model.device.type
        reading = {} if device == "cpu" else {"device": device}
        if self.is_masked or self._begins is not None:
            reading["pll"] = options.pll_variant
        if not self.is_masked:
            reading["begin"] = "".join(self._reader.convert_ids_to_tokens(self._begin))
        return {
            "type": type(self._model).__name__,
            "weights": weights_digest(self._torch, self._model),
            "config": digest(config_values(self._model.config)),
            "vocab": digest(tokenizer_files(self._reader)),
            **reading,
            "boundary_tokens": options.score_boundary_tokens,
            "unknown": options.unknown,
            "precision": options.precision,
            **{name: importlib.import_module(name).__version__ for name in VERSIONS},
            "log": "natural",
        }

    def count_unknown(self, texts: Iterable[str]) -> np.ndarray:
        """As `Scorer.count_unknown`: tokens that are the tokenizer's unknown token."""
        tokens, listed = self._tokens, as_texts(texts)
        if tokens.unknown_id is None:
            return np.zeros(len(listed), np.int64)
        return np.array([tokens.ids(text).count(tokens.unknown_id) for text in listed], np.int64)

    def _ordered_tokens(self):
        vocabulary = self._reader.get_vocab()
        return sorted(vocabulary, key=vocabulary.__getitem__)

    def score_tokens(self, texts: Iterable[str], progress: bool = False) -> list[TokenScores]:
        """As `Scorer.score_tokens`; tokens are the tokenizer's."""
        listed, rows, results = as_texts(texts), [], []
        for number, text in enumerate(listed):
            ids, scored, words = self._read(text)
            if len(ids) > self._max_length:
                raise SentenceError(
                    f"has {len(ids):,} tokens, more than {self._max_length:,}", number
                )
            if max(ids, default=0) >= self._size:
                token = self._reader.convert_ids_to_tokens(max(ids))
                raise SentenceError(f"has a token without embedding: {token!r}", number)
            rows += self._rows(number, ids, scored, words)
            tokens = self._reader.convert_ids_to_tokens([ids[place] for place in scored])
            results.append(TokenScores(tokens, np.zeros(len(scored))))
        total = sum(len(row.targets) for row in rows)
        with tqdm(total=total, unit=" tokens", disable=not progress, desc="scoring") as bar:
            for batch in self._batches(rows):
                for row, scores in zip(batch, self._log_probabilities(batch), strict=True):
                    for (text, place), score in zip(row.places, scores, strict=True):
                        results[text].log_probabilities[place] += score
                    bar.update(len(row.targets))
        for number, (text, (_, values)) in enumerate(zip(listed, results, strict=True)):
            if self._priced is not None:
                costs = self._tokens.spelling_costs(text)
                values[self._leading : self._leading + len(costs)] -= costs
            if not np.isfinite(values).all():
                raise SentenceError(NOT_FINITE, number)
        return results

    def _num_tokens(self, texts):
        return np.array([len(self._read(text)[1]) - self._leading for text in texts], np.int64)

    def _joined(self, prefixes, texts):
        pairs = zip(prefixes, texts, strict=True)  # a blank at the begin would be a token
        joined, end = [" ".join(filter(None, pair)) for pair in pairs], self._num_tokens([""])[0]
        lengths = self._word_lengths(joined, list(zip(prefixes, texts, strict=True)))
        return joined, np.array([length for _, length in lengths], np.int64) + end

    def _word_lengths(self, texts, sentences):
        return [self._tokens.word_lengths(*pair) for pair in zip(texts, sentences, strict=True)]

    def _read(self, text) -> tuple[list[int], list[int], list[Any] | None]:
        """The ids of a text with special tokens, the places that are scored, and their words."""
        read, ends = self._reader, self.options.score_boundary_tokens
        if self.is_masked:
            encoded = read(text, return_special_tokens_mask=True)
            ids, special = encoded["input_ids"], encoded["special_tokens_mask"]
            scored = [place for place in range(len(ids)) if ends or not special[place]]
            return ids, scored, encoded.word_ids() if read.is_fast else None
        end = [read.eos_token_id] if ends and read.eos_token_id is not None else []
        ids = [*self._begin, *self._tokens.ids(text), *end]
        return ids, list(range(len(self._begin), len(ids))), None

    def _rows(self, number, ids, scored, words) -> Iterator[Row]:
        """The rows that score a text."""
        if not scored:
            return
        if not self.is_masked or self.options.pll_variant == "maskless":
            # A causal model predicts a token at the one before, and need not read the last one.
            positions = scored if self.is_masked else [place - 1 for place in scored]
            places = [(number, index) for index in range(len(scored))]
            seen = ids if self.is_masked else ids[:-1]
            targets = [ids[p] for p in scored]
            if self._begins is not None:
                for position, target, index in self._word_terms(ids, scored):
                    positions.append(position)
                    targets.append(target)
                    places.append((number, index))
                seen = ids
            yield Row(seen, [], positions, targets, places)
        else:
            by_word = self.options.pll_variant == "within_word_l2r"
            for index, place in enumerate(scored):
                hidden = {place}
                if by_word and words[place] is not None:
                    later = range(place, len(ids))
                    hidden |= {other for other in later if words[other] == words[place]}
                seen = [self._reader.mask_token_id if p in hidden else i for p, i in enumerate(ids)]
                yield Row(seen, [], [place], [ids[place]], [(number, index)])

    def _word_terms(self, ids, scored) -> Iterator[tuple[int, int, int]]:
        """(position, target, index of the token) of what whole words add to scores of tokens.

        A word's last token has the probability that the word ends there. So the first one of the
        next word must not have the probability that a word begins.
        """
        has_end = self.options.score_boundary_tokens and self._reader.eos_token_id is not None
        begins = [*self._begins[ids].tolist()[scored[0] :], not has_end]
        for index, place in enumerate(scored):
            if begins[index]:
                yield place - 1, _WORD_BEGAN, index
            if begins[index + 1]:
                yield place, _WORD_BEGINS, index

    def _batches(self, rows: Sequence[Row]) -> Iterator[list[Row]]:
        """Rows of similar length, the longest first, and trees of those that are short enough."""
        room = self.options.batch_tokens or _BATCH_TOKENS
        longest = max((len(row.ids) for row in rows), default=0)
        size = min(self._reach, room, max(_TREE_TOKENS, 4 * longest))
        short = [row for row in rows if len(row.ids) <= size]
        for kind in ([row for row in rows if len(row.ids) > size], [*trees(short, size)]):
            batch: list[Row] = []
            for row in sorted(kind, key=lambda one: -len(one.ids)):
                if batch and len(batch[0].ids) * (len(batch) + 1) > room:
                    yield batch
                    batch = []
                batch.append(row)
            if batch:
                yield batch

    def _log_probabilities(self, batch: list[Row]) -> list[np.ndarray]:
        """The log-probabilities of the targets of each row; all rows are trees, or none."""
        torch, device = self._torch, self._model.device
        lengths, pad = [len(row.ids) for row in batch], self._reader.pad_token_id or 0
        pad = pad if pad < self._size else 0
        ids = torch.full((len(batch), lengths[0]), pad)
        for number, row in enumerate(batch):
            ids[number, : len(row.ids)] = torch.tensor(row.ids)
        mask = torch.arange(lengths[0])[None] < torch.tensor(lengths)[:, None]
        arguments = {"input_ids": ids, "attention_mask": mask.long()}
        if batch[0].parents:
            seen, depths = zip(*(ancestors(row, lengths[0]) for row in batch), strict=True)
            hidden = torch.tensor(~np.stack(seen)[:, None]).to(self._model.dtype)
            arguments["attention_mask"] = hidden * torch.finfo(self._model.dtype).min
            arguments["position_ids"] = torch.tensor(np.stack(depths))
        pairs = [(n, position) for n, row in enumerate(batch) for position in row.positions]
        places, which = torch.tensor(pairs).unique(dim=0, return_inverse=True)
        targets = torch.tensor([target for row in batch for target in row.targets])

        def chosen(_, inputs):  # of all positions of a batch, the output layer gets these
            return (inputs[0][places[:, 0], places[:, 1]][None], *inputs[1:])

        hook = self._output.register_forward_pre_hook(chosen)
        try:
            with torch.inference_mode():
                arguments = {name: tensor.to(device) for name, tensor in arguments.items()}
                logits, aims = self._model(**arguments).logits[0].float(), targets.to(device)
                total, which = logits.logsumexp(1), which.to(device)
                scores = logits[which, aims.clamp(min=0)] - total[which]
                if self._begins is not None:
                    is_begin = self._begins.to(device)
                    word = (logits[:, : len(is_begin)][:, is_begin].logsumexp(1) - total)[which]
                    scores = torch.where(aims == _WORD_BEGINS, word, scores)
                    scores = torch.where(aims == _WORD_BEGAN, -word, scores)
                if self._priced is not None and (is_unknown := aims == self._priced).any():
                    # It counts as no more probable than all known tokens together. Otherwise, a
                    # model that expects it everywhere would prefer what it cannot read.
                    logits[:, self._priced] = -torch.inf
                    log_of_known = (logits.logsumexp(1) - total)[which]
                    scores[is_unknown] = scores.minimum(log_of_known)[is_unknown]
        finally:
            hook.remove()
        counts = [len(row.positions) for row in batch]
        return np.split(scores.double().cpu().numpy(), np.cumsum(counts)[:-1])
