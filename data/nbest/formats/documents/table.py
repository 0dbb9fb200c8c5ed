"""The tools that write N-best lists as JSON, a row each: what a file holds, where lists are.

docs/nbest.md names the tools, and the sources in which their layouts were checked.
"""

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tta.data.nbest.fields import (
    ANY_FIELDS,
    HYPOTHESES,
    IDS,
    LISTS,
    REFERENCES,
    SCORES,
    TRANSCRIPTS,
    NamedFields,
    named,
)
from tta.data.nbest.formats.documents import layouts
from tta.data.nbest.formats.documents.layouts import Layout, Lists, Row
from tta.errors import InputError, shown

KeyPath = tuple[str | int, ...]

MAX_DEPTH = 20  # of a list in a record
_FIRST_ENTRIES = 20  # of an object of lists by id
# Values of these keys say that a result is not the last one for its audio.
_INTERIM = {"isFinal": False, "is_final": False, "final": False, "IsPartial": True}
# Scores of Hugging Face's `generate`, whose texts have no name of their own.
_GENERATED = "sequences_scores"
_ARRAY_OF_LISTS = rf'"({"|".join(LISTS)})"\s*:\s*\['


@dataclass(frozen=True)
class Tool:
    """How a tool writes a file of lists.

    Attributes:
        layouts: those of its lists.
        new: a record with one hypothesis, from which new ones are made. What stays None is left
            out.
        shown: one phrase that shows the format, for error messages.
        file: "records", one after another or in an array; "array", the same, but new ones are in
            an array; "lines", a record each; or "objects" by their ids.
        inside: the key of the object of the "objects".
        anywhere: whether records have several lists, at any depth; else one, which may be inside an
            object of the record.
        matches, missing: as in `Format`. None is whether a first record has such lists.
    """

    layouts: tuple[Layout, ...]
    new: Row
    shown: str = ""
    file: str = "records"
    inside: str = ""
    anywhere: bool = False
    matches: Callable[[Any], bool] | None = None
    missing: Callable[[Any], str | None] = lambda source: None

    @property
    def arrays(self) -> str:
        """The keys of the arrays of hypotheses, in words."""
        return " or ".join(dict.fromkeys(f'"{layout.array}"' for layout in self.layouts))

    def naming(self, fields: NamedFields) -> "Tool":
        """The tool whose lists, at any depth, may also have their texts in the named field.

        Arrays of `LISTS` with texts of any name are those of the format jsonl.
        """
        if fields.text is None or not self.anywhere:
            return self
        named_layouts = [
            layout if layout.array in LISTS else replace(layout, texts=(fields.text, *layout.texts))
            for layout in self.layouts
        ]
        return replace(self, layouts=tuple(named_layouts))

    def find(self, record: Row) -> list[tuple[KeyPath, Layout]]:
        """Where the lists of a record are, and their layouts; without interim results."""
        if self.anywhere:
            return list(find_lists(record, self.layouts))
        if here := self._layout_of(record, object) or _generated(record, self.layouts[0]):
            return [((), here)]
        inside = list(_walk(record, lambda item: self._layout_of(item, list), dict))
        if len(inside) > 1:
            paths = [".".join(map(str, path)) for path, _ in inside]
            raise InputError(f"lists inside {shown(paths)}: expected one")
        return inside or [((), self.layouts[0])]

    def _layout_of(self, item, kind):
        """The layout of an object that has an array of lists, which is of that kind."""
        fitting = [layout for layout in self.layouts if layout.array in item]
        are_lists = any(isinstance(item[layout.array], kind) for layout in fitting)
        return fitting[0] if are_lists else None


def find_lists(
    record: Any, kinds: Sequence[Layout], is_final: bool = True
) -> Iterator[tuple[KeyPath, Layout]]:
    """Yields where lists are, at any depth, in their order; no interim results if `is_final`."""

    arrays = {layout.array for layout in kinds}

    def layout_of(item):
        if is_final and any(item[key] is _INTERIM[key] for key in _INTERIM.keys() & item.keys()):
            return False
        lists = () if arrays.isdisjoint(item) else kinds
        return next((layout for layout in lists if layout.rows(item) is not None), None)

    return _walk(record, layout_of, (dict, list))


