"""The benchmarks are a package: each is a module that runs by its name."""

import importlib.util
import re

from benchmarks import ROOT


def test_benchmarks_leave_the_import_path_alone():
    files = [*ROOT.glob("benchmarks/**/*.py")]
    assert files
    assert [path.name for path in files if "sys.path" in path.read_text(encoding="utf-8")] == []


def test_commands_in_docs_name_modules():
    texts = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("pretrained/*/README.md")]
    texts += [*ROOT.glob("benchmarks/**/*.py"), *ROOT.glob("benchmarks/**/*.sh")]
    named, missing = set(), []
    for path in texts:
        text = path.read_text(encoding="utf-8")
        if re.search(r"python\W+benchmarks/", text):
            missing.append(f"{path.name}: a path after python")
        named |= set(re.findall(r"-m (benchmarks(?:\.\w+)+)", text))
    missing += [name for name in named if importlib.util.find_spec(name) is None]
    assert len(named) > 20
    assert missing == []
