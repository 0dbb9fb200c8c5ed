"""Lists the models that have a name: type, size, folder and purpose.

Example:

    tta models
"""

from dataclasses import dataclass

from tta import cli
from tta.settings import Config


@dataclass(frozen=True, kw_only=True)
class ModelsConfig(Config):
    """The command has no flags of its own."""


def main(config: ModelsConfig) -> None:
    from tta.errors import InputError, printable
    from tta.modeling.config.base import read_config
    from tta.modeling.formats.readme import summary
    from tta.modeling.formats.trained_models import WAYS, named_models
    from tta.names import CONFIG

    for name, directory in named_models().items():
        try:
            kind = read_config(directory / CONFIG).model_type
        except InputError as error:
            kind = f"damaged ({error.rule})"
        size = sum(path.stat().st_size for path in directory.iterdir() if path.is_file())
        print(printable(f"{name}: {kind}, {size / 1e6:.1f} MB, {directory}"))
        print(printable(f"    {summary(directory)}"))
    print(WAYS)


run = cli.command(main, ModelsConfig)
