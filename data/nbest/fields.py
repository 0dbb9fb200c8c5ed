"""Named fields of JSON and tables: ids, texts, references, scores, and which are features."""

import functools
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tta.data.nbest.lists import Hypothesis, ListCollector, parse_number, parse_score, stem
from tta.data.text.tables import is_number
from tta.errors import InputError, shown

# The names of each kind, for all readers. Case, blanks, `_` and `-` do not matter: `uttID` is
# `utt_id`. If several are there, the first one counts.
IDS = (
    *("custom_id", "id", "uid", "utterance_id", "utt_id", "utterance", "utt", "key", "cut_id"),
    *("segment_id", "seg_id", "sentence_id", "sent_id", "sample_id", "example_id", "wav_id"),
    *("clip_id", "audio_id", "file_id", "job_name", "request_id", "idx", "index"),
)
# Ids and files of recordings. A recording may have several utterances.
RECORDINGS = (
    *("session_id", "recording_id", "audio_filepath", "audio_file", "audio_path", "audio"),
    *("wav_filename", "wav_path", "wav", "path", "file_path", "file_name", "file", "source"),
)
# Where an utterance begins in its recording.
STARTS = ("start", "start_time", "begin", "begin_time", "offset", "segment")
HYPOTHESES = ("hypothesis", "hyp", "pred_text", "prediction", "rec_text")
# These are hypotheses, or references if a name of `HYPOTHESES` is there.
TRANSCRIPTS = ("text", "transcript", "transcription", "sentence")
REFERENCES = (
    *("reference", "ref", "ground_truth", "gt", "target", "ref_text", "reference_text"),
    "references",
)
# The end of the name of an array with several references: `refs`, `gold_references`.
_SEVERAL_REFERENCES = re.compile(
    r"(^|_)(references?|refs?|targets?|gts?|ground_?truths?|golds?)"
    r"(_?(texts?|sentences?|transcripts?|transcriptions?|translations?))?$"
)
LISTS = ("hypotheses", "nbest", "hyps", "n_best", "nbest_hypotheses", "candidates")
SCORES = ("score", "first_pass_score", "total_score")
# These are scores if there is no other one.
LOG_PROBABILITIES = (
    *("log_prob", "log_probability", "logp", "log_likelihood", "cumulative_logprob"),
    *("sequence_score", "logit_score"),
)

# Ranks of a hypothesis in its list. Those without "rank" in their names may be something else.
RANKS = (
    *("rank", "nbest_rank", "hyp_rank", "hypothesis_rank", "beam_rank", "ranking"),
    *("nbest_index", "nbest_id", "nbest", "hyp_index", "hyp_idx", "hyp_id", "hyp_no", "hyp_num"),
    *("hypothesis_index", "hypothesis_id", "hypothesis_number", "beam_index", "beam_idx"),
    *("beam_id", "beam", "position", "pos", "place", "order", "alternative", "candidate", "index"),
    *("idx", "number", "num", "no", "nth", "n"),
)
# Names of columns of numbers.
_PLURALS = tuple(
    re.sub("y$", "ie", name) + "s" for name in ("score", *SCORES[1:], *LOG_PROBABILITIES)
)

# Parts of the score of a speech recogniser. They are natural logs, so their sum is a score.
PARTS = ("am_score", "att_score", "ctc_score", "lm_score")

# Objects whose fields are features under any name.
_OBJECTS = ("scores", "features")
# The last word of the name of a feature.
_LAST_WORD = re.compile(
    r"(\w*score|\w*prob|\w*likelihood|logp|logit|probability|posterior|confidence|nll|ppl|perplexity"
    r"|cost|loss|penalty|bonus|am|lm|tm|att|attention|ctc|decoder|ngram|rnnt|transducer)s?"
)
# Measures that compare with the reference. As features, they would give the reference away.
_MEASURES = {"wer", "cer", "mer", "wil", "ter", "bleu", "chrf", "meteor", "rouge", "oracle"}


