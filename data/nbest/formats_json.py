"""N-best formats in JSON: the dict of ESPnet and mlm-scoring, JSONL, HyPoradise, ESPnet 1."""

import json
import re
from collections import Counter

from tta.data.nbest.lists import Format, Hypothesis, located, parse_score, shown
from tta.errors import InputError


class DictFormat(Format):
    """`{"utt": {"hyp_1": {"score": -1.2, "text": "..."}, ..., "ref": "..."}, ...}`.

    Hypotheses are ordered by their number, whatever their order in the file.
    """

    name = "dict"
    has_long_lines = True
    layout = '{"utt": {"hyp_1": {"score": -1.2, "text": "..."}, ..., "ref": "..."}}'

    def matches(self, source):
        # The first value is an object. ESPnet 1's file has a level more, and says so.
        start = source.start
        return bool(_FIRST_VALUE_IS_OBJECT.match(start)) and not _UTTS.match(start)

    def read(self, source, collector):
        document = load_json(source.text)
        for utterance_id, entry in _expect(document, dict, "the document").items():
            with located(f"list {shown(utterance_id)}", _line_of_object(source, utterance_id)):
                hypotheses, rest = self._parse(_expect(entry, dict, "a list"))
                reference = rest.pop("ref", None)
                collector.add(utterance_id, hypotheses, reference, {self.name: rest})

    def _parse(self, entry):
        numbered, rest = {}, {}
        for key, value in entry.items():
            match = re.fullmatch(r"hyp_([0-9]{1,9})", key)
            if not match:
                rest[key] = value
                continue
            number = int(match.group(1))
            if number in numbered:
                raise InputError(f"duplicate hypothesis number {number}")
            with located(key):
                numbered[number] = _hypothesis(value, self.name)
        return [numbered[n] for n in sorted(numbered)], rest

    def write(self, lists, stream):
        document = {}
        for nbest in lists:
            entry = document[nbest.utterance_id] = {}
            for number, hypothesis in enumerate(nbest.hypotheses, 1):
                entry[f"hyp_{number}"] = _with_score(hypothesis, self.extra_of(hypothesis))
            entry.update(self.extra_of(nbest))
            if nbest.reference is not None:
                entry["ref"] = nbest.reference
        _dump(document, stream, indent=1)


class JsonLinesFormat(Format):
    """One list a line: `{"id", "hypotheses": [{"text", "score"}, ...], "reference"}`.

    A hypothesis may be a plain string. Also read (and written back as they were): `utterance_id`
    and `utt_id` for `id`; `nbest` and `hyps` for `hypotheses`; `ref` for `reference`. Without an
    id, lists are named by their index from 0.
    """

    name = "jsonl"
    has_long_lines = True
    layout = 'a line each: {"id", "hypotheses": [{"text", "score"}, ...], "reference"}'
    _IDS = ("id", "utterance_id", "utt_id")
    _HYPOTHESES = ("hypotheses", "nbest", "hyps")
    _REFERENCES = ("reference", "ref")

    def matches(self, source):
        line = source.head[0].lstrip()
        return line.startswith("{") and bool(re.search(r'"(hypotheses|nbest|hyps)"\s*:\s*\[', line))

    def read(self, source, collector):
        for number, line in source.rows:
            self.read_row(number, line, collector)

    def read_row(self, number, line, collector):
        """Adds the list of one line to a `ListCollector`."""
        item = _expect(load_json(line, number), dict, "a list", number)
        utterance_id = item.get(_key(item, self._IDS), collector.count)
        with located(f"list {shown(utterance_id)}", number):
            values = item.get(_key(item, self._HYPOTHESES))
            hypotheses = [
                _hypothesis({"text": value} if isinstance(value, str) else value, self.name)
                for value in _expect(values, list, '"hypotheses"')
            ]
            reference = item.get(_key(item, self._REFERENCES))
            collector.add(utterance_id, hypotheses, reference, {self.name: item})

    def write(self, lists, stream):
        for nbest in lists:
            item = dict(self.extra_of(nbest))
            item.setdefault(_key(item, self._IDS), nbest.utterance_id)
            item[_key(item, self._HYPOTHESES)] = [
                _with_score(h, self.extra_of(h)) for h in nbest.hypotheses
            ]
            if nbest.reference is not None:
                item[_key(item, self._REFERENCES)] = nbest.reference
            _dump(item, stream)


