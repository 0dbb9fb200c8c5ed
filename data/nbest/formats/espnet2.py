"""The N-best folders of ESPnet 2."""

import itertools
import re
from pathlib import Path

from tta.data.nbest.formats.base import Format
from tta.data.nbest.lists import Hypothesis, parse_score
from tta.data.nbest.rows import check_fields
from tta.data.text.files import open_output
from tta.data.text.lines import iter_lines
from tta.errors import InputError, located, shown

_TOKENS = ("token", "token_int")


class Espnet2Format(Format):
    """A folder with `1best_recog/text`, `1best_recog/score`, `2best_recog/text` and so on.

    The lines are `id words` in `text`, and `id score` in `score`, where the score is a number or
    `tensor(number)`. Folder N has the N-th hypotheses; an id that is not in it has fewer. Either
    all folders have a file `score` or none. The files `token` and `token_int` are kept; other files
    are not read. Scores are natural logs, higher is better. Lists are in the order of
    `1best_recog/text`.

    A folder with `output.1`, `output.2` and so on, one for each parallel job, is read as one.
    """

    is_folder = True
    layout = "a folder with 1best_recog/text, 1best_recog/score, 2best_recog/text ..."

    def matches(self, source):
        return source.folder is not None and any(
            (folder / "1best_recog" / "text").is_file() for folder in _jobs(source.folder)
        )

    def missing(self, source):
        if source.folder is not None:
            jobs = [*_jobs(source.folder / "logdir"), *source.folder.glob("*/")]
            complete = [job for job in jobs if (job / "1best_recog").is_dir()]
            hint = f"; {complete[0].relative_to(source.folder)} has it" if complete else ""
            return f"1best_recog/text{hint}"
        ids = ["".join(line.split(maxsplit=1)[:1]) for line in source.head]
        has_ids = all(re.fullmatch(r"[\w.-]+", i) and re.search("[0-9]", i) for i in ids)
        is_one_best = has_ids and len(set(ids)) == len(ids) > 1
        return "the folder; this file has one hypothesis for each id" if is_one_best else None

    def read(self, source, collector):
        assert source.folder is not None
        for folder in _jobs(source.folder):
            self._read_job(folder, collector)

    def _read_job(self, job, collector):
        """Gives the lists of a job to the collector."""
        lists: dict[str, list[Hypothesis]] = {}
        has_scores = None
        for number in itertools.count(1):
            folder = job / f"{number}best_recog"
            if not folder.is_dir():
                break
            has_score = (folder / "score").exists()
            if has_scores not in (None, has_score):
                have, before = ("a", "no") if has_score else ("no", "a")
                rule = f"has {have} file score, but {number - 1}best_recog has {before} file score"
                raise InputError(rule, folder)
            has_scores = has_score
            self._read_folder(folder, number, lists)
        for folder in job.glob("*best_recog"):
            if (match := re.match("[0-9]+", folder.name)) and int(match[0]) > number:
                rule = f"{number}best_recog is missing, but {folder.name} is there"
                raise InputError(rule, job)
        for utterance_id, hypotheses in lists.items():
            with located(f"list {shown(utterance_id)}", path=job):
                if collector.has(utterance_id):
                    raise InputError("another output folder has a list of this id")
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
        for number in range(1, 1 + max((len(nbest.hypotheses) for nbest in lists), default=0)):
            rows = [
                (nbest, nbest.hypotheses[number - 1])
                for nbest in lists
                if len(nbest.hypotheses) >= number
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


def _jobs(folder: Path) -> list[Path]:
    """The folders of the parallel jobs, in the order of their numbers; else the folder itself.

    Raises InputError if the folder of a job is missing.
    """
    folders = {}
    for path in folder.glob("output.*/"):
        if match := re.fullmatch(r"output\.([1-9][0-9]*)", path.name):
            folders[int(match[1])] = path
    if not folders or (folder / "1best_recog").exists():
        return [folder]
    for number in range(1, max(folders)):
        if number not in folders:
            raise InputError(f"output.{number} is missing, but output.{max(folders)} is there")
    return [folders[number] for number in sorted(folders)]


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
