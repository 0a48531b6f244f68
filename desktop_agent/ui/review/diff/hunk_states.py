"""What the user decided about the hunks of one diff, as far as drawing them needs to know."""

from typing import Literal, NamedTuple

from desktop_agent.core.base.ids import HunkKey

HunkChoice = Literal["keep", "undecide", "undo", "redo", "comment"]
"""What the user can want with hunks."""
HunkState = Literal["undecided", "kept", "undone"]


class HunkDecisions(NamedTuple):
    """The hunks that were kept and undone, and whether more can be undone now; `reason` says why not."""

    kept: frozenset[HunkKey] = frozenset()
    undone: frozenset[HunkKey] = frozenset()
    can_revert: bool = True
    reason: str = ""

    def state(self, key: HunkKey) -> HunkState:
        """Return what was decided about a hunk. One that is undone is not in force, whatever was said before."""
        if key in self.undone:
            return "undone"
        return "kept" if key in self.kept else "undecided"
