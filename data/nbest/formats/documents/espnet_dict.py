"""JSON documents {id: list}: the dict of ESPnet and mlm-scoring, and the data.json of ESPnet 1."""

import re
from typing import Any

from tta.data.nbest.fields import ranked, read_scores, score_key
from tta.data.nbest.formats.base import Format
from tta.data.nbest.formats.json_hypotheses import hypothesis_object, parse_hypothesis
from tta.data.nbest.lists import Hypothesis, NBestList
from tta.data.text.json_text import dump_json, expect, load_json, quoted
from tta.errors import InputError, located, shown

_UTTS = re.compile(r'\s*\{\s*"utts"\s*:\s*\{')
_FIRST_VALUE_IS_OBJECT = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{')


class DictFormat(Format):
    """`{"utt": {"hyp_1": {"score": -1.2, "text": "..."}, ..., "ref": "..."}, ...}`.

    Hypotheses are ordered by their number, not by their position in the file. Further scores of a
    hypothesis are features; see `read_scores`.
    """

    has_long_lines = True
    layout = '{"utt": {"hyp_1": {"score": -1.2, "text": "..."}, ..., "ref": "..."}}'

    def matches(self, source):
        # The first value is an object. The files of ESPnet 1 have one more level, called "utts".
        start = source.start
        if not _FIRST_VALUE_IS_OBJECT.match(start) or _UTTS.match(start):
            return False
        objects = [value for value in source.values if isinstance(value, dict)]
        entries = [entry for value in objects for entry in value.values()]
        names = [key for entry in entries if isinstance(entry, dict) for key in entry]
        return not names or any(key.startswith("hyp_") for key in names)

    def missing(self, source):
        is_object = source.start.lstrip().startswith("{")
        return 'an object with the keys "hyp_1", "hyp_2" ... for each id' if is_object else None

    def read(self, source, collector):
        document = expect(load_json(source.text), dict, "the document")
        for utterance_id, entry in self.entries(document).items():
            line_of_key = source.line_of(re.escape(quoted(utterance_id)) + r"\s*:\s*\{")
            with located(f"list {shown(utterance_id)}", line_of_key):
                found = self.parse(expect(entry, dict, "a list"), collector)
                collector.add(utterance_id, *found)

    def write(self, lists, stream):
        dump_json(self.document({one.utterance_id: self.entry(one) for one in lists}), stream, 1)

    def entries(self, document: dict[str, Any]) -> dict[str, Any]:
        """{id: list} in a document."""
        return document

    def document(self, entries: dict[str, Any]) -> dict[str, Any]:
        """The inverse of `entries`."""
        return entries

    def parse(self, entry: dict[str, Any], collector: Any) -> tuple[Any, ...]:
        """The hypotheses, the reference and the `extra` of a list."""
        numbered, rest = {}, {}
        for key, value in entry.items():
            match = re.fullmatch(r"hyp_([0-9]{1,9})", key)
            if not match:
                if isinstance(value, dict) and "text" in value:
                    raise InputError(f"a hypothesis is called hyp_N, got {shown(key)}")
                rest[key] = value
                continue
            number = int(match.group(1))
            if number in numbered:
                raise InputError(f"duplicate hypothesis number {number}")
            with located(key):
                numbered[number] = parse_hypothesis(value, self.name, collector)
        reference = rest.pop("ref", None)
        if rest and not numbered:
            raise InputError(f'expected keys "hyp_1", "hyp_2" ..., got {shown(list(rest))}')
        found = [numbered[n] for n in sorted(numbered)]
        return ranked(found, list(map(self.extra_of, found))), reference, {self.name: rest}

    def entry(self, nbest: NBestList) -> dict[str, Any]:
        """The inverse of `parse`."""
        entry = {
            f"hyp_{number}": hypothesis_object(hypothesis, self.extra_of(hypothesis))
            for number, hypothesis in enumerate(nbest.hypotheses, 1)
        }
        reference = {} if nbest.reference is None else {"ref": nbest.reference}
        return entry | self.extra_of(nbest) | reference


class Espnet1Format(DictFormat):
    """ESPnet 1's data.json: `{"utts": {"utt": {"output": [{"rec_text", "score", "text"}]}}}`.

    `text` is the reference. Further scores of an output are features; see `read_scores`.
    """

    layout = '{"utts": {"utt": {"output": [{"rec_text": "...", "score": -1.2, "text": ref}]}}}'

    def matches(self, source):
        return bool(_UTTS.match(source.start))

    def missing(self, source):
        return None

    def entries(self, document):
        return expect(document.get("utts"), dict, '"utts"')

    def document(self, entries):
        return {"utts": entries}

    def parse(self, entry, collector):
        outputs = expect(entry.get("output"), list, '"output"')
        hypotheses = []
        for output in outputs:
            output = expect(output, dict, "an output")
            text = expect(output.get("rec_text"), str, '"rec_text"').strip()
            score, features = read_scores(output, collector)
            hypotheses.append(Hypothesis(text, score, {self.name: output}, features))
        references = [output.get("text") for output in outputs]
        targets = {str(output.get("name", "")).partition("[")[0] for output in outputs} - {""}
        several = [one for one in references[1:] if one and one != references[0]]
        repeat = all(output.get("text") == output["rec_text"] for output in outputs)
        if len(targets) > 1 or (several and not repeat):
            rule = "expected hypotheses of one target with one reference, such as one speaker"
            raise InputError(f"{rule}, got {shown(sorted(targets))}, {shown(references)}")
        found = ranked(hypotheses, outputs)
        return found, references[0] if outputs else None, {self.name: entry}

    def entry(self, nbest):
        outputs = []
        for number, hypothesis in enumerate(nbest.hypotheses, 1):
            output = self.extra_of(hypothesis)
            if "rec_text" not in output or output["rec_text"].strip() != hypothesis.text:
                output = output | {"rec_text": f"{hypothesis.text} <eos>"}
            output = output | {"name": f"target1[{number}]"}
            if hypothesis.score is not None:
                output[score_key(output)] = float(hypothesis.score)
            if nbest.reference is not None:
                output["text"] = nbest.reference
            outputs.append(output)
        return {**self.extra_of(nbest), "output": outputs}
