"""What an undo or redo did, in words: for the command line, its logs, and what slash commands say."""

from collections.abc import Mapping, Sequence

from desktop_agent.core.base.ids import ChangeId
from desktop_agent.core.base.plain_text import on_one_line
from desktop_agent.core.protocol.model import FileImage, FileOutcome, Maker, OutcomeState
from desktop_agent.core.transcript import ChangeRecord, UndoStep

_NAMED_FILES = 3


def describe_outcome(outcome: FileOutcome) -> str:
    """One file of an undo or redo in words; of a clash also what the three versions are."""
    done = "removed" if outcome.is_removed and outcome.is_done else _OUTCOME_WORDS[outcome.state]
    text = f"{done} {on_one_line(outcome.path)}"
    details = [outcome.reason]
    if outcome.clash is not None:
        clash = outcome.clash
        there = f"on disk ({', '.join(map(_by, clash.yours_by))})" if clash.yours_by else "on disk"
        images = {_whose(clash.base_by): clash.base, there: clash.yours, "wanted": clash.wanted}
        details.append(f"Versions: {', '.join(f'{name} {_size(image)}' for name, image in images.items())}.")
    said = " ".join(filter(None, details))
    return f"{text} ({said})" if said else text


def describe_step(step: UndoStep, records: Mapping[ChangeId, ChangeRecord]) -> str:
    """Return what of an undo can be taken back, in words: the turns it is about, and the files."""
    turns = sorted({records[part.change_id].turn for part in step.parts if part.change_id in records})
    partly = {outcome.path for outcome in step.outcomes if outcome.hunks}
    paths = sorted(step.open_paths(records))
    names = [f"a part of {on_one_line(path)}" if path in partly else on_one_line(path) for path in paths[:_NAMED_FILES]]
    if len(paths) > _NAMED_FILES:
        names.append(f"{len(paths) - _NAMED_FILES} more")
    return f"{'turn' if len(turns) == 1 else 'turns'} {', '.join(map(str, turns))}: {', '.join(names)}"


_OUTCOME_WORDS: dict[OutcomeState, str] = {
    "restored": "restored",
    "merged": "merged with later edits:",
    "unchanged": "already as wanted:",
    "conflict": "left alone:",
    "failed": "failed:",
}


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
