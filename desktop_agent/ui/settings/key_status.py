"""What the settings dialog gets to know about a provider's key. Never the key itself."""

from typing import Literal

from msgspec import Struct


class KeyStatus(Struct, frozen=True, kw_only=True):
    """Where the key in use comes from.

    `place` is the name of the environment variable, or of the keyring. `problem` says in words why the keyring cannot
    be used; a key is then used in this run only.
    """

    source: Literal["environment", "keyring", "run"] | None = None
    place: str = ""
    problem: str = ""


class KeyCheck(Struct, frozen=True, kw_only=True):
    """What came of checking, saving or removing a key, in words: `The key works.`"""

    is_good: bool
    message: str
