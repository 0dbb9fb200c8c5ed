"""Reads the lists to rerank, and the lists on which weights are tuned: from files, or from Python.

Lists from Python follow the rules for lists in files, so the same lists get the same weights.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tta.data.nbest.conversion import plain_lists
from tta.data.nbest.files import NBestFile, read_nbest
from tta.data.nbest.formats import load_format
from tta.data.nbest.lists import Hypothesis, ListCollector, parse_number, parse_score
from tta.data.nbest.notes import feature_notes, mixture_notes, score_notes, text_notes
from tta.data.text.files import shown_path
from tta.errors import InputError, located
from tta.scoring.notes import Note, NoteKind
from tta.scoring.reranking.config import RerankConfig, keeps_non_words
from tta.scoring.scorers.arguments import as_list, as_texts, check_same_index


@dataclass(frozen=True)
class ListsRead:
    """Lists as they were read.

    Attributes:
        file: the lists and their format.
        path: of the file, as messages show it; None for lists from Python.
    """

    file: NBestFile
    path: str | None = None


@dataclass(frozen=True)
class RerankInput:
    """The lists of one call.

    Attributes:
        parts: the lists on which weights are chosen come first, those to rerank last. It may be one
            part for both.
        is_tuned: whether weights are tuned on the first part, which has references.
        notes: what a reader must know of the lists.
    """

    parts: tuple[ListsRead, ...]
    is_tuned: bool
    notes: tuple[Note, ...]

    @property
    def test(self) -> ListsRead:
        """The lists to rerank."""
        return self.parts[-1]


def read_files(config: RerankConfig) -> RerankInput:
    """Reads the test lists of a config, and its dev lists if there are some.

    Raises InputError if a file is missing or malformed.
    """
    test = _read_file(config, config.nbest_file, config.reference_file, config.score_file)
    parts = [test]
    if config.dev_nbest_file is not None:
        dev = _read_file(
            config, config.dev_nbest_file, config.dev_reference_file, config.dev_score_file
        )
        _check_score_files(dev, test)
        parts = [_with_references(dev), test]
    notes = tuple(_notes(parts, are_named=config.scores is not None))
    return RerankInput(tuple(parts), len(parts) > 1, notes)


def _read_file(
    config: RerankConfig,
    path: Sequence[str] | str,
    reference_file: Sequence[str] | str | None,
    score_file: Sequence[str] | str | None,
) -> ListsRead:
    file = read_nbest(
        path,
        config.format,
        reference_file,
        score_file,
        beam_size=config.beam_size,
        scores=config.scores,
        keep_non_words=keeps_non_words(config),
        partial_references=config.partial_references,
        score_field=config.score_field,
        text_field=config.text_field,
    )
    return ListsRead(file, str(shown_path(path)))


def _check_score_files(dev: ListsRead, test: ListsRead) -> None:
    """Raises InputError if the first pass is the sum of other score files in the dev lists."""
    formats = {dev.file.format, test.file.format}
    if len(formats) > 1 or "score_file" not in load_format(*formats).takes:
        return
    of_dev, of_test = _summed(dev), _summed(test)
    if of_dev != of_test:
        rule = f"the first pass of the dev lists is {of_dev}, that of the test lists {of_test}"
        raise InputError(f"{rule}: give the same score files, with the same names", dev.path)


def _summed(part: ListsRead) -> str:
    """The names of the score files whose sum is the first pass."""
    hypotheses = (h for nbest in part.file.lists for h in nbest.hypotheses)
    return " + ".join(sorted(next(hypotheses).features)) or "one score file"


def _with_references(dev: ListsRead) -> ListsRead:
    """The dev lists that have a reference, because nothing is tuned on others; all if none has."""
    lists = [nbest for nbest in dev.file.lists if nbest.reference is not None]
    return replace(dev, file=replace(dev.file, lists=lists)) if lists else dev


def read_lists(
    lists: Iterable[Iterable[str]],
    scores: Iterable[Any] | None = None,
    *,
    features: Iterable[Any] | None = None,
    references: Iterable[str] | None = None,
    keep_non_words: bool = False,
    is_tuned: bool = False,
) -> RerankInput:
    """Reads lists from Python, as `tta.rerank` takes them; the id of a list is its index.

    Raises:
        InputError: the arguments have different lengths or indices, or a score is not a finite
            number.
        TypeError: an argument is not an ordered iterable.
    """
    check_same_index(
        {"lists": lists, "scores": scores, "features": features, "references": references}
    )
    lists = as_list(lists, "lists", "lists of str")
    columns = {
        "scores": None if scores is None else as_list(scores, "scores", "lists of numbers"),
        "features": None if features is None else as_list(features, "features", "dicts"),
        "references": None if references is None else as_texts(references, "references"),
    }
    for name, column in columns.items():
        if column is not None:
            _check_length(name, column, "lists", lists)
    collector = ListCollector()
    for i, texts in enumerate(lists):
        of_list = {name: None if column is None else column[i] for name, column in columns.items()}
        hypotheses = _read_hypotheses(i, texts, of_list["scores"], of_list["features"])
        with located(f"lists[{i}]"):
            collector.add(str(i), hypotheses, of_list["references"])
    nbest, spelling_notes = plain_lists(collector.take(), keep_non_words)
    part = ListsRead(NBestFile(nbest, "jsonl", notes=tuple(spelling_notes)))
    return RerankInput((part,), is_tuned, tuple(_notes([part])))


def _read_hypotheses(
    i: int, texts: Any, scores: Any, features: Mapping[str, Any] | None
) -> list[Hypothesis]:
    """The hypotheses of list `i`, with their scores and features."""
    with located(f"lists[{i}]"):
        check_same_index({**(features or {}), "texts": texts, "scores": scores})
    texts = as_texts(texts, f"lists[{i}]")
    if scores is not None:
        scores = as_list(scores, f"scores[{i}]", "numbers")
        _check_length(f"scores[{i}]", scores, f"lists[{i}]", texts)
    columns = {name: list(values) for name, values in (features or {}).items()}
    for name, values in columns.items():
        _check_length(f"features[{i}][{name!r}]", values, f"lists[{i}]", texts)
    hypotheses = []
    with located(f"lists[{i}]"):
        for j, text in enumerate(texts):
            score = None if scores is None else parse_score(scores[j])
            of_text = {name: parse_number(values[j], name) for name, values in columns.items()}
            hypotheses.append(Hypothesis(text, score, features=of_text))
    return hypotheses


def _check_length(name: str, values: Sequence[Any], other: str, others: Sequence[Any]) -> None:
    if len(values) != len(others):
        lengths = f"{name} has length {len(values)}, but {other} has length {len(others)}"
        raise InputError(lengths)


def _notes(parts: Sequence[ListsRead], are_named: bool = False) -> Iterator[Note]:
    """Yields what looks wrong in lists; `are_named`: the user says what the scores are."""
    files = [part.file for part in parts]
    for part in parts:
        file, in_memory = part.file, part.path is None
        texts = [*file.notes, *mixture_notes(file), *text_notes(file)]
        texts += feature_notes(file, files, in_memory)
        if not are_named:
            texts += score_notes(file, in_memory)
        for text in texts:
            yield Note(NoteKind.FILE, text, part.path)