@dataclass(frozen=True)
class NamedFields:
    """The fields of a hypothesis that the caller names, in place of those that are looked for.

    A name may be a path into objects and arrays, such as `segments[].text`. Texts that an array
    has are joined by blanks.

    Attributes:
        text: that of the text; None if it is looked for.
        score: that of the score; None if it is looked for.
    """

    text: str | None = None
    score: str | None = None

    def __bool__(self) -> bool:
        return self.text is not None or self.score is not None

    def put_into(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a hypothesis, with values at paths as fields of the path's name.

        Raises InputError if the hypothesis has no such text or score, has several scores, or one
        that is no finite number.
        """
        named_values = {}
        if self.text is not None:
            texts = values_at(row, self.text)
            if not (texts and all(isinstance(text, str) for text in texts)):
                raise InputError(f"a hypothesis has no text {shown(self.text)}: {shown(row)}")
            is_joined = self.text not in row
            named_values[self.text] = _joined(texts) if is_joined else texts[0]
        if self.score is not None:
            scores = values_at(row, self.score)
            if len(scores) != 1:
                number = "several scores" if scores else "no score"
                raise InputError(f"a hypothesis has {number} {shown(self.score)}: {shown(row)}")
            named_values[self.score] = parse_number(scores[0], shown(self.score))
        return {**row, **named_values}

    def put_back(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The inverse of `put_into`, after which the text or the score may have changed.

        A new text at a path to several texts becomes the first of them; the others become "".
        """
        row = dict(row)
        if self.text is not None and self.text in row:
            row = _put_back(row, self.text, _joined)
        if self.score is not None and self.score in row:
            row = _put_back(row, self.score, lambda scores: scores[0])
        return row

    def has_text(self, row: Mapping[str, Any]) -> bool:
        """Whether a hypothesis has the named text."""
        return self.text is not None and bool(values_at(row, self.text))


# No field is named: all are looked for.
ANY_FIELDS = NamedFields()


def values_at(row: Mapping[str, Any], path: str) -> list[Any]:
    """The values of the field with that name or at that path, but for null."""
    values: list[Any] = [row]
    for key in [path] if path in row else path.split("."):
        name = key.removesuffix("[]")
        values = [value.get(name) for value in values if isinstance(value, dict)]
        if name != key:
            arrays = [value for value in values if isinstance(value, list)]
            values = [entry for array in arrays for entry in array]
    return [value for value in values if value is not None]


def _joined(texts: Iterable[str]) -> str:
    """The text of several texts at a path."""
    return " ".join(filter(None, map(str.strip, texts)))


def _put_back(row: dict[str, Any], path: str, read: Callable[[list[Any]], Any]) -> dict[str, Any]:
    """A row in which the field of a path's name is at the path, if there are values.

    `read` gives what was read from them.
    """
    value, at_path = row[path], {name: row[name] for name in row if name != path}
    old_values = values_at(at_path, path)
    if not old_values:
        return row
    if read(old_values) == value:
        return at_path
    return _with_values(at_path, path.split("."), itertools.chain([value], itertools.repeat("")))


def _with_values(value: Any, keys: Sequence[str], new_values: Iterator[Any]) -> Any:
    """A copy of a JSON value with new values at a path, in place of those that are not null."""
    if not keys:
        return None if value is None else next(new_values)
    name = keys[0].removesuffix("[]")
    if not isinstance(value, dict) or name not in value:
        return value
    inner, later_keys = value[name], keys[1:]
    if name == keys[0]:
        return value | {name: _with_values(inner, later_keys, new_values)}
    if not isinstance(inner, list):
        return value
    return value | {name: [_with_values(entry, later_keys, new_values) for entry in inner]}


def named(fields: Iterable[str], names: Sequence[str]) -> str | None:
    """The field with one of the names, the earliest name if there are several; or None."""
    return next(iter(_all_named(tuple(fields), tuple(names))), None)


def reference_name(fields: Mapping[str, Any], names: Sequence[str] = REFERENCES) -> str | None:
    """The field with the reference: one of `names`, else an array of texts; None if none has one.

    The array has a plural of `names`, or a name that ends as `refs` or `gold_references`.
    """
    if (name := named(fields, names)) is not None:
        return name
    plurals = {_plain(f"{singular}s") for singular in names}
    for name, value in fields.items():
        if isinstance(value, list) and value and all(isinstance(text, str) for text in value):
            words = re.sub("(?<=[a-z])(?=[A-Z])|[- ]", "_", name).lower()
            if _plain(name) in plurals or _SEVERAL_REFERENCES.search(words):
                return name
    return None


def id_of(fields: Mapping[str, Any], default: Any = None) -> tuple[Any, bool]:
    """The id among the fields of a list, or the default; and whether it is that of a recording.

    The id of a file is its name without folder and suffix. If no value is a string or a number, the
    first one is returned, so that the caller can refuse it.
    """
    if ids := [fields[key] for key in _all_named(tuple(fields), IDS)]:
        valid = (value for value in ids if type(value) in (str, int) and value != "")
        return next(valid, ids[0]), False
    for key in _all_named(tuple(fields), RECORDINGS):
        value = fields[key]
        if isinstance(value, str) and value:
            if _plain(key).endswith("id"):
                return value, True
            # A "source" may be the sentence that was translated.
            if re.search(r"\.\w{2,5}$", value) or not (_plain(key) == "source" or " " in value):
                return stem(value), True
    return default, False


def check_origin(row: Mapping[str, Any], utterance_id: Any, seen: dict[Any, Any]) -> None:
    """Checks that the rows of a recording are of one file and of one utterance in it.

    `seen` holds the file and the start of each recording in the rows before this one. Raises
    InputError if files of the same name are in two folders, or utterances begin at two times.
    """
    keys = named(row, RECORDINGS), named(row, STARTS)
    origin = " at ".join(str(row[key]) for key in keys if key is not None)
    if (first := seen.setdefault(utterance_id, origin)) != origin:
        rule = f"{shown(first)} and {shown(origin)} may be two utterances: give each an id"
        raise InputError(rule)


def score_key(fields: Mapping[str, Any], names: Sequence[str] = SCORES) -> str:
    """The name of the field that holds the score of a hypothesis.

    These are tried in turn, if they have a value: the first of `names`; the only one of `PARTS`,
    unless it is `lm_score`; the first of `LOG_PROBABILITIES`. If there is none, it is the field of
    `names` to which a score can be written.
    """
    with_value = {name: value for name, value in fields.items() if value is not None}
    if (key := named(with_value, names)) is not None:
        return key
    parts = _parts(with_value)
    if len(parts) == 1 and "lm_score" not in parts:
        return next(iter(parts.values()))
    numbers = [name for name, value in with_value.items() if not isinstance(value, (list, dict))]
    log_probability = named(with_value, LOG_PROBABILITIES) or named(numbers, _PLURALS)
    return log_probability or named(fields, names) or names[0]


def row_keys(fields: Mapping[str, Any], chosen: NamedFields = ANY_FIELDS) -> dict[str, str]:
    """The fields of a row of a table, one hypothesis: those of "id", "text", "score", "reference".

    Each is the field's name; what the row does not have is left out. A transcript beside a
    hypothesis is the reference. `chosen` names the fields that are not looked for.
    """
    text = chosen.text or named(fields, (*HYPOTHESES, *TRANSCRIPTS))
    keys = {
        "id": named(fields, (*IDS, *RECORDINGS)),
        "text": text,
        "score": chosen.score or score_key(fields),
        "reference": reference_name(fields),
    }
    if not keys["reference"] and text not in _all_named(tuple(fields), TRANSCRIPTS):
        keys["reference"] = named(fields, TRANSCRIPTS)
    return {kind: name for kind, name in keys.items() if name in fields}


def ranked(
    hypotheses: Sequence[Hypothesis], fields: Sequence[Mapping[str, Any]]
) -> Sequence[Hypothesis]:
    """Hypotheses without scores in the order of their ranks, if their `fields` have ranks.

    Ranks are 0, 1 ... or 1, 2 ..., perhaps at the end of a text such as `hyp_2`. In a field of
    "rank" some may be missing, as in pruned lists.
    """
    if any(hypothesis.score is not None for hypothesis in hypotheses) or len(hypotheses) < 2:
        return hypotheses
    for name in _all_named(tuple(fields[0]), RANKS):
        values = [re.fullmatch(r"(.*?)([0-9]{1,9})(?:\.0)?", str(row.get(name))) for row in fields]
        ranks = [int(match[2]) for match in values if match]
        if len(set(ranks)) < len(values) or len({match and match[1] for match in values}) > 1:
            continue
        is_whole = max(ranks) - min(ranks) < len(ranks) and min(ranks) < 2
        if is_whole or "rank" in name.lower():
            return [hypotheses[i] for i in sorted(range(len(ranks)), key=ranks.__getitem__)]
    return hypotheses


@dataclass(frozen=True)
class ScoreFields:
    """The fields of a hypothesis that hold numbers.

    Attributes:
        score: the name of the score, `score_key`.
        has_score: whether this field has a value.
        features: the names of fields that are a feature, if they hold a number, or objects whose
            fields are features.
    """

    score: str
    has_score: bool
    features: tuple[str, ...]


class RowKind(NamedTuple):
    """What most hypotheses of a file have in common, so that it is looked at once.

    Attributes:
        fields: the names of the fields.
        types: those of their values.
    """

    fields: tuple[str, ...]
    types: tuple[type, ...]


def kind_of(fields: Mapping[str, Any]) -> RowKind:
    """The names of fields and the types of their values."""
    return RowKind(tuple(fields), tuple(map(type, fields.values())))


@functools.lru_cache(1000)
def score_fields(
    kind: RowKind, names: tuple[str, ...] = SCORES, text: str | None = None
) -> ScoreFields:
    """Finds the fields with numbers in hypotheses of a kind.

    Features are fields whose last word is `score`, `logprob`, `lm` or similar, and all fields of
    the objects `scores` and `features`. Measures such as `wer_score` are none.

    Args:
        names: those of the score.
        text: that of the text.
    """
    # A value of each type: whether it is None, an array or an object is all that matters here.
    samples = {list: [], dict: {}, type(None): None}
    pairs = zip(kind.fields, kind.types, strict=True)
    fields = {name: samples.get(value_type, 0) for name, value_type in pairs if name != text}
    score = score_key(fields, names)
    features = [
        name
        for name, value in fields.items()
        if (name in _OBJECTS and value == {}) or (name != score and _names_feature(name))
    ]
    return ScoreFields(score, fields.get(score) is not None, tuple(features))


def read_scores(
    fields: Mapping[str, Any], names: ScoreFields, collector: ListCollector
) -> tuple[float | None, dict[str, float]]:
    """Reads the score and the features of a hypothesis, whose fields have these names.

    If the score has no value, it is the sum of the fields of `PARTS`, or None if there are fewer
    than two. Features are numbers, or their text; booleans and nulls are none. Raises InputError if
    the score, or text in a field whose name ends in `score`, is not a number; a number is not
    finite; a feature is there twice; or `collector` has scores of other parts.
    """
    features: dict[str, float] = {}
    for name in names.features:
        is_object = name in _OBJECTS and isinstance(fields[name], dict)
        for feature, value in (fields[name] if is_object else {name: fields[name]}).items():
            if feature in features:
                raise InputError(f"duplicate feature {shown(feature)}")
            if _is_number(feature, value):
                features[feature] = parse_number(value, shown(feature))
    if names.has_score:
        collector.check_parts((names.score,))
        return parse_score(fields[names.score]), features
    parts = _parts(features)
    if len(parts) < 2:
        return None, features
    collector.check_parts(tuple(parts))
    return math.fsum(features[name] for name in parts.values()), features


def _parts(fields: Mapping[str, Any]) -> dict[str, str]:
    """{name in `PARTS`: name of the field}, which may be a plural, such as that of a column."""
    parts = {}
    for part in PARTS:
        plural = f"{part}s"
        if part in fields:
            parts[part] = part
        elif plural in fields and not isinstance(fields[plural], (list, dict)):
            parts[part] = plural
    return parts


@functools.lru_cache(1000)
def _names_feature(name):
    words = re.findall("[a-z]+", name.lower())
    return bool(words and _LAST_WORD.fullmatch(words[-1])) and _MEASURES.isdisjoint(words)


@functools.lru_cache(1000)  # most hypotheses of a file have the same fields
def _all_named(fields, names):
    """The fields that have one of the names, in the order of the names."""
    by_name = {_plain(field): field for field in reversed(fields)}
    return [by_name[name] for name in map(_plain, names) if name in by_name]


@functools.lru_cache(1000)
def _plain(name):
    return re.sub("[-_ ]", "", name).lower()


def _is_number(name, value):
    if not isinstance(value, str):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    is_a_number = is_number(value)
    if not is_a_number and name.lower().endswith("score"):
        raise InputError(f"expected a number as {shown(name)}, got {shown(value)}")
    return is_a_number
