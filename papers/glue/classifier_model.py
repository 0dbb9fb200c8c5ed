"""A fine-tuned text classifier: labels and probabilities of texts, or of pairs of texts.

N examples, L labels.
"""

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from tta.errors import InputError
from tta.papers.glue.data.inputs import encode_rows
from tta.papers.glue.rows import run_rows
from tta.scoring.scorers.arguments import SentenceError, as_list, as_texts
from tta.scoring.scorers.text_model import TextModel, without_scores


class ClassifierModel(TextModel):
    """Labels texts; `tta.load` makes one from a directory of tta classify.

    It also encodes texts, with the fine-tuned encoder. It gives no sentence scores.

    `texts` are N str, or N pairs of str if the model was trained on pairs. An input of more than
    `max_seq_length` tokens is cut as in training, and a note on standard error says how many were.
    With `long_sentences="refuse"` it is an error. Arguments of the class are those of `TextModel`.
    """

    engine: Any  # an engine of the family, see its `ModelType`
    served = "tta.papers.glue.engines.served_rows:ServedClassifier"

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order of the probabilities; () if the model predicts numbers."""
        return self.config.labels

    @property
    def settings(self):
        return without_scores(super().settings) | {"max_seq_length": self.config.max_seq_length}

    def predict(self, texts: Iterable[Any]) -> Any:
        """Labels texts.

        Args:
            texts: N str, or N pairs of str.

        Returns:
            The N most probable labels, a list of str; or the N predicted numbers, [N] float64.

        Raises:
            InputError: texts are given where pairs are needed, or pairs where texts are; or an
                input is too long and `long_sentences` is "refuse".
            TypeError: `texts` is not an ordered iterable.
        """
        logits = self.logits(texts, notes=True)
        if not self.labels:
            return logits[:, 0].astype(np.float64)
        return [self.labels[number] for number in logits.argmax(axis=1)]

    def predict_probabilities(self, texts: Iterable[Any]) -> np.ndarray:
        """The probability of each label: [N, L] float64; arguments and errors as in `predict`.

        Raises InputError if the model predicts numbers.
        """
        if not self.labels:
            raise InputError("the model predicts numbers, not labels", self.name)
        return probabilities(self.logits(texts, notes=True))

    def logits(self, texts: Iterable[Any], notes: bool = False) -> np.ndarray:
        """The outputs of the model: [N, L] float32, L = 1 for numbers; texts as in `predict`.

        `notes` is whether to say on standard error how many inputs were cut.
        """
        columns = self.as_columns(texts)
        if not columns[0]:
            return np.zeros((0, self.config.num_outputs), np.float32)
        rows, is_cut = encode_rows(self.text_tokenizer, columns, self.config.max_seq_length)
        if is_cut.any():
            self._report_cut(is_cut, notes)
        outputs = np.zeros((len(columns[0]), self.config.num_outputs), np.float32)
        for batch, result in run_rows(self, self.engine.class_logits(), rows):
            outputs[batch.text_index] = result
        return outputs

    def as_columns(self, texts: Iterable[Any]) -> list[list[str]]:
        """The N first texts and, of pairs, the N second ones; errors as in `predict`."""
        listed = as_list(texts, "texts", "str or pairs of str")
        if self.config.texts_per_example == 1:
            if any(_is_pair(text) for text in listed):
                raise InputError("the model labels single texts, not pairs", self.name)
            return [as_texts(listed)]
        for index, text in enumerate(listed):
            if not _is_pair(text):
                kind = "a single text" if isinstance(text, str) else type(text).__name__
                raise InputError(
                    f"the model labels pairs of texts; texts[{index}] is {kind}", self.name
                )
        return [as_texts([pair[side] for pair in listed]) for side in (0, 1)]

    def _report_cut(self, is_cut, notes):
        if self.options.long_sentences == "refuse":
            raise SentenceError(
                f"has more than {self.config.max_seq_length} tokens, which the model takes; "
                "--long_sentences=window cuts it",
                int(np.argmax(is_cut)),
            )
        if notes:
            print(
                f"note: {self.name}: {is_cut.sum():,} of {len(is_cut):,} inputs were cut to "
                f"{self.config.max_seq_length} tokens",
                file=sys.stderr,
            )


def probabilities(logits: np.ndarray) -> np.ndarray:
    """The softmax of logits [N, L]: [N, L] float64."""
    from scipy.special import softmax

    return softmax(logits.astype(np.float64), axis=1)


def _is_pair(value):
    return isinstance(value, (tuple, list)) and len(value) == 2
