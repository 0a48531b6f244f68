"""What an undo or redo did to a file, in words: for the command line, its logs, and what slash commands say."""

from desktop_agent.core.model import FileImage, FileOutcome, OutcomeState
from desktop_agent.core.plain_text import on_one_line


def describe_outcome(outcome: FileOutcome) -> str:
    """One file of an undo or redo in words; of a clash also what the three versions are."""
    text = f"{_OUTCOME_WORDS[outcome.state]} {on_one_line(outcome.path)}"
    details = [outcome.reason]
    if outcome.clash is not None:
        images = {"the agent's": outcome.clash.base, "yours": outcome.clash.yours, "wanted": outcome.clash.wanted}
        details.append(f"Versions: {', '.join(f'{name} {_size(image)}' for name, image in images.items())}.")
    said = " ".join(filter(None, details))
    return f"{text} ({said})" if said else text


_OUTCOME_WORDS: dict[OutcomeState, str] = {
    "restored": "restored",
    "merged": "merged with your edits:",
    "unchanged": "already as wanted:",
    "conflict": "left alone:",
    "failed": "failed:",
}


def _size(image: FileImage | None) -> str:
    return "absent" if image is None else f"{image.size} bytes"
