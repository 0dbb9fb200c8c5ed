"""What is predicted from vectors: the label of a sentence or of a pair, or the tags of words.

E examples (sentences or pairs), R rows of features (one per example, or one per word of it), D size
of the vectors. Tags of named entities are measured by their F1.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tta.data.text.lines import named_files
from tta.errors import InputError, shown
from tta.papers.glue.data import conll
from tta.papers.glue.data.tables import LabelledTexts
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


class ProbeTask(ABC):
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

    @abstractmethod
    def features(self, lm: Scorer, representation: str, pooling: str, progress: bool) -> np.ndarray:
        """The features of all rows from a model's vectors: [R, D] float32."""

    @abstractmethod
    def words(self, lm: Scorer, progress: bool) -> WordLayers:
        """The layers of a model at the words of all examples, see `layers_of`."""

    @abstractmethod
    def check(self, lm: Scorer, representation: str, pooling: str) -> None:
        """Raises InputError if the model does not have the vectors."""

    @abstractmethod
    def statistics(self, rows: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Counts for each example of these rows, in their order: [examples, S] int64.

        `rows` are all rows of some examples, `predicted` their predicted targets.
        """

    @abstractmethod
    def corpus(self, totals: np.ndarray) -> np.ndarray:
        """The measure over a corpus: [..., S] summed counts -> [...] float64, percent."""


class SentenceTask(ProbeTask):
    """Labels of sentences, or of pairs of sentences, measured by accuracy. One row per example.

    The features of a sentence are its vector u. Those of a pair are u, v, |u - v| and u * v
    (Conneau et al., "Supervised learning of universal sentence representations from natural
    language inference data", EMNLP 2017, section 3.1).
    """

    name = "accuracy"
    tags_words = False

    def __init__(self, rows: Sequence[LabelledTexts]):
        self._texts = [row.texts for row in rows]
        self.targets = np.array([row.label for row in rows])
        self.labels = self.targets
        self.example = np.arange(len(rows))

    def features(self, lm, representation, pooling, progress):
        # Every distinct sentence is encoded once.
        distinct = dict.fromkeys(text for texts in self._texts for text in texts)
        row = {text: i for i, text in enumerate(distinct)}
        vectors = joined(
            representation, lambda part: lm.encode(list(row), part, pooling, progress=progress)
        )
        columns = zip(*self._texts, strict=True)
        u, *further = (vectors[[row[text] for text in column]] for column in columns)
        return np.hstack([u, *(f for v in further for f in (v, np.abs(u - v), u * v))])

    def words(self, lm, progress):
        distinct = list(dict.fromkeys(text for texts in self._texts for text in texts))
        layers, num_layers = layers_of(lm, [text.split() for text in distinct], progress)
        layers_by_text = dict(zip(distinct, layers, strict=True))
        rows = [tuple(layers_by_text[text] for text in texts) for texts in self._texts]
        return WordLayers(rows, num_layers)

    def check(self, lm, representation, pooling):
        joined(representation, lambda part: lm.encode([], part, pooling))

    def statistics(self, rows, predicted):
        """Whether each row is right, and 1: [rows, 2] int64."""
        right = (self.targets[rows] == predicted).astype(np.int64)
        return np.stack([right, np.ones_like(right)], axis=-1)

    def corpus(self, totals):
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
    return PLUS.join(both) if set(both) <= set(lm.representations) else lm.choose_representation()


def layers_of(
    lm: Scorer, sentences: Sequence[Sequence[str]], progress: bool = False
) -> tuple[list[np.ndarray], int]:
    """The layers of a model at the words of N sentences.

    Returns:
        N arrays [W_n, S] float16, all layers side by side; and the number of layers, all of one
        size.
    """
    name = layer_names(lm)
    parts = [lm.encode_words(sentences, output, progress) for output in name.split(PLUS)]
    joined = [np.hstack(vectors).astype(np.float16) for vectors in zip(*parts, strict=True)]
    if name != LAYERS:
        return joined, len(parts)
    [vectors] = lm.encode_words([["a"]], "context")
    return joined, joined[0].shape[1] // vectors.shape[1]


class TaggingTask(ProbeTask):
    """Tags of words, predicted one by one. One row per word.

    The features of a word are the mean over its pieces, whatever the pooling. The measure is the
    micro-averaged F1 of entities: an entity is right if its first and last word and its type are.
    Predicted tags are read strictly as IOB2: an I- tag that continues no entity is no entity.
    """

    name = "entity F1"
    labels = None
    tags_words = True

    def __init__(self, sentences: Sequence[conll.TaggedSentence]):
        self._words = [sentence.tokens for sentence in sentences]
        lengths = [len(words) for words in self._words]
        self.targets = np.array([tag for sentence in sentences for tag in sentence.tags])
        self.example = np.repeat(np.arange(len(lengths)), lengths)

    def features(self, lm, representation, pooling, progress):
        return joined(
            representation,
            lambda part: np.concatenate(lm.encode_words(self._words, part, progress=progress)),
        )

    def words(self, lm, progress):
        layers, num_layers = layers_of(lm, self._words, progress)
        return WordLayers([(layer,) for layer in layers], num_layers)

    def check(self, lm, representation, pooling):
        joined(representation, lambda part: np.concatenate(lm.encode_words([["a"]], part)))

    def statistics(self, rows, predicted):
        """Entities of each sentence that are right, predicted, and in the file: [sentences, 3]."""
        starts = np.flatnonzero(np.diff(self.example[rows])) + 1
        gold, guess = (
            [_spans(part.tolist()) for part in np.split(tags, starts)]
            for tags in (self.targets[rows], predicted)
        )
        counts = [(len(a & b), len(b), len(a)) for a, b in zip(gold, guess, strict=True)]
        return np.array(counts, np.int64)

    def corpus(self, totals):
        """F1 in percent; 0 if there is no entity at all."""
        return 200 * totals[..., 0] / np.maximum(totals[..., 1] + totals[..., 2], 1)


def _spans(tags):
    """{(type, first word, end)} of the entities of a sentence."""
    entities = []
    for position, tag in enumerate(tags):
        kind = conll.entity_type(tag)
        if tag.startswith("B"):
            entities.append((kind, position, position + 1))
        elif tag != conll.OUTSIDE and entities and entities[-1][::2] == (kind, position):
            entities[-1] = kind, entities[-1][1], position + 1
    return set(entities)


def read_parts(
    names: Sequence[str | None], num_folds: int
) -> tuple[list[list[conll.TaggedSentence]], list[str]]:
    """Reads the training, dev and test sentences, and checks that they can be probed.

    `names` are the files of each part, as in `named_files`; None for a part that is not there,
    which is then empty. `num_folds` are those of the choice of C; 0 if C is chosen on a dev file.
    Returns the three parts, and notes on their tags. Raises InputError if a file is malformed or
    has no entity, there are fewer training sentences than folds, or an entity is of a type that the
    training part does not have.
    """
    files = [{p: conll.read_conll(p) for p in named_files(part)} if part else {} for part in names]
    parts = [[sentence for sentences in part.values() for sentence in sentences] for part in files]
    if len(parts[0]) < num_folds:
        rule = f"{num_folds} folds need {num_folds} sentences, got {len(parts[0])}"
        raise InputError(f"{rule}; --num_folds lowers the number of folds", names[0])
    train_types = {conll.entity_type(tag) for sentence in parts[0] for tag in sentence.tags} - {""}
    notes = []
    for part in files:
        for path, sentences in part.items():
            _check_types(sentences, train_types, path)
            if lines := conll.stray_tags(sentences):
                notes.append(
                    f"{path}: I- tags that continue an entity of another type, and so belong to "
                    f"none: {len(lines):,} (first: line {lines[0]})"
                )
    return parts, notes


def _check_types(sentences, known, path):
    """Raises an InputError unless there is an entity, and each is of a known type."""
    tags = [
        (conll.entity_type(tag), sentence.line + position)
        for sentence in sentences
        for position, tag in enumerate(sentence.tags)
        if tag != conll.OUTSIDE
    ]
    for kind, line in tags:
        if kind not in known:
            rule = f"unknown type of entity {shown(kind)}; the training part has "
            raise InputError(rule + ", ".join(map(shown, sorted(known))), path, line)
    if not tags:
        raise InputError("the file has no entities: all tags are O", path)
