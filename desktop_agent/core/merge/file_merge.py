"""Three-way merge of whole files by `merge`: content, kind and permission bits, each from the side that changed it."""

from typing import Final

from msgspec.structs import replace

from desktop_agent.core.merge.merge import merge_bytes
from desktop_agent.core.system.files import FileState

SAME_LINES: Final = "You changed the same lines since."
CHANGED_SINCE: Final = "It was changed since; your version was left alone."
GONE: Final = "It is gone."
PLACE_TAKEN: Final = "Something else has taken its place since."


class ClashError(Exception):
    """Two sides changed the same thing differently. Its text says what, to a user."""


def merge_states(base: FileState | None, yours: FileState | None, wanted: FileState | None) -> FileState | None:
    """Return `yours` with everything that leads from `base` to `wanted`.

    What only `yours` changed stays as it is. Raises `ClashError` where both changed the same.
    """
    if yours == base:
        return wanted
    if yours == wanted or base == wanted:
        return yours
    if base is None or yours is None or wanted is None:
        raise ClashError(_why_absent(yours, wanted))
    merged = _merged_content(base, yours, wanted)
    if merged.kind != yours.kind and yours.mode != base.mode:
        # A symlink has no permissions of its own: those that were set since would be lost with the file.
        raise ClashError("Its permissions were changed since; it was left alone.")
    return replace(merged, mode=_merged_mode(base, yours, wanted))


def _merged_content(base: FileState, yours: FileState, wanted: FileState) -> FileState:
    if _is_same(yours, base) or _is_same(yours, wanted):
        return wanted
    if _is_same(base, wanted):
        return yours
    if {base.kind, yours.kind, wanted.kind} == {"file"}:
        merge = merge_bytes(base.content, yours.content, wanted.content)
        if merge is not None and merge.is_clean:
            return replace(yours, content=merge.content())
        if merge is not None:
            raise ClashError(SAME_LINES)
    raise ClashError(CHANGED_SINCE)


def _merged_mode(base: FileState, yours: FileState, wanted: FileState) -> int:
    if yours.mode in (base.mode, wanted.mode):
        return wanted.mode
    if base.mode == wanted.mode:
        return yours.mode
    raise ClashError("Its permissions were changed since; they were left alone.")


def _is_same(left: FileState, right: FileState) -> bool:
    return (left.kind, left.content) == (right.kind, right.content)


def _why_absent(yours: FileState | None, wanted: FileState | None) -> str:
    if yours is None:
        return GONE
    if wanted is None:
        return CHANGED_SINCE
    return PLACE_TAKEN
