"""Names of tools and ids of calls as the APIs take them: letters, digits, `_` and `-`, up to a length."""

import re
from hashlib import blake2b

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.ids import CallId

_ALLOWED = re.compile(r"[a-zA-Z0-9_-]+")
_OTHER = re.compile(r"[^a-zA-Z0-9_-]")


def require_tool_name(name: str, longest: int) -> None:
    """Return if a tool may be offered under this name. Raises `ProviderError`."""
    if len(name) > longest or not _ALLOWED.fullmatch(name):
        raise ProviderError(
            f"The tool “{name}” has a name that the model's API does not accept.",
            fault="invalid_request",
            hint=f"Disable it, or rename it: letters, digits, _ and -, {longest} at most.",
        )


def tool_name_in(name: str, longest: int) -> str:
    """Return the name of a call that was made, perhaps by another provider's model or to a tool that never existed."""
    if len(name) <= longest and _ALLOWED.fullmatch(name):
        return name
    return _OTHER.sub("_", name)[:longest] or "unknown"


def call_id_in(call_id: CallId, longest: int) -> str:
    """Return the id as an API takes it; another provider's id becomes one of its own that is the same every time."""
    if len(call_id) <= longest and _ALLOWED.fullmatch(call_id):
        return call_id
    return f"call_{blake2b(call_id.encode(errors='surrogatepass'), digest_size=16).hexdigest()}"
