"""Texts for users and models: why an undo or redo leaves a file alone, and what it did."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from desktop_agent.core.base.file_names import name_on_a_line
from desktop_agent.core.base.ids import ChangeId
from desktop_agent.core.protocol.model import FileImage, FileOutcome, Maker, OutcomeState
from desktop_agent.core.transcript import ChangeRecord, UndoStep

Direction = Literal["undo", "redo"]

RENAMED_SINCE: Final = "It was renamed to {} since. Undo that first."
LINK_ABOVE: Final = "A symlink has taken the place of the folder {}."
FILE_ABOVE: Final = "Something else has taken the place of the folder {}."
OUTSIDE: Final = "Its folder is not in the workspace any more."
UNREADABLE: Final = "It cannot be read: {}."
CONTENT_MISSING: Final = "Its earlier content is missing from the data folder."
NO_SUCH_CHANGE: Final = "This file has no such change."
FOREIGN_LINES: Final = "They include lines of yours or of another change."
NOT_THE_AGENTS: Final = (
    "The agent did not make this change, so it was left alone. It is undone only when requested explicitly."
)
MAYBE_NOT_THE_AGENTS: Final = (
    "A running server or you may have made this change, so it was left alone. It is undone only when "
    "requested explicitly."
)
CHANGED_SINCE_SEEN: Final = "It changed a moment ago. Look at it again first."
SEVERAL_FILES: Final = (
    "Several files had this path one after another. Undo all of its changes, or choose between the versions."
)
OTHER_SESSION: Final = (
    "Another session's command ran at the same time and may have made this change. To undo it, select only this file."
)

STAYS_WITH_FILES: Final = "It is not empty, so it stays."

OTHER_EXTRAS: Final = "Its owner or extended attributes were changed since, so these were left alone."

_OUTCOME_WORDS: dict[OutcomeState, str] = {
    "restored": "restored",
    "merged": "merged with later edits:",
    "unchanged": "no change needed:",
    "conflict": "left alone:",
    "failed": "failed:",
}
_NAMED_FILES = 3


def describe_outcome(outcome: FileOutcome) -> str:
    done = "removed" if outcome.is_removed and outcome.is_done else _OUTCOME_WORDS[outcome.state]
    text = f"{done} {name_on_a_line(outcome.path)}"
    details = [outcome.reason]
    if outcome.clash is not None:
        clash = outcome.clash
        there = f"on disk ({', '.join(map(_by, clash.yours_by))})" if clash.yours_by else "on disk"
        images = {_whose(clash.base_by): clash.base, there: clash.yours, "wanted": clash.wanted}
        details.append(f"Versions: {', '.join(f'{name} {_size(image)}' for name, image in images.items())}.")
    said = " ".join(filter(None, details))
    return f"{text} ({said})" if said else text


def describe_step(step: UndoStep, records: Mapping[ChangeId, ChangeRecord]) -> str:
    turns = sorted({records[part.change_id].turn for part in step.parts if part.change_id in records})
    partly = {outcome.path for outcome in step.outcomes if outcome.hunks}
    paths = sorted(step.open_paths(records))
    names = [
        f"a part of {name_on_a_line(path)}" if path in partly else name_on_a_line(path) for path in paths[:_NAMED_FILES]
    ]
    if len(paths) > _NAMED_FILES:
        names.append(f"{len(paths) - _NAMED_FILES} more")
    return f"{'turn' if len(turns) == 1 else 'turns'} {', '.join(map(str, turns))}: {', '.join(names)}"


def _whose(makers: Sequence[Maker]) -> str:
    return f"{', '.join(map(_by, makers))}:" if makers else "the agent's"


def _by(maker: Maker) -> str:
    words = {
        "agent": "turn {}",
        "person": "you",
        "unknown": "a server, or you",
        "other_session": "another session",
        "undo": "undo of turn {}",
        "redo": "redo of turn {}",
    }
    return words[maker.by].format(maker.turn)


def _size(image: FileImage | None) -> str:
    return "absent" if image is None else f"{image.size} bytes"
