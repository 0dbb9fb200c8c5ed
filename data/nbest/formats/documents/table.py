"""Tools that write N-best lists as JSON, a row each: where their lists are, and their names.

docs/nbest.md names the tools, and the sources in which their layouts were checked.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tta.data.nbest.fields import HYPOTHESES, IDS, LISTS, REFERENCES, SCORES, TRANSCRIPTS, named
from tta.data.nbest.formats.documents.layouts import (
    Choices,
    Layout,
    Lists,
    Numbered,
    Outputs,
    Pairs,
    Row,
    Translations,
    columns,
)
from tta.errors import InputError, shown

if TYPE_CHECKING:
    from tta.data.nbest.formats.base import Source

KeyPath = tuple[str | int, ...]

MAX_DEPTH = 20  # of a list in a record
# Values of these keys say that a result is not the last one for its audio.
_INTERIM = {"isFinal": False, "is_final": False, "final": False, "IsPartial": True}
# Arrays of hypotheses with these names belong to the format jsonl.
_OTHERS = ("hypotheses", "nbest", "hyps")
# Scores of Hugging Face's `generate`, whose texts have no name of their own.
_GENERATED = "sequences_scores"

# How files of each format begin, or what they have.
_UTTS = re.compile(r'\s*\{\s*"utts"\s*:\s*\{')
_OBJECTS = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{')
_LISTS = re.compile(rf'"({"|".join(LISTS)})"\s*:\s*\[')
_INPUT = re.compile(r'"(input|nhyps_base|hypothesis|input1)"\s*:\s*\[|"input1"\s*:')
_ONE_BEST = re.compile(r'"(transcripts?|alternatives?|NBest|recognizedPhrases|DisplayText)"\s*:')


@dataclass(frozen=True)
class Tool:
    """How a tool writes a file of lists.

    Attributes:
        layout: one phrase that shows the format, for error messages.
        layouts: those of its lists.
        new: a record of a new list with one hypothesis, from which new ones are made. What is None
            is left out if the list has none.
        file: what the file holds: "records", one after another or in an array, in which "array" has
            new ones; "lines", a record each; or "objects" by their ids, perhaps `inside` an object of that key.
        anywhere: whether records have several lists, at any depth; else one, which may be inside an
            object of the record.
        matches, missing: as in `Format`.
    """

    layout: str
    layouts: tuple[Layout, ...]
    new: Row
    file: str = "records"
    inside: str = ""
    anywhere: bool = False
    reads_folders: bool = False
    has_known_scores: bool = False
    matches: Callable[["Source"], bool] | None = None
    missing: Callable[["Source"], str | None] = lambda source: None

    @property
    def arrays(self) -> str:
        """The keys of the arrays of hypotheses, in words."""
        return " or ".join(dict.fromkeys(f'"{one.array}"' for one in self.layouts))

    @property
    def is_streamed(self) -> bool:
        return self.file == "lines"

    @property
    def score_kind(self) -> str:
        return "log_probability" if self.layouts[0].sign > 0 else "cost"

    def find(self, record: Row) -> list[tuple[KeyPath, Layout]]:
        """Where the lists of a record are, and their layouts; without interim results."""
        if self.anywhere:
            return list(find_lists(record, self.layouts))
        if self.file == "objects":
            return [((), self.layouts[0])]
        if layout := _layout_of(record, self.layouts):
            return [((), layout)]
        found = list(_walk(record, lambda item: _layout_of(item, self.layouts, list), dict))
        if len(found) > 1:
            paths = [".".join(map(str, path)) for path, _ in found]
            raise InputError(f"lists inside {shown(paths)}: expected one")
        return found or [((), self.layouts[0])]


def find_lists(
    record: Any, layouts: Sequence[Layout], is_final: bool = True
) -> Iterator[tuple[KeyPath, Layout]]:
    """Yields where lists are, at any depth, in their order; no interim results if `is_final`."""

    def layout_of(item):
        if is_final and any(item.get(key) is value for key, value in _INTERIM.items()):
            return False
        return next((one for one in layouts if one.rows(item) is not None), None)

    return _walk(record, layout_of, (dict, list))


def _walk(value, layout_of, kinds, path=()):
    """Yields the paths of objects with a layout, and it. False is none, and none is inside it."""
    if len(path) > MAX_DEPTH:
        return
    found = layout_of(value) if isinstance(value, dict) else None
    if found is not None:
        yield from [(path, found)] if found else []
        return
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(one, kinds):
            yield from _walk(one, layout_of, kinds, (*path, key))


def _layout_of(item, layouts, kind=object):
    """The layout of the first of their arrays that an object has, if one is of that kind."""
    if any(isinstance(item.get(one.array), kind) for one in layouts if one.array in item):
        return next(one for one in layouts if one.array in item)
    if kind is list or not isinstance(item.get(_GENERATED), list) or not item[_GENERATED]:
        return None
    arrays = columns(item, len(item[_GENERATED]))
    texts = [name for name, array in arrays.items() if all(isinstance(x, str) for x in array)]
    if len(texts) > 1:
        raise InputError(f"the hypotheses may be {' or '.join(texts)}: call them hypotheses")
    return replace(layouts[0], array=texts[0]) if texts else None


def layout_format_of(record: Any) -> str | None:
    """The name of the format with lists anywhere in a record whose lists it has, or None."""
    if not isinstance(record, dict) or any(map(_is_other, map(record.get, _OTHERS))):
        return None
    for name in ("responses", "nemo", "sockeye"):
        found = find_lists(record, TOOLS[name].layouts)
        if any(layout.entries(value_at(record, path)) for path, layout in found):
            return name
    return None


def value_at(record: Any, path: KeyPath) -> Any:
    """The value in a record at a path."""
    for key in path:
        record = record[key]
    return record


def _is_other(array):
    return isinstance(array, list) and any(
        isinstance(one, str) or (isinstance(one, dict) and "text" in one) for one in array
    )


def _is_dict(source):
    # The files of ESPnet 1 have one more level, called "utts".
    if not _OBJECTS.match(source.start) or _UTTS.match(source.start):
        return False
    objects = [value for value in source.values if isinstance(value, dict)]
    entries = [entry for value in objects for entry in value.values()]
    names = [key for entry in entries if isinstance(entry, dict) for key in entry]
    return not names or any(key.startswith("hyp_") for key in names)


def _is_jsonl(source):
    line = source.head[0].lstrip()
    is_list = _LISTS.search(line) or f'"{_GENERATED}"' in line
    return bool(line.startswith("{") and not source.layouts and is_list)


def _lacks_lines(source):
    if not source.start.lstrip().startswith(("{", "[")):
        return None
    if _LISTS.search(source.start):
        return "each list as one object on its own line"
    one_object_per_line = len(source.head) > 1 and source.head[0].rstrip().endswith("}")
    has_id = any(isinstance(v, dict) and named(v, IDS) is not None for v in source.values[:1])
    return 'the key "hypotheses"' if one_object_per_line or has_id else None


def _is_hyporadise(source):
    start = source.start.lstrip()
    if _LISTS.search(start):
        return False
    columns = [
        [v.get(key) if isinstance(v, dict) else 0 for key in ("texts", "scores")]
        for v in source.values
    ]
    if columns and not source.layouts and all(
        isinstance(texts, list) and isinstance(scores, list) and len(texts) == len(scores)
        for texts, scores in columns
    ):  # fmt: skip
        return True
    is_found = _INPUT.search(start) or (start.startswith("[") and '"input"' in start)
    return bool(start.startswith(("{", "[")) and is_found)


def _lacks_input(source):
    is_array = source.start.lstrip().startswith("[") and not _LISTS.search(source.start)
    return 'the key "input" of an object, with an array of hypotheses' if is_array else None


def _lacks_alternatives(source):
    if not _ONE_BEST.search(source.start):
        return None
    return f"{TOOLS['responses'].arrays} with several texts; ask the service for alternatives"


TOOLS = {
    "espnet1": Tool(
        '{"utts": {"utt": {"output": [{"rec_text": "...", "score": -1.2, "text": ref}]}}}',
        (Outputs("output", ("rec_text",), SCORES),),
        {"output": [{"rec_text": "", "name": "", "score": None, "text": None}]},
        file="objects",
        inside="utts",
        matches=lambda source: bool(_UTTS.match(source.start)),
    ),
    "dict": Tool(
        '{"utt": {"hyp_1": {"score": -1.2, "text": "..."}, ..., "ref": "..."}}',
        (Numbered("", references=("ref",)),),
        {"hyp_1": {"score": None, "text": ""}},
        file="objects",
        matches=_is_dict,
        missing=lambda source: (
            'an object with the keys "hyp_1", "hyp_2" ... for each id'
            if source.start.lstrip().startswith("{")
            else None
        ),
    ),
    "jsonl": Tool(
        'one list per line: {"id", "hypotheses": [{"text", "score"}, ...], "reference"}',
        tuple(Lists(key, scores=("scores", *SCORES, _GENERATED)) for key in LISTS),
        {"id": None, "hypotheses": [{"score": None, "text": ""}]},
        file="lines",
        reads_folders=True,
        matches=_is_jsonl,
        missing=_lacks_lines,
    ),
    "hyporadise": Tool(
        '[{"input": ["...", ...], "output": "reference", "score": [...]}, ...]',
        tuple(
            Lists(
                key,
                scores=(*SCORES, "scores"),
                references=("output", "caption", "transcription", *REFERENCES),
                others="input2" if key == "input1" else "",
            )
            for key in ("input", "nhyps_base", "hypothesis", "input1", "texts")
        ),
        {"id": None, "input": [""]},
        file="array",
        matches=_is_hyporadise,
        missing=_lacks_input,
    ),
    "nemo": Tool(
        'JSON records with arrays "beams"',
        (
            Pairs("beams", ("text",), best="pred_text", references=("text",)),
            Layout(
                "beams", (*TRANSCRIPTS, *HYPOTHESES), best="pred_text", references=("text",)
            ),
        ),
        {"id": None, "text": None, "pred_text": None, "beams": [["", None]]},
        anywhere=True,
        has_known_scores=True,  # of any sign
        reads_folders=True,
    ),
    "sockeye": Tool(
        'JSON records with arrays "translations"',
        (
            Translations(
                "translations",
                scores=("scores",),
                best="translation",
                references=("reference", "ref", "references"),
                sign=-1,
            ),
        ),
        {
            "id": None,
            "reference": None,
            "translation": None,
            "translations": [""],
            "scores": [None],
        },
        anywhere=True,
        reads_folders=True,
    ),
    "responses": Tool(
        'JSON records with arrays "alternatives" or "Alternatives" or "alternative" or "NBest" or '
        '"nBest" or "hypotheses" or "choices" or "outputs"',
        (
            # Google, Amazon Transcribe (segments), Deepgram, IBM Watson
            Layout("alternatives", ("transcript",)),
            # Amazon Transcribe, streaming
            Layout("Alternatives", ("Transcript",)),
            # SpeechRecognition with show_all
            Layout("alternative", ("transcript",)),
            # Azure: one phrase, and batches
            Layout("NBest", ("Display", "ITN", "MaskedITN", "Lexical"), best="DisplayText"),
            Layout("nBest", ("display", "itn", "maskedITN", "lexical")),
            # Vosk, whose confidence is a log-likelihood
            Layout("alternatives", ("text",), ("score", "confidence")),
            # gst-kaldi-nnet2-online and its server
            Layout("hypotheses", ("transcript", "utterance"), ("score", "likelihood")),
            # OpenAI's interface, and vLLM
            Choices("choices", ("text",), ("score", "logprob")),
            Layout("outputs", ("text",)),
        ),
        {"id": None, "reference": None, "results": [{"alternatives": [{"transcript": ""}]}]},
        anywhere=True,
        has_known_scores=True,  # those of Vosk have any sign
        reads_folders=True,
        missing=_lacks_alternatives,
    ),
}
