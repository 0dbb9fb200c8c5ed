"""The JSON array of HyPoradise."""

from tta.data.nbest.fields import read_scores, score_key
from tta.data.nbest.formats.base import Format
from tta.data.nbest.formats.json_lines import HAS_HYPOTHESES, check_arrays
from tta.data.nbest.formats.json_text import columns, dump_json, expect, line_of_match, load_json
from tta.data.nbest.lists import Hypothesis
from tta.errors import located

_SCORES = ("score", "scores")


class HyporadiseFormat(Format):
    """`[{"input": ["...", ...], "output": "reference", "score": [...], "id": ...}, ...]`.

    The scores may be called `scores` or `am_score`, or be missing. Further arrays of scores are
    features; see `read_scores`. Lists without an id get their index, from 0. All arrays with one
    entry per hypothesis are reordered with the hypotheses.
    """

    has_long_lines = True
    layout = '[{"input": ["...", ...], "output": "reference", "score": [...]}, ...]'

    def matches(self, source):
        return source.start.lstrip().startswith("[") and '"input"' in source.start

    def missing(self, source):
        if HAS_HYPOTHESES.search(source.start):
            return None  # more like jsonl
        if source.start.lstrip().startswith("["):
            return 'the key "input" of an object, with an array of hypotheses'
        return "the array around the objects" if '"input"' in source.start else None

    def read(self, source, collector):
        for index, item in enumerate(expect(load_json(source.text), list, "the document")):
            with located(f"item {index}", line_of_match(source, r'"input"\s*:', index)):
                utterance_id = expect(item, dict, "a list").get("id", index)
                texts = expect(item.get("input"), list, '"input"')
                key = score_key(item, _SCORES)
                if item.get(key) is not None:
                    expect(item[key], list, f'"{key}"')
                check_arrays(item, _SCORES, len(texts))
                beside = columns(item, len(texts), ["input"])
                hypotheses = []
                for i, text in enumerate(texts):
                    fields = {name: column[i] for name, column in beside.items()}
                    score, features = read_scores(fields, collector, _SCORES)
                    hypotheses.append(Hypothesis(text, score, {self.name: fields}, features))
                collector.add(utterance_id, hypotheses, item.get("output"), {self.name: item})

    def write(self, lists, stream):
        document = []
        for nbest in lists:
            item = dict(self.extra_of(nbest)) or {"id": nbest.utterance_id}
            for key in self.extra_of(nbest.hypotheses[0]) if nbest.hypotheses else ():
                item[key] = [self.extra_of(h).get(key) for h in nbest.hypotheses]
            item["input"] = [h.text for h in nbest.hypotheses]
            if nbest.reference is not None:
                item["output"] = nbest.reference
            if any(h.score is not None for h in nbest.hypotheses):
                key = score_key(item, _SCORES)
                item[key] = [self.score_of(h, nbest) for h in nbest.hypotheses]
            document.append(item)
        dump_json(document, stream, indent=1)
