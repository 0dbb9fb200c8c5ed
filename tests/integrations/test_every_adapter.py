"""Every adapter is in the table of its page, and imports no library before it is called."""

import pkgutil
import re

import pytest

import tta.integrations
from tests.commands import ROOT, python

NOT_OF_LISTS = {"mteb"}
MODULES = {one.name for one in pkgutil.iter_modules(tta.integrations.__path__)}


def test_the_page_names_every_adapter():
    page = (ROOT / "docs/integrations.md").read_text(encoding="utf-8")
    calls = re.findall(r"(?m)^\|[^|]*\| `(\w+)\.\w+\(", page)
    assert set(calls) == MODULES - NOT_OF_LISTS


@pytest.mark.parametrize("name", sorted(MODULES - NOT_OF_LISTS))
def test_an_adapter_is_imported_without_its_library(name):
    code = (
        "import sys; sys.modules[sys.argv[1]] = None; __import__('tta.integrations.' + sys.argv[1])"
    )
    assert python(code, name).returncode == 0
