"""The JSON dict of ESPnet and mlm-scoring."""

import re

from tta.data.nbest.formats.base import Format
from tta.data.nbest.formats.documents.espnet1 import UTTS
from tta.data.nbest.formats.json_text import hypothesis_object, line_of_object, parse_hypothesis
from tta.data.nbest.formats.json_values import dump_json, expect, load_json
from tta.data.nbest.lists import shown
from tta.errors import InputError, located

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
        if not _FIRST_VALUE_IS_OBJECT.match(start) or UTTS.match(start):
            return False
        objects = [value for value in source.values if isinstance(value, dict)]
        entries = [entry for value in objects for entry in value.values()]
        names = [key for entry in entries if isinstance(entry, dict) for key in entry]
        return not names or any(key.startswith("hyp_") for key in names)

    def missing(self, source):
        is_object = source.start.lstrip().startswith("{")
        return 'an object with the keys "hyp_1", "hyp_2" ... for each id' if is_object else None

    def read(self, source, collector):
        document = load_json(source.text)
        for utterance_id, entry in expect(document, dict, "the document").items():
            with located(f"list {shown(utterance_id)}", line_of_object(source, utterance_id)):
                hypotheses, rest = self._parse(expect(entry, dict, "a list"), collector)
                reference = rest.pop("ref", None)
                if rest and not hypotheses:
                    raise InputError(f'expected keys "hyp_1", "hyp_2" ..., got {shown(list(rest))}')
                collector.add(utterance_id, hypotheses, reference, {self.name: rest})

    def _parse(self, entry, collector):
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
        return [numbered[n] for n in sorted(numbered)], rest

    def write(self, lists, stream):
        document = {}
        for nbest in lists:
            entry = document[nbest.utterance_id] = {}
            for number, hypothesis in enumerate(nbest.hypotheses, 1):
                entry[f"hyp_{number}"] = hypothesis_object(hypothesis, self.extra_of(hypothesis))
            entry.update(self.extra_of(nbest))
            if nbest.reference is not None:
                entry["ref"] = nbest.reference
        dump_json(document, stream, indent=1)
