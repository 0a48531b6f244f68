"""What the settings dialog gets to know about a provider's key. Never the key itself."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyStatus:
    """Where the key in use comes from.

    `place` is the name of the environment variable, or of the keyring. `problem` says in words why the keyring cannot
    be used; a key is then used in this run only.
    """

    source: Literal["environment", "keyring", "run"] | None = None
    place: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyCheck:
    """What came of checking, saving or removing a key, in words: `The key works.`"""

    is_good: bool
    message: str
