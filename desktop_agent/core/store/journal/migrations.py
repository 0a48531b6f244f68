"""Migrations: a line of an earlier format becomes one of today's while it is read. The file stays as it is.

Each version has one step that makes a line of it a line of the next; a line goes through all that it needs. A change
that raises `FORMAT_VERSION` adds the step here and a journal of the version before under `tests/core/store/golden/`,
where one of every version is kept for ever. Steps are pure, know no blobs, and see a line before its long texts are put
back.
"""

from collections.abc import Callable, Mapping

from desktop_agent.core.protocol.codec import MalformedLineError
from desktop_agent.core.protocol.events import FORMAT_VERSION
from desktop_agent.core.protocol.model import JsonObject

Step = Callable[[JsonObject], JsonObject]
"""Makes a line of one version a line of the next, but for its `v`. Raises `MalformedLineError` when it cannot."""

STEPS: Mapping[int, Step] = {}
"""The step that leads on from each version. Version 1 is the first and the current one, so there is none yet."""


def migrated(fields: JsonObject, *, steps: Mapping[int, Step] = STEPS, target: int = FORMAT_VERSION) -> JsonObject:
    """Return the line as version `target` has it. One of a later or impossible version is returned as it is."""
    version = fields.get("v")
    if version == target or not isinstance(version, int) or isinstance(version, bool) or not 1 <= version < target:
        return fields
    for number in range(version, target):
        if number not in steps:
            raise MalformedLineError(f"lines of version {number} cannot be read any more")
        fields = steps[number](fields) | {"v": number + 1}
    return fields
