"""Which file must become what, to undo or redo a selection of changes: pure planning, no disk.

A file's recorded changes form a chain, each one's before-image being the after-image of the one in front. Undo walks
it backwards, redo forwards. Where the chain is broken (somebody wrote in between), or a change outside the selection
stands in the way, the walk stops and says so.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from desktop_agent.core.ids import ChangeId
from desktop_agent.core.model import FileChange, FileImage, FileOutcome

Direction = Literal["undo", "redo"]


@dataclass(frozen=True, slots=True)
class RevertStep:
    """One file to restore: write `wanted` if the file still is `expected`."""

    path: str
    expected: FileImage | None
    wanted: FileImage | None
    change_ids: tuple[ChangeId, ...]
    new_folders: tuple[str, ...] = ()
    """Folders that the undone changes had created: removed when they are empty afterwards."""


@dataclass(frozen=True, slots=True)
class RevertPlan:
    """What to write, and what cannot be done by anybody's disk."""

    steps: tuple[RevertStep, ...]
    conflicts: tuple[FileOutcome, ...]


def plan_revert(direction: Direction, selected: Sequence[FileChange], standing: Sequence[FileChange]) -> RevertPlan:
    """Return the plan for `selected`.

    For an undo `standing` are all changes in force, in the order they were made; for a redo all changes undone at the
    moment. `selected` is the part of them that is meant.
    """
    meant = {change.id for change in selected}
    steps: list[RevertStep] = []
    conflicts: list[FileOutcome] = []
    # Undo goes backwards over the files, too: the one that came with a new folder goes last, when the folder is empty.
    paths = _paths(selected)
    for path in reversed(paths) if direction == "undo" else paths:
        chain = [change for change in standing if change.path == path]
        if direction == "undo":
            chain.reverse()
        step, conflict = _walk(direction, path, chain, meant)
        if step is not None:
            steps.append(step)
        if conflict is not None:
            conflicts.append(conflict)
    # What is removed goes first: a file may have taken a folder's place, or a folder a file's.
    steps.sort(key=lambda step: step.wanted is not None)
    return RevertPlan(tuple(steps), tuple(conflicts))


def is_same_content(left: FileImage | None, right: FileImage | None) -> bool:
    """Whether two images hold the same bytes of the same kind, whatever their permission bits."""
    if left is None or right is None:
        return left is right
    return (left.kind, left.digest) == (right.kind, right.digest)


def _walk(
    direction: Direction, path: str, chain: Sequence[FileChange], meant: set[ChangeId]
) -> tuple[RevertStep | None, FileOutcome | None]:
    """Follow the chain from the end that is on disk, as far as it is meant and unbroken."""
    taken: list[FileChange] = []
    for change in chain:
        if change.id not in meant:
            break
        if taken and not is_same_content(_far(direction, taken[-1]), _near(direction, change)):
            break
        taken.append(change)
    left = tuple(change.id for change in chain if change.id in meant and change not in taken)
    step = None
    if taken:
        step = RevertStep(
            path=path,
            expected=_near(direction, taken[0]),
            wanted=_far(direction, taken[-1]),
            change_ids=tuple(change.id for change in taken),
            new_folders=tuple(folder for change in taken for folder in change.new_folders),
        )
    if not left:
        return step, None
    reason = (
        "The file was changed by somebody else between the agent's changes."
        if taken
        else "A later change of the agent stands in the same file; take that back first."
        if direction == "undo"
        else "An earlier change of the agent to the same file is still undone; redo that first."
    )
    return step, FileOutcome(path=path, state="conflict", change_ids=left, reason=reason)


def _near(direction: Direction, change: FileChange) -> FileImage | None:
    """The image on the side of the disk."""
    return change.after if direction == "undo" else change.before


def _far(direction: Direction, change: FileChange) -> FileImage | None:
    """The image that is wanted."""
    return change.before if direction == "undo" else change.after


def _paths(changes: Iterable[FileChange]) -> list[str]:
    return list(dict.fromkeys(change.path for change in changes))
