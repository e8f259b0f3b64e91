"""The scenarios, in the order of the table."""

from . import signin, tokens, shell, clients, network  # noqa: F401, I001
from .absent import ABSENT, not_there  # noqa: F401
from .registry import SCENARIOS  # noqa: F401
