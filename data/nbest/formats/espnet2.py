"""The N-best folders of ESPnet 2."""

import itertools
import re
from pathlib import Path

from tta.data.nbest.formats.base import Format
from tta.data.nbest.lists import Hypothesis, parse_score, shown
from tta.data.nbest.rows import check_fields
from tta.data.text.files import open_output
from tta.data.text.lines import iter_lines
from tta.errors import InputError, located

_TOKENS = ("token", "token_int")


class Espnet2Format(Format):
    """A folder with `1best_recog/text`, `1best_recog/score`, `2best_recog/text` and so on.

    The lines are `id words` in `text`, and `id score` in `score`, where the score is a number or
    `tensor(number)`. Folder N has the N-th hypotheses; an id that is not in it has fewer. Either
    all folders have a file `score` or none. The files `token` and `token_int` are kept; other files
    are not read. Scores are natural logs, higher is better. Lists are in the order of
    `1best_recog/text`.
    """

    is_folder = True
    layout = "a folder with 1best_recog/text, 1best_recog/score, 2best_recog/text ..."

    def matches(self, source):
        folder = source.folder
        return folder is not None and (folder / "1best_recog" / "text").is_file()

    def missing(self, source):
        if source.folder is not None:
            jobs = [*source.folder.glob("output.*/"), *source.folder.glob("logdir/output.*/")]
            jobs = [job for job in sorted(jobs) if (job / "1best_recog").is_dir()]
            hint = f"; {jobs[0].relative_to(source.folder)} has it" if jobs else ""
            return f"1best_recog/text{hint}"
        ids = ["".join(line.split(maxsplit=1)[:1]) for line in source.head]
        has_ids = all(re.fullmatch(r"[\w.-]*[0-9][\w.-]*", name) for name in ids)
        is_one_best = has_ids and len(set(ids)) == len(ids) > 1
        return "the folder; this file has one hypothesis for each id" if is_one_best else None

    def read(self, source, collector):
        assert source.folder is not None
        lists: dict[str, list[Hypothesis]] = {}
        has_scores = None
        for number in itertools.count(1):
            folder = source.folder / f"{number}best_recog"
            if not folder.is_dir():
                break
            has_score = (folder / "score").exists()
            if has_scores not in (None, has_score):
                have, before = ("a", "no") if has_score else ("no", "a")
                rule = f"has {have} file score, but {number - 1}best_recog has {before} file score"
                raise InputError(rule, folder)
            has_scores = has_score
            self._read_folder(folder, number, lists)
        for folder in source.folder.glob("*best_recog"):
            if (match := re.match("[0-9]+", folder.name)) and int(match[0]) > number:
                raise InputError(f"{number}best_recog is missing, but {folder.name} is there")
        for utterance_id, hypotheses in lists.items():
            with located(f"list {shown(utterance_id)}"):
                collector.add(utterance_id, hypotheses)

    def _read_folder(self, folder, number, lists):
        """Adds the `number`-th hypotheses to `lists`, {id: hypotheses}."""
        scores = _read_table(folder / "score") if (folder / "score").exists() else None
        tokens = {name: _read_table(folder / name) for name in _TOKENS if (folder / name).exists()}
        for utterance_id, (line, text) in _read_table(folder / "text").items():
            hypotheses = lists.setdefault(utterance_id, [])
            if len(hypotheses) != number - 1:
                rule = f"{shown(utterance_id)} is not in {number - 1}best_recog/text"
                raise InputError(rule, folder / "text", line)
            score = None
            if scores is not None:
                if utterance_id not in scores:
                    rule = f"{shown(utterance_id)} has no score in {folder / 'score'}"
                    raise InputError(rule, folder / "text", line)
                score_line, value = scores.pop(utterance_id)
                with located(line=score_line, path=folder / "score"):
                    tensor = re.fullmatch(r"tensor\(([^,()]*)(,.*)?\)", value)
                    score = parse_score(tensor[1] if tensor else value)
            extra = {
                name: table[utterance_id][1]
                for name, table in tokens.items()
                if utterance_id in table
            }
            hypotheses.append(Hypothesis(text, score, {self.name: extra}))
        for utterance_id, (line, _) in (scores or {}).items():
            rule = f"{shown(utterance_id)} has a score but no text"
            raise InputError(rule, folder / "score", line)

    def write_folder(self, lists, folder):
        for number in range(1, 1 + max((len(one.hypotheses) for one in lists), default=0)):
            rows = [
                (one, one.hypotheses[number - 1]) for one in lists if len(one.hypotheses) >= number
            ]
            (folder / f"{number}best_recog").mkdir()
            for name in ("text", "score", *_TOKENS):
                values = [self._value(name, hypothesis) for _, hypothesis in rows]
                values = [value for value in values if value is not None]
                if len(values) < len(rows):
                    continue
                with open_output(folder / f"{number}best_recog" / name) as stream:
                    for (nbest, _), value in zip(rows, values, strict=True):
                        if re.search(r"\s", nbest.utterance_id):
                            rule = f"ids have no space, got {shown(nbest.utterance_id)}"
                            raise InputError(f"{self.name} {rule}")
                        check_fields([value], "", nbest, self.name)
                        stream.write(f"{nbest.utterance_id} {value}".rstrip(" ") + "\n")

    def _value(self, name, hypothesis):
        if name == "text":
            return hypothesis.text
        if name == "score":
            return None if hypothesis.score is None else repr(float(hypothesis.score))
        return self.extra_of(hypothesis).get(name)


def _read_table(path: Path) -> dict[str, tuple[int, str]]:
    """Reads lines of `id value`: {id: (line number, value)}."""
    table: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(iter_lines(path, may_be_empty=True), 1):
        utterance_id, *value = line.split(maxsplit=1) or [""]
        if utterance_id in table:
            first = table[utterance_id][0]
            rule = f"duplicate id {shown(utterance_id)}, first on line {first}"
            raise InputError(rule, path, number)
        if utterance_id:
            table[utterance_id] = number, value[0].strip() if value else ""
    return table
