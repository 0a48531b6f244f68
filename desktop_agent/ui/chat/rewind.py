"""What going back would do, computed from the transcript. Pure."""

from typing import NamedTuple

from desktop_agent.core.transcript import Transcript


class RewindChoice(NamedTuple):
    """A message that one can go back to before."""

    turn: int
    prompt: str
    turns: int
    """How many turns the model would not see any more: this one and those that follow."""
    files: tuple[str, ...]
    """What would be put back, in the order of the first change."""


def rewind_choices(transcript: Transcript) -> list[RewindChoice]:
    """Return the messages that one can go back to before, the newest first."""
    prompts = transcript.turns.prompts
    standing = [record for record in transcript.changes.values() if not record.is_undone and record.change.is_by_agent]
    choices: list[RewindChoice] = []
    for turn, prompt in prompts.items():
        seen = sum(later >= turn and later not in transcript.context.rewound for later in prompts)
        files = dict.fromkeys(record.change.path for record in standing if record.turn >= turn)
        left = seen if turn not in transcript.context.rewound else 0
        if left or files:
            choices.append(RewindChoice(turn, prompt, left, tuple(files)))
    return choices[::-1]
