"""The settings of `tta export`."""

from tta.scoring.exports import formats
from tta.scoring.exports.config import ExportConfig
from tta.settings import fields


def test_help_says_what_every_format_is():
    (field,) = (one for one in fields(ExportConfig) if one.name == "format")
    for name in formats.EXPORTS:
        assert f"{name}: " in field.setting.help, name