def _walk(value, layout_of, kinds, path=()):
    """Yields the paths of objects with a layout, and it. False is none, and none is inside it."""
    layout = layout_of(value) if isinstance(value, dict) else None
    if layout:
        yield path, layout
    if layout is not None or len(path) == MAX_DEPTH:
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, kinds):
            yield from _walk(inner, layout_of, kinds, (*path, key))


def _generated(item, layout):
    """The layout of the only array of as many texts as there are scores, or None."""
    scores = item.get(_GENERATED)
    arrays = layouts.columns(item, len(scores)) if isinstance(scores, list) and scores else {}
    texts = [name for name, array in arrays.items() if all(isinstance(x, str) for x in array)]
    if len(texts) > 1:
        raise InputError(f"the hypotheses may be {' or '.join(texts)}: call them hypotheses")
    return replace(layout, array=texts[0]) if texts else None


def layout_format_of(record: Any, fields: NamedFields = ANY_FIELDS) -> str | None:
    """The name of the format with lists anywhere in a record whose lists it has, or None.

    `fields` are those that the caller names.
    """
    if not isinstance(record, dict) or _has_array_of_lists(record) or _has_lists_by_id(record):
        return None
    for name, tool in TOOLS.items():
        lists = find_lists(record, tool.naming(fields).layouts) if tool.anywhere else ()
        if any(layout.entries(value_at(record, path)) for path, layout in lists):
            return name
    return None


def _has_array_of_lists(record):
    """Whether a record is one of the format jsonl."""
    for name in ("hypotheses", "nbest", "hyps"):
        array = record.get(name)
        for entry in array if isinstance(array, list) else ():
            if isinstance(entry, str) or (isinstance(entry, dict) and "text" in entry):
                return True
    return False


def _has_lists_by_id(record):
    """Whether an object is a whole file of the format espnet1 or dict, by its first entries."""
    if isinstance(record.get("utts"), dict):
        return True
    first = itertools.islice(record.values(), _FIRST_ENTRIES)
    return any(isinstance(entry, dict) and _has_numbered_key(entry) for entry in first)


def _has_numbered_key(entry):
    return any(key.startswith("hyp_") for key in entry)


def value_at(record: Any, path: KeyPath) -> Any:
    """The value in a record at a path."""
    for key in path:
        record = record[key]
    return record


def _is_dict(source):
    # The files of ESPnet 1 have one more level, called "utts".
    if not re.match(r'\s*\{\s*(?!"utts"\s*:\s*\{)"(?:[^"\\]|\\.)*"\s*:\s*\{', source.start):
        return False
    objects = [value for value in source.values if isinstance(value, dict)]
    entries = [entry for value in objects for entry in value.values() if isinstance(entry, dict)]
    return not any(entries) or any(map(_has_numbered_key, entries))


def _is_jsonl(source):
    if source.layouts:
        return False
    if re.match(rf'\s*\{{.*?({_ARRAY_OF_LISTS}|"{_GENERATED}")', source.head[0]):
        return True
    return bool(source.values) and all(
        isinstance(value, dict) and _has_array_of_lists(value) for value in source.values
    )


def _is_hyporadise(source):
    if re.search(_ARRAY_OF_LISTS, source.start):
        return False
    records = [value if isinstance(value, dict) else {} for value in source.values]
    columns = [[record.get("texts"), record.get("scores")] for record in records]
    if columns and not source.layouts and all(
        isinstance(texts, list) and isinstance(scores, list) and len(texts) == len(scores)
        for texts, scores in columns
    ):  # fmt: skip
        return True
    key = r'"(input|nhyps_base|hypothesis|input1)"\s*:\s*\[|"input1"\s*:'
    return bool(re.match(rf'(?s)\s*(\[.*"input"|[{{\[].*({key}))', source.start))


