"""Which resource of a server a mention means, and how a resource is mentioned."""

import re
from collections import Counter
from collections.abc import Sequence

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.plain_text import has_hidden, named
from desktop_agent.core.mcp.server_status import OfferedResource
from desktop_agent.core.mentions.grammar import written

LONGEST_URI = 4_096
_LONGEST_NAME = 120
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.+")
VARIABLE = re.compile(r"\{[+#./;?&]?([^{}]*)\}")
"""A part of a template that is still to be filled in."""


def meant_by(target: str, resources: Sequence[OfferedResource]) -> OfferedResource | None:
    """Return the resource that `target` names, by its address, its name or its title, in this order.

    An address that is not listed, as those of templates are not, counts as it is. Returns `None` for what is neither.
    Raises `UsageError` for a name of several, and for a template that is not filled in.
    """
    for found in resources:
        if found.uri == target:
            return found
    alike = [found for found in resources if found.name == target] or [
        each for each in resources if each.title == target
    ]
    if len(alike) > 1:
        raise UsageError(f"{len(alike)} resources have that name.", hint="Mention one of them by its address.")
    if alike:
        return alike[0]
    if _ADDRESS.fullmatch(target) is None:
        return None
    if variable := VARIABLE.search(target):
        raise UsageError(f"`{named(variable[0])}` is still to be filled in.")
    if len(target) > LONGEST_URI:
        raise UsageError(f"Its address has more than {LONGEST_URI:,} characters.")
    return OfferedResource(uri=target, name=target)


def ways_to_mention(server: str, resources: Sequence[OfferedResource]) -> tuple[tuple[OfferedResource, str], ...]:
    """Return the resources that can be written in a prompt, each with how: by its name where no other one has it.

    A name or an address with characters that cannot be seen is written in no prompt: the user could not read it there.
    """
    names = Counter(found.name for found in resources)
    uris = {found.uri for found in resources}
    ways: list[tuple[OfferedResource, str]] = []
    for found in resources:
        is_clear = names[found.name] == 1 and found.name not in uris and len(found.name) <= _LONGEST_NAME
        if is_clear and _can_be_written(found.name):
            ways.append((found, written(server, found.name)))
        elif len(found.uri) <= LONGEST_URI and _can_be_written(found.uri):
            ways.append((found, written(server, found.uri)))
    return tuple(ways)


def _can_be_written(target: str) -> bool:
    return bool(target.strip()) and not has_hidden(target) and "\n" not in target and "\t" not in target
