"""What is predicted from vectors: the label of a sentence or of a pair of sentences.

E examples (sentences or pairs), R rows of features (one per example, or one per word of it), D size
of the vectors. `tta.scoring.probing.entities` has the task of tagging words.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tta.data.labelled.tables import LabelledTexts
from tta.scoring.scorers.scorer import Scorer

PLUS = "+"  # between representations that are joined
LAYERS = "layers"  # the representation that is all layers of a model


@dataclass(frozen=True)
class WordLayers:
    """The layers of a model at the words of every text, for a task's own model.

    Attributes:
        examples: of each of the E examples, one array [W, S] float16 per text: the L layers of its
            words side by side.
        num_layers: L.
    """

    examples: Sequence[tuple[np.ndarray, ...]]
    num_layers: int

    @property
    def size(self) -> int:
        """S."""
        return self.examples[0][0].shape[1]


class ProbeTask(Protocol):
    """Examples with their targets, and how predictions are measured. It is a `CorpusMetric`.

    Attributes:
        name: of what is measured, in percent, the heading of its column.
        targets: [R] str, the label or tag of each row.
        example: [R] int, the number of the example that each row belongs to, in order.
        labels: [E] str, the label of each example, for folds; None if examples have none.
        tags_words: whether the targets are tags of words; else there is one of each example.
    """

    name: str
    targets: np.ndarray
    example: np.ndarray
    labels: np.ndarray | None
    tags_words: bool

    def features(self, lm: Scorer, representation: str, pooling: str, progress: bool) -> np.ndarray:
        """The features of all rows from a model's vectors: [R, D] float32."""
        ...

    def words(self, lm: Scorer, progress: bool) -> WordLayers:
        """The layers of a model at the words of all examples, see `layers_of`."""
        ...

    def check(self, lm: Scorer, representation: str, pooling: str) -> None:
        """Raises InputError if the model does not have the vectors."""
        ...

    def statistics(self, rows: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Counts for each example of these rows, in their order: [examples, S] int64.

        `rows` are all rows of some examples, `predicted` their predicted targets.
        """
        ...

    def corpus(self, totals: np.ndarray) -> np.ndarray:
        """The measure over a corpus: [..., S] summed counts -> [...] float64, percent."""
        ...


class SentenceTask:
    """Labels of sentences, or of pairs of sentences, measured by accuracy. One row per example.

    The features of a sentence are its vector u. Those of a pair are u, v, |u - v| and u * v
    (Conneau et al., "Supervised learning of universal sentence representations from natural
    language inference data", EMNLP 2017, section 3.1).
    """

    name = "accuracy"
    labels: np.ndarray | None
    tags_words = False

    def __init__(self, rows: Sequence[LabelledTexts]):
        self._texts = [row.texts for row in rows]
        self.targets = np.array([row.label for row in rows])
        self.labels = self.targets
        self.example = np.arange(len(rows))

    def features(self, lm: Scorer, representation: str, pooling: str, progress: bool) -> np.ndarray:
        """As `ProbeTask.features`. Every distinct sentence is encoded once."""
        distinct = dict.fromkeys(text for texts in self._texts for text in texts)
        row = {text: i for i, text in enumerate(distinct)}
        vectors = joined(
            representation, lambda part: lm.encode(list(row), part, pooling, progress=progress)
        )
        columns = zip(*self._texts, strict=True)
        u, *others = (vectors[[row[text] for text in column]] for column in columns)
        return np.hstack([u, *(f for v in others for f in (v, np.abs(u - v), u * v))])

    def words(self, lm: Scorer, progress: bool) -> WordLayers:
        """As `ProbeTask.words`; words stand between white space. Every text is encoded once."""
        distinct = list(dict.fromkeys(text for texts in self._texts for text in texts))
        layers, num_layers = layers_of(lm, [text.split() for text in distinct], progress)
        found = dict(zip(distinct, layers, strict=True))
        return WordLayers([tuple(found[t] for t in texts) for texts in self._texts], num_layers)

    def check(self, lm: Scorer, representation: str, pooling: str) -> None:
        """As `ProbeTask.check`."""
        joined(representation, lambda part: lm.encode([], part, pooling))

    def statistics(self, rows: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Whether each row is right, and 1: [rows, 2] int64."""
        right = (self.targets[rows] == predicted).astype(np.int64)
        return np.stack([right, np.ones_like(right)], axis=-1)

    def corpus(self, totals: np.ndarray) -> np.ndarray:
        """The share of right rows, in percent."""
        return 100 * totals[..., 0] / totals[..., 1]


def joined(representation: str, encode: Callable[[str], np.ndarray]) -> np.ndarray:
    """The vectors of one representation, or of several with plus signs, side by side: [.., D]."""
    return np.hstack([encode(part) for part in representation.split(PLUS)])


def rows_of(task: ProbeTask, examples: Iterable[int]) -> np.ndarray:
    """The numbers of the rows of some examples, in order."""
    return np.flatnonzero(np.isin(task.example, np.fromiter(examples, int)))


def layer_names(lm: Scorer) -> str:
    """The representations that are the layers of a model: "layers", or embed and context, or one.

    An ELMo gives all its layers. Of another model with a context, the embeddings and the last layer
    are taken; word vectors have one layer.
    """
    if LAYERS in lm.representations:
        return LAYERS
    both = ("embed", "context")
    return PLUS.join(both) if set(both) <= set(lm.representations) else lm.representations[0]


def layers_of(
    lm: Scorer, sentences: Sequence[Sequence[str]], progress: bool = False
) -> tuple[list[np.ndarray], int]:
    """The layers of a model at the words of N sentences.

    Returns:
        N arrays [W_n, S] float16, all layers side by side; and the number of layers, all of one
        size.
    """
    name = layer_names(lm)
    parts = [lm.encode_words(sentences, one, progress) for one in name.split(PLUS)]
    found = [np.hstack(one).astype(np.float16) for one in zip(*parts, strict=True)]
    if name != LAYERS:
        return found, len(parts)
    [one] = lm.encode_words([["a"]], "context")
    return found, found[0].shape[1] // one.shape[1]
