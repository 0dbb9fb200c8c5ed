"""The JSON array of HyPoradise."""

from tta.data.nbest.formats.base import Format
from tta.data.nbest.formats.json_lines import HAS_HYPOTHESES
from tta.data.nbest.formats.json_text import (
    dump_json,
    expect,
    first_key,
    line_of_match,
    load_json,
)
from tta.data.nbest.lists import Hypothesis, parse_score
from tta.errors import InputError, located

_SCORES = ("score", "scores", "am_score")


class HyporadiseFormat(Format):
    """`[{"input": ["...", ...], "output": "reference", "score": [...], "id": ...}, ...]`.

    The scores may be called `scores` or `am_score`, or be missing; the first of these names that is
    not null counts. Lists without an id get their index, from 0. Other arrays with one entry per
    hypothesis are reordered with the hypotheses.
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
                columns = {
                    key: value
                    for key, value in item.items()
                    if key != "input" and isinstance(value, list) and len(value) == len(texts)
                }
                scores = _parse_scores(item, len(texts))
                hypotheses = [
                    Hypothesis(text, score, {self.name: {k: v[i] for k, v in columns.items()}})
                    for i, (text, score) in enumerate(zip(texts, scores, strict=True))
                ]
                extra = {self.name: item}
                collector.add(utterance_id, hypotheses, item.get("output"), extra)

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
                item[_score_key(item)] = [self.score_of(h, nbest) for h in nbest.hypotheses]
            document.append(item)
        dump_json(document, stream, indent=1)


def _score_key(item):
    with_value = [key for key in _SCORES if item.get(key) is not None]
    return with_value[0] if with_value else first_key(item, _SCORES)


def _parse_scores(item, count):
    key = _score_key(item)
    if item.get(key) is None:
        return [None] * count
    scores = expect(item[key], list, f'"{key}"')
    if len(scores) != count:
        raise InputError(f'expected one "{key}" per hypothesis, got {len(scores)} for {count}')
    return [parse_score(score) for score in scores]
