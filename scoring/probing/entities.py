"""The tags of the words of sentences: named entities, measured by their F1."""

from collections.abc import Sequence

import numpy as np

from tta.data.labelled import conll
from tta.data.nbest.lists import shown
from tta.data.text.lines import named_files
from tta.errors import InputError
from tta.scoring.probing.tasks import WordLayers, joined, layers_of
from tta.scoring.scorers.scorer import Scorer


class TaggingTask:
    """Tags of words, predicted one by one; the members are those of `ProbeTask`. One row per word.

    The features of a word are the mean over its pieces. The measure is the micro-averaged F1 of
    entities: an entity is right if its first and last word and its type are. Predicted tags are
    read strictly as IOB2: an I- tag that continues no entity is no entity.
    """

    name = "entity F1"
    labels: np.ndarray | None = None
    tags_words = True

    def __init__(self, sentences: Sequence[conll.TaggedSentence]):
        self._words = [sentence.tokens for sentence in sentences]
        lengths = [len(words) for words in self._words]
        self.targets = np.array([tag for sentence in sentences for tag in sentence.tags])
        self.example = np.repeat(np.arange(len(lengths)), lengths)

    def features(self, lm: Scorer, representation: str, pooling: str, progress: bool) -> np.ndarray:
        """As `ProbeTask.features`; `pooling` is not used."""
        return joined(
            representation,
            lambda part: np.concatenate(lm.encode_words(self._words, part, progress=progress)),
        )

    def words(self, lm: Scorer, progress: bool) -> WordLayers:
        """As `ProbeTask.words`."""
        layers, num_layers = layers_of(lm, self._words, progress)
        return WordLayers([(one,) for one in layers], num_layers)

    def check(self, lm: Scorer, representation: str, pooling: str) -> None:
        """As `ProbeTask.check`."""
        joined(representation, lambda part: np.concatenate(lm.encode_words([["a"]], part)))

    def statistics(self, rows: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Entities of each sentence that are right, predicted, and in the file: [sentences, 3]."""
        starts = np.flatnonzero(np.diff(self.example[rows])) + 1
        gold, guess = (
            [_spans(part.tolist()) for part in np.split(tags, starts)]
            for tags in (self.targets[rows], predicted)
        )
        counts = [(len(a & b), len(b), len(a)) for a, b in zip(gold, guess, strict=True)]
        return np.array(counts, np.int64)

    def corpus(self, totals: np.ndarray) -> np.ndarray:
        """F1 in percent; 0 if there is no entity at all."""
        return 200 * totals[..., 0] / np.maximum(totals[..., 1] + totals[..., 2], 1)


def _spans(tags):
    """{(type, first word, end)} of the entities of a sentence."""
    found = []
    for position, tag in enumerate(tags):
        kind = conll.entity_type(tag)
        if tag.startswith("B"):
            found.append((kind, position, position + 1))
        elif tag != conll.OUTSIDE and found and found[-1][::2] == (kind, position):
            found[-1] = kind, found[-1][1], position + 1
    return set(found)


def read_parts(
    names: Sequence[str | None], num_folds: int
) -> tuple[list[list[conll.TaggedSentence]], list[str]]:
    """Reads the training, dev and test sentences, and checks that they can be probed.

    `names` are the files of each part, as in `named_files`; None for a part that is not there,
    which is then empty. `num_folds` are those of the choice of C; 0 if C is chosen on a dev file.
    Returns the three parts, and notes on their tags.

    Raises:
        InputError: a file is malformed or has no entity, there are fewer training sentences than
            folds, or an entity is of a type that the training part does not have.
    """
    files = [{p: conll.read_conll(p) for p in named_files(part)} if part else {} for part in names]
    parts = [[one for sentences in part.values() for one in sentences] for part in files]
    if len(parts[0]) < num_folds:
        rule = f"{num_folds} folds need {num_folds} sentences, got {len(parts[0])}"
        raise InputError(f"{rule}; --num_folds lowers the number of folds", names[0])
    known = {conll.entity_type(tag) for sentence in parts[0] for tag in sentence.tags} - {""}
    notes = []
    for part in files:
        for path, sentences in part.items():
            _check_types(sentences, known, path)
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
