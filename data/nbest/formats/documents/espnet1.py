"""The data.json of ESPnet 1."""

import re

from tta.data.nbest.fields import read_scores, score_key
from tta.data.nbest.formats.base import Format
from tta.data.nbest.formats.json_text import line_of_object
from tta.data.nbest.formats.json_values import dump_json, expect, load_json
from tta.data.nbest.lists import Hypothesis, shown
from tta.errors import located

UTTS = re.compile(r'\s*\{\s*"utts"\s*:\s*\{')


class Espnet1Format(Format):
    """ESPnet 1's data.json: `{"utts": {"utt": {"output": [{"rec_text", "score", "text"}]}}}`.

    `text` is the reference. Further scores of an output are features; see `read_scores`.
    """

    has_long_lines = True
    layout = '{"utts": {"utt": {"output": [{"rec_text": "...", "score": -1.2, "text": ref}]}}}'

    def matches(self, source):
        return bool(UTTS.match(source.start))

    def read(self, source, collector):
        document = expect(load_json(source.text), dict, "the document")
        for utterance_id, entry in expect(document.get("utts"), dict, '"utts"').items():
            with located(f"list {shown(utterance_id)}", line_of_object(source, utterance_id)):
                outputs = expect(expect(entry, dict, "a list").get("output"), list, '"output"')
                hypotheses = [
                    self._parse(expect(output, dict, "an output"), collector) for output in outputs
                ]
                reference = outputs[0].get("text") if outputs else None
                collector.add(utterance_id, hypotheses, reference, {self.name: entry})

    def _parse(self, output, collector):
        text = expect(output.get("rec_text"), str, '"rec_text"').strip()
        score, features = read_scores(output, collector)
        return Hypothesis(text, score, {self.name: output}, features)

    def write(self, lists, stream):
        utterances = {}
        for nbest in lists:
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
            utterances[nbest.utterance_id] = {**self.extra_of(nbest), "output": outputs}
        dump_json({"utts": utterances}, stream, indent=1)
