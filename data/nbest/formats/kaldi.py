"""The N-best text files of Kaldi, with their costs in a second file."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tta.data.nbest.formats.base import Format
from tta.data.nbest.formats.fairseq import has_fairseq_lines
from tta.data.nbest.lists import Hypothesis, parse_number
from tta.data.nbest.rows import check_fields, doubt_of_groups, mostly
from tta.data.text.files import each_path
from tta.data.text.lines import JoinedLines
from tta.doors import option_named
from tta.errors import InputError, located, shown

# How lines of wav.scp and feats.scp end, and those of segments, utt2dur and files of costs.
_DATA = re.compile(
    r"\|\s*$|\s\S+\.(wav|flac|sph|wv1|wv2|mp3|ogg|opus|m4a|ark:[0-9]+)\s*$"
    r"|\s-?[0-9]+\.[0-9]+\s*$",
    re.I,
)


@dataclass(frozen=True)
class _Cost:
    """A cost, and its file and line, by which costs are not compared."""

    value: float
    place: tuple[Path | str, int] = field(compare=False)


class KaldiFormat(Format):
    """`utt-N words`, where N is the number of the hypothesis; a score file has `utt-N cost`.

    The id is the part before the last hyphen. An empty hypothesis is `utt-N` alone. Hypotheses are
    ordered by number, and renumbered from 1 when written. A cost is a negative natural log, lower
    is better; scores in memory are negated costs. Of several files, the score is the sum, and each
    is a feature, which `names_of_parts` names after its file.

    Texts with one hypothesis per utterance have ids of the same kind, such as `1089-134686-0000`.
    So a file is detected only if the numbers of each id are 1 to N, without leading zeros, and some
    id has two. Other numbers, as in pruned lists, are read if the format is named.
    """

    layout = "utt-N words"
    takes = ("score_file",)
    score_kind = "cost"

    def matches(self, source):
        def test(line):
            is_other = "|||" in line or line.count("\t") > 1 or _DATA.search(line)
            return not is_other and re.match(r"[^\s,;]+-[1-9][0-9]*(\s|$)", line)

        return mostly(source.head, test) and not has_fairseq_lines(source)

    def doubt(self, source):
        numbers: dict[str, list[int]] = {}
        texts: dict[str, list[str]] = {}
        for _, line in source.rows:
            if match := re.match(r"(\S+)-([0-9]{1,9})(?:\s+(.*))?$", line):
                numbers.setdefault(match[1], []).append(int(match[2]))
                texts.setdefault(match[1], []).append((match[3] or "").strip())
        if max(map(len, numbers.values()), default=0) == 1:
            return f"each id has one hypothesis; {self._name_it}"
        for utterance_id, of_id in numbers.items():
            if max(of_id) != len(set(of_id)):
                first = ", ".join(map(str, sorted(of_id)[:3]))
                rule = f"the numbers of {shown(utterance_id)} are {first} ..., not 1 to N"
                return f"{rule}; {self._name_it}"
        if source.score_file is None:
            several = [of_id for of_id in texts.values() if len(of_id) > 1]
            if all(len(set(of_id)) == 1 for of_id in several):
                return f"the texts of each id are equal, as in utt2spk; {self._name_it}"
            return doubt_of_groups(texts, self.name)
        return None

    @property
    def _name_it(self):
        return f"{option_named('format', self.name)} reads it as lists"

    def missing(self, source):
        if source.start.lstrip().startswith(("{", "[")):
            return None
        if mostly(source.head, lambda line: re.match(r"\S+-[0-9]+(\s|$)", line)):
            return f"numbers 1, 2 ... at the end of the ids, as in utt-1; {self._name_it}"
        return "an id and a number, as in utt-1, at the start of each line"

    def read(self, source, collector):
        files = each_path(source.score_file or ())
        costs = [(file, self._read_costs(file)) for file in files]
        _check_different(costs)
        of_jobs = "; name the files of several jobs by one glob" if len(files) > 1 else ""
        names = names_of_parts([str(file) for file in files])
        utterances, file_of_utterance = {}, {}
        for line_number, line in source.rows:
            with located(line=line_number):
                key, *text = line.split(maxsplit=1) or [""]
                utterance_id, number = self._split(key)
                text_file = source.file_of(line_number)
                if file_of_utterance.setdefault(utterance_id, text_file) != text_file:
                    rule = "the rows of one id must be in one file"
                    raise InputError(f"duplicate id {shown(utterance_id)}: {rule}")
                hypotheses = utterances.setdefault(utterance_id, {})
                if number in hypotheses:
                    rule = f"duplicate hypothesis number {number} of {shown(utterance_id)}"
                    raise InputError(rule)
                parts = {}
                for name, (file, costs_of_file) in zip(names, costs, strict=True):
                    if (utterance_id, number) not in costs_of_file:
                        raise InputError(f"{shown(key)} has no cost in {file}{of_jobs}")
                    cost = costs_of_file.pop((utterance_id, number))
                    parts[name] = 0.0 - cost.value  # not -0.0 for a cost of 0
                hypotheses[number] = Hypothesis(
                    text[0].rstrip() if text else "",
                    sum(parts.values()) if parts else None,
                    features=parts if len(parts) > 1 else {},
                )
        for _, costs_of_file in costs:
            for (utterance_id, number), cost in costs_of_file.items():
                rule = f"{shown(f'{utterance_id}-{number}')} has a cost but no hypothesis"
                raise InputError(rule, *cost.place)
        for utterance_id, hypotheses in utterances.items():
            collector.add(utterance_id, [hypotheses[n] for n in sorted(hypotheses)])

    def _read_costs(self, path):
        costs, lines = {}, JoinedLines(path)
        for line_number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            with located(path=path), lines.naming_files(), located(line=line_number):
                key, *values = line.split()
                if len(values) != 1:
                    raise InputError(f"expected utt-N cost, got {shown(line)}")
                key = self._split(key)
                if key in costs:
                    raise InputError(f"duplicate hypothesis number {key[1]} of {shown(key[0])}")
                costs[key] = _Cost(parse_number(values[0], "score"), lines.place(line_number))
        return costs

    def _split(self, key):
        match = re.fullmatch(r"(.+)-([0-9]{1,9})", key)
        if not match:
            raise InputError(f"expected {self.layout}, got {shown(key)}")
        return match.group(1), int(match.group(2))

    def write(self, lists, stream):
        for nbest, key, hypothesis in self._numbered(lists):
            check_fields([hypothesis.text], "", nbest, self.name)
            stream.write(f"{key} {hypothesis.text}".rstrip(" ") + "\n")

    def write_scores(self, lists, stream):
        for nbest, key, hypothesis in self._numbered(lists):
            stream.write(f"{key} {0.0 - self.score_of(hypothesis, nbest)!r}\n")

    def _numbered(self, lists):
        for nbest in lists:
            if re.search(r"\s", nbest.utterance_id):
                raise InputError(f"{self.name} ids have no space, got {shown(nbest.utterance_id)}")
            for number, hypothesis in enumerate(nbest.hypotheses, 1):
                yield nbest, f"{nbest.utterance_id}-{number}", hypothesis


def names_of_parts(paths: Sequence[str]) -> list[str]:
    """Names score files, so that those of dev and of test lists have the same names in any order.

    The name is `score_` and the words of the file's name that not all names have: `test.ac` and
    `test.lm` are `score_ac` and `score_lm`. Where names of files do not differ in words, their
    paths do; else it is their number, from 1.
    """
    for names in ([Path(path).name for path in paths], paths):
        words = [re.findall(r"[^\W_]+", re.sub(r"\.(gz|xz|bz2)$", "", name)) for name in names]
        shared = set(words[0]).intersection(*words[1:]) if words else set()
        different = ["_".join(word for word in of_file if word not in shared) for of_file in words]
        if all(different) and len(set(different)) == len(different):
            return [f"score_{word}" for word in different]
    return [f"score_{number}" for number in range(1, len(paths) + 1)]


def _check_different(costs):
    """Raises InputError if two of [(file, its costs)] are the same file, or a copy of it."""
    for (first, costs_of_first), (file, costs_of_file) in itertools.combinations(costs, 2):
        # Two files of one cost for all say nothing.
        are_constant = len({cost.value for cost in costs_of_file.values()}) == 1
        if costs_of_first == costs_of_file and (first == file or not are_constant):
            raise InputError(f"the same costs as in {first}: they would count twice", file)