class HyporadiseFormat(Format):
    """`[{"input": ["...", ...], "output": "reference", "score": [...], "id": ...}, ...]`.

    The scores may be called `am_score` or be absent; without an id, lists are named by their
    index from 0. Other values that have one entry a hypothesis follow their hypothesis.
    """

    name = "hyporadise"
    has_long_lines = True
    layout = '[{"input": ["...", ...], "output": "reference", "score": [...]}, ...]'
    _SCORES = ("score", "am_score")

    def matches(self, source):
        return source.head[0].lstrip().startswith("[")

    def read(self, source, collector):
        for index, item in enumerate(_expect(load_json(source.text), list, "the document")):
            with located(f"item {index}", _line_of_item(source, index)):
                utterance_id = _expect(item, dict, "a list").get("id", index)
                texts = _expect(item.get("input"), list, '"input"')
                columns = {k: v for k, v in item.items() if _is_column(v, len(texts))}
                columns.pop("input", None)
                scores = self._scores(item, len(texts))
                hypotheses = [
                    Hypothesis(text, score, {self.name: {k: v[i] for k, v in columns.items()}})
                    for i, (text, score) in enumerate(zip(texts, scores, strict=True))
                ]
                extra = {self.name: item}
                collector.add(utterance_id, hypotheses, item.get("output"), extra)

    def _scores(self, item, count):
        key = _key(item, self._SCORES)
        if item.get(key) is None:
            return [None] * count
        scores = _expect(item[key], list, f'"{key}"')
        if len(scores) != count:
            raise InputError(f'expected one "{key}" a hypothesis, got {len(scores)} for {count}')
        return [parse_score(score) for score in scores]

    def write(self, lists, stream):
        document = []
        for nbest in lists:
            item = dict(self.extra_of(nbest)) or {"id": nbest.utterance_id}
            for key in self.extra_of(nbest.hypotheses[0]):
                item[key] = [self.extra_of(h).get(key) for h in nbest.hypotheses]
            item["input"] = [h.text for h in nbest.hypotheses]
            if nbest.reference is not None:
                item["output"] = nbest.reference
            if nbest.hypotheses[0].score is not None:
                item[_key(item, self._SCORES)] = [float(h.score) for h in nbest.hypotheses]
            document.append(item)
        _dump(document, stream, indent=1)


class Espnet1Format(Format):
    """ESPnet 1's data.json: `{"utts": {"utt": {"output": [{"rec_text", "score", "text"}]}}}`.

    `text` is the reference; the end token is no part of a hypothesis.
    """

    name = "espnet1"
    has_long_lines = True
    layout = '{"utts": {"utt": {"output": [{"rec_text": "...", "score": -1.2, "text": ref}]}}}'

    def matches(self, source):
        return bool(_UTTS.match(source.start))

    def read(self, source, collector):
        document = _expect(load_json(source.text), dict, "the document")
        for utterance_id, entry in _expect(document.get("utts"), dict, '"utts"').items():
            with located(f"list {shown(utterance_id)}", _line_of_object(source, utterance_id)):
                outputs = _expect(_expect(entry, dict, "a list").get("output"), list, '"output"')
                hypotheses = [self._parse(_expect(o, dict, "an output")) for o in outputs]
                reference = outputs[0].get("text") if outputs else None
                collector.add(utterance_id, hypotheses, reference, {self.name: entry})

    def _parse(self, output):
        text = _expect(output.get("rec_text"), str, '"rec_text"')
        text = text.removesuffix("<eos>").strip()
        return Hypothesis(text, parse_score(output.get("score")), {self.name: output})

    def write(self, lists, stream):
        utterances = {}
        for nbest in lists:
            outputs = []
            for number, hypothesis in enumerate(nbest.hypotheses, 1):
                output = {"name": None, "rec_text": f"{hypothesis.text} <eos>"}
                output |= self.extra_of(hypothesis) | {"name": f"target1[{number}]"}
                if hypothesis.score is not None:
                    output["score"] = float(hypothesis.score)
                if nbest.reference is not None:
                    output["text"] = nbest.reference
                outputs.append(output)
            utterances[nbest.utterance_id] = {**self.extra_of(nbest), "output": outputs}
        _dump({"utts": utterances}, stream, indent=1)


