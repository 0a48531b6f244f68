"""The names of servers' tools as every provider accepts them: `server__tool`, at most 64 characters."""

import re
from hashlib import blake2b

BETWEEN = "__"
"""Stands between the two. A server's name has no `__` and ends with no `_`, so that no two names come to the same."""

LONGEST_NAME = 64
_OTHER = re.compile(r"[^A-Za-z0-9_-]")


def wire_name(server: str, tool: str) -> str:
    """Return the name for a server's tool: the same for the same two, and another one for any others.

    What cannot be in a name is replaced, and what is too long is cut; a hash then keeps the name apart.
    """
    plain = f"{server}{BETWEEN}{_OTHER.sub('_', tool)}"
    if plain == f"{server}{BETWEEN}{tool}" and len(plain) <= LONGEST_NAME and not _HASHED.search(tool):
        return plain
    digest = blake2b(tool.encode(errors="surrogatepass"), digest_size=4).hexdigest()
    return f"{plain[: LONGEST_NAME - 9]}-{digest}"


_HASHED = re.compile(r"-[0-9a-f]{8}$")
"""A tool with such a name could otherwise take that of one whose name was changed."""


def server_pattern(server: str) -> str:
    """Return the pattern that means every tool of a server."""
    return f"{server}{BETWEEN}*"


def shown_name(server: str, tool: str) -> str:
    """Return what people call the tool."""
    return f"{server}/{tool}"
