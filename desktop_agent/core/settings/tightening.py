"""Which of two values of a setting is the stricter one."""

from collections.abc import Mapping
from typing import cast

from desktop_agent.core.settings.values import Setting

_STRICTER: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    # `never` turns questions into refusals, but lets edits through as `on_request` does.
    "execution.approval": {"on_request": ("on_write", "always", "never"), "on_write": ("always",)},
    # At the provider, nobody is asked.
    "model.web_search": {"provider": ("local",)},
    "execution.sandbox": {"none": ("restricted", "strict"), "restricted": ("strict",)},
}
"""What is stricter than each choice."""


def tightened(setting: Setting, before: object, wanted: object) -> object | None:
    """Return `before` made as strict as `wanted`; None when that is not stricter, or has no order at all."""
    if wanted == before:
        return before
    match setting.about.tightening:
        case "stricter":
            return wanted if wanted in _STRICTER[setting.key].get(str(before), ()) else None
        case "more":
            kept = cast("tuple[str, ...]", before)
            return (*kept, *(item for item in cast("tuple[str, ...]", wanted) if item not in kept))
        case "lower":
            is_lower = before is None or (wanted is not None and cast("float", wanted) < cast("float", before))
            return wanted if is_lower else None
        case None:
            return None