def load_json(text, first_line=1):
    """Parses JSON, refusing duplicate keys.

    Args:
        text: the document.
        first_line: the line of the file on which it starts.

    Raises:
        InputError: it is malformed (with the line), has a duplicate key, or is nested too deeply.
    """
    try:
        return json.loads(text, object_pairs_hook=_unique_keys)
    except _DuplicateKeyError as error:
        # Where the key stands twice in all, it is the second that is one too many.
        found = list(re.finditer(re.escape(_quoted(error.key)) + r"\s*:", text))
        line = first_line + text.count("\n", 0, found[1].start()) if len(found) == 2 else None
        raise InputError(f"duplicate key {shown(error.key)}", line=line) from None
    except json.JSONDecodeError as error:
        rule = f"malformed JSON: {error.msg}, column {error.colno}"
        raise InputError(rule, line=first_line + error.lineno - 1) from None
    except RecursionError:
        raise InputError("malformed JSON: nested too deeply", line=first_line) from None
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(f"malformed JSON: {error}", line=first_line) from None


_FIRST_VALUE_IS_OBJECT = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{')
_UTTS = re.compile(r'\s*\{\s*"utts"\s*:\s*\{')


class _DuplicateKeyError(Exception):
    def __init__(self, key):
        super().__init__(key)
        self.key = key


def _unique_keys(pairs):
    result = dict(pairs)
    if len(result) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _DuplicateKeyError(next(key for key, count in counts.items() if count > 1))
    return result


def _quoted(key):
    return json.dumps(key, ensure_ascii=False)


def _expect(value, kind, what, line=None):
    if not isinstance(value, kind):
        names = {dict: "an object", list: "an array", str: "a string"}
        raise InputError(f"expected {what} as {names[kind]}, got {shown(value)}", line=line)
    return value


def _hypothesis(value, format_name):
    value = _expect(value, dict, "a hypothesis")
    if "text" not in value:
        raise InputError(f'a hypothesis has no "text": {shown(value)}')
    rest = {k: v for k, v in value.items() if k not in ("text", "score")}
    return Hypothesis(value["text"], parse_score(value.get("score")), {format_name: rest})


def _with_score(hypothesis, extra):
    score = {} if hypothesis.score is None else {"score": float(hypothesis.score)}
    return {**score, "text": hypothesis.text, **extra}


def _key(item, names):
    """The first of the names that the item has; the first name where it has none."""
    return next((name for name in names if name in item), names[0])


def _is_column(value, count):
    return isinstance(value, list) and len(value) == count


def _line_of_object(source, key):
    """A function that finds the line on which the object under a key starts."""
    pattern = re.escape(_quoted(key)) + r"\s*:\s*\{"
    return lambda: _line_of_match(source.text, pattern, 0)


def _line_of_item(source, index):
    """A function that finds the line of the "input" of a HyPoradise item."""
    return lambda: _line_of_match(source.text, r'"input"\s*:', index)


def _line_of_match(text, pattern, index):
    matches = list(re.finditer(pattern, text))
    return text.count("\n", 0, matches[index].start()) + 1 if index < len(matches) else None


def _dump(value, stream, indent=None):
    try:
        text = json.dumps(value, ensure_ascii=False, indent=indent)
        if re.search("[\ud800-\udfff]", text):  # half a surrogate pair in what was kept
            text = json.dumps(value, indent=indent)
    except RecursionError:  # in what was kept of the file that it was read from
        raise InputError("nested too deeply to be written as JSON") from None
    stream.write(text + "\n")
