"""A good body with one place made bad."""

import copy
from typing import Any

from desktop_agent.core.protocol.model import JsonObject


def changed(good: JsonObject, path: str, value: object) -> JsonObject:
    """Return the good body with one place changed. The last step of `path` may be new; `None` removes it."""
    body = copy.deepcopy(good)
    *steps, last = [int(step) if step.isdecimal() else step for step in path.split(".")]
    place: Any = body  # whatever the path leads through
    for step in steps:
        place = place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return body