def _lacks_hypotheses(source):
    if not re.match(r"\s*[{\[]", source.start):
        return None
    one_object_per_line = len(source.head) > 1 and source.head[0].rstrip().endswith("}")
    has_id = any(isinstance(v, dict) and named(v, IDS) is not None for v in source.values[:1])
    return 'the key "hypotheses"' if one_object_per_line or has_id else None


def _lacks(what, pattern):
    """What files that begin with a pattern lack."""
    return lambda source: what if re.match(rf"(?s)\s*{pattern}", source.start) else None


TOOLS = {
    "espnet1": Tool(
        (layouts.Outputs("output", ("rec_text",), SCORES),),
        {"output": [{"rec_text": "", "name": "", "score": None, "text": None}]},
        '{"utts": {"utt": {"output": [{"rec_text": "...", "score": -1.2, "text": ref}]}}}',
        file="objects",
        inside="utts",
        matches=lambda source: bool(re.match(r'\s*\{\s*"utts"\s*:\s*\{', source.start)),
    ),
    "dict": Tool(
        (layouts.Numbered("", references=("ref",)),),
        {"hyp_1": {"score": None, "text": ""}},
        '{"utt": {"hyp_1": {"score": -1.2, "text": "..."}, ..., "ref": "..."}}',
        file="objects",
        matches=_is_dict,
        missing=_lacks('an object with the keys "hyp_1", "hyp_2" ... for each id', r"\{"),
    ),
    "jsonl": Tool(
        tuple(
            Lists(array, scores=("scores", *SCORES, _GENERATED), references=REFERENCES)
            for array in LISTS
        ),
        {"id": None, "hypotheses": [{"score": None, "text": ""}]},
        'lists as {"id", "hypotheses": [{"text", "score"}, ...], "reference"}, one per line',
        file="lines",
        matches=_is_jsonl,
        missing=_lacks_hypotheses,
    ),
    # HyPoradise and data sets made after it; `texts` are those of `tta.integrations`.
    "hyporadise": Tool(
        tuple(
            Lists(
                array,
                scores=(*SCORES, "scores"),
                references=("output", "caption", "transcription", *REFERENCES),
                others="input2" if array == "input1" else "",
            )
            for array in ("input", "nhyps_base", "hypothesis", "input1", "texts")
        ),
        {"id": None, "input": [""]},
        '[{"input": ["...", ...], "output": "reference", "score": [...]}, ...]',
        file="array",
        matches=_is_hyporadise,
        missing=_lacks(
            'the key "input" of an object, with an array of hypotheses',
            rf"\[(?!.*{_ARRAY_OF_LISTS})",
        ),
    ),
    "responses": Tool(
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
            layouts.Choices("choices", ("text",), ("score", "logprob")),
            Layout("outputs", ("text",)),
        ),
        {"id": None, "reference": None, "results": [{"alternatives": [{"transcript": ""}]}]},
        anywhere=True,
        missing=_lacks(
            "arrays of several texts; ask the service for alternatives",
            r'.*"(transcripts?|alternatives?|NBest|recognizedPhrases|DisplayText)"\s*:',
        ),
    ),
    "nemo": Tool(
        (
            layouts.Pairs("beams", ("text",), best="pred_text", references=("text",)),
            Layout("beams", (*TRANSCRIPTS, *HYPOTHESES), best="pred_text", references=("text",)),
        ),
        {"id": None, "text": None, "pred_text": None, "beams": [["", None]]},
        anywhere=True,
    ),
    "sockeye": Tool(
        (layouts.Translations("translations", scores=("scores",), best="translation", sign=-1),),
        {
            "id": None,
            "reference": None,
            "translation": None,
            "translations": [""],
            "scores": [None],
        },
        anywhere=True,
    ),
}
