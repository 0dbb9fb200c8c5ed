"""The fixtures of the tests of the core, for those of papers/."""

from tests.conftest import *  # noqa: F403
from tests.data.conftest import write  # noqa: F401
from tests.flags.conftest import model, no_model  # noqa: F401
