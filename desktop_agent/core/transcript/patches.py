"""Patches: what one event, or a page that came or went, changed in the entries of a transcript."""

from typing import Literal

from msgspec import Struct


class Patch(Struct, frozen=True):
    """What changed.

    `append` and `remove` concern the entry at `index`; `update` says to draw it anew; `text` and `output` carry only
    what was added to it; `changes` means the recorded changes or their state; `status` everything outside the entries.
    `expand` says that the page at `index` became the `count` entries it stood for, `collapse` that the `count` entries
    from `index` on became a page again.
    """

    kind: Literal["append", "remove", "update", "text", "output", "changes", "status", "expand", "collapse"]
    index: int = -1
    text: str = ""
    count: int = 0


STATUS = Patch("status")
CHANGES = Patch("changes")
