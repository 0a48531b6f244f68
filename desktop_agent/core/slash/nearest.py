"""Which names come close to one that does not exist."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, names: Iterable[str], *, most: int = 3) -> list[str]:
    """Return up to three of `names`: those that begin like `name` first, then those written like it."""
    known = list(names)
    name = name[:64]
    beginning = [found for found in known if name and found.startswith(name)]
    return list(dict.fromkeys([*beginning, *get_close_matches(name, known, n=most, cutoff=0.6)]))[:most]
