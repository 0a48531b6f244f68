"""What an agent tells of its session while that is loaded: only what was said in it without us is kept."""

from collections import deque
from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field

from desktop_agent.core.agents import wire
from desktop_agent.core.agents.calls import text_of
from desktop_agent.core.protocol.model import SaidElsewhere
from desktop_agent.core.transcript.session_info import beginning_of

_MOST_TURNS: Final = 200
_MOST_PARTS: Final = 200
_LONGEST: Final = 20_000
"""How many characters of a prompt and of an answer are kept. The agent has all of it."""


class _Turn(Struct):
    prompt: str
    answer: list[str] = field(default_factory=list[str])
    size: int = 0

    def say(self, text: str) -> None:
        if self.size < _LONGEST:
            self.answer.append(text[: _LONGEST - self.size])
        self.size += len(text)


class SessionReplay:
    """Compares the user's messages with those that the agent is known to have heard from here, in their order.

    An agent may have summarised older ones, and may never have got one that was cut off.
    """

    def __init__(self, heard: Sequence[str]) -> None:
        self._heard = heard
        self._next = 0
        """The first of `heard` that may still come."""
        self._prompt: list[str] | None = None
        """The parts of the user's message that is being replayed."""
        self._message_id: str | None = None
        self._turn: _Turn | None = None
        """The turn that is being replayed; `None` for one that is known here."""
        self._turns: deque[_Turn] = deque(maxlen=_MOST_TURNS)

    @property
    def is_comparable(self) -> bool:
        """Whether anything that was replayed is known here."""
        return self._next > 0

    def take(self, update: wire.Update) -> None:
        match update:
            case wire.UserChunk(content=content, message_id=message_id):
                if self._prompt is None or message_id != self._message_id:
                    self._end_prompt()
                    self._prompt, self._message_id = [], message_id
                if len(self._prompt) < _MOST_PARTS:
                    self._prompt.append(text_of(content)[:_LONGEST])
            case wire.MessageChunk(content=content):
                self._end_prompt()
                if self._turn is not None:
                    self._turn.say(text_of(content))
            case wire.CallBegun(title=title):
                self._end_prompt()
                if self._turn is not None:
                    self._turn.say(f"\n[{title or 'A call'}]\n")
            case wire.ThoughtChunk():
                self._end_prompt()
            case _:
                pass

    def said(self) -> tuple[SaidElsewhere, ...]:
        """Return the turns after the last one that is known here. Call it after the replay."""
        self._end_prompt()
        if not self.is_comparable:
            return ()
        return tuple(SaidElsewhere(prompt=one.prompt, answer="".join(one.answer).strip()) for one in self._turns)

    def _end_prompt(self) -> None:
        if self._prompt is None:
            return
        prompt, self._prompt = self._prompt, None
        replayed = {beginning_of(text) for text in (*prompt, *(between.join(prompt) for between in ("", "\n", "\n\n")))}
        for at in range(self._next, len(self._heard)):
            if self._heard[at] in replayed:
                self._next, self._turn = at + 1, None
                self._turns.clear()
                return
        self._turn = _Turn("\n".join(prompt)[:_LONGEST])
        self._turns.append(self._turn)
