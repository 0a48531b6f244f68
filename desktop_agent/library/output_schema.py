"""The required form of the final answer: a JSON value by a schema or a type."""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar, cast

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.plain_text import on_one_line
from desktop_agent.core.protocol.events import TurnEnded
from desktop_agent.core.tools.function_tool import adapter_of, first_mistake
from desktop_agent.core.transcript import TextEntry, Transcript
from desktop_agent.library.results import Result

_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n?```", re.DOTALL)
_LONGEST_MISTAKE = 500

E = TypeVar("E", TurnEnded, Result)


class OutputSchema:
    corrections = 2

    def __init__(self, schema: Mapping[str, object], read: Callable[[object], object] | None = None) -> None:
        """`read` converts a valid value into the caller's type. Raises `UsageError` for an invalid schema."""
        from desktop_agent.core.base.json_schema import SchemaCheck

        self._schema = schema
        try:
            self._check = SchemaCheck(schema)
        except ValueError as error:
            raise UsageError("The output schema is no JSON Schema.", detail=str(error)) from error
        self._read = read

    @classmethod
    def of(cls, wanted: object) -> "OutputSchema":
        """Return the schema for a type, or for a JSON Schema. Blocks. Raises `TypeError` and `UsageError`."""
        if isinstance(wanted, Mapping):
            return cls(cast("Mapping[str, object]", wanted))
        adapter = adapter_of(wanted)
        return cls(adapter.json_schema(), adapter.validate_python)

    @classmethod
    def read(cls, path: Path) -> "OutputSchema":
        """Return the schema in a file. Blocks. Raises `UsageError`."""
        try:
            schema: object = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise UsageError(f"The output schema {path} cannot be read: {error}.") from error
        if not isinstance(schema, dict):
            raise UsageError(f"The output schema {path} is no JSON object.")
        return cls(cast("dict[str, object]", schema))

    @property
    def instructions(self) -> str:
        shown = json.dumps(self._schema, ensure_ascii=False)
        return (
            "## Final answer\nYour last message is read by a program. It must be one JSON value and nothing else: no "
            f"words around it, no code fence. It must be valid by this JSON Schema:\n{shown}"
        )

    async def correct(self, transcript: Transcript, ends: list[E], ask: Callable[[str], Awaitable[E]]) -> str:
        """Ask the model again while its last answer is invalid; return the remaining mistake.

        `ask` runs one more turn, whose end is appended to `ends`.
        """
        for attempt in range(self.corrections + 1):
            last = ends[-1]
            if last.reason != "completed":
                return f"the turn ended with {last.reason}"
            mistake = self.mistake_in(transcript, last.turn)
            if not mistake or attempt == self.corrections:
                return mistake
            words = f"Your last message is not valid: {mistake}. Answer with the corrected JSON value and nothing else."
            ends.append(await ask(words))
        raise AssertionError("there is at least one attempt")

    def mistake_in(self, transcript: Transcript, turn: int) -> str:
        """Return in one line what is wrong with the last answer of a turn; empty if it is valid."""
        try:
            value = _json_in(transcript, turn)
        except (ValueError, RecursionError) as error:
            return f"it is no JSON value ({error})"
        try:
            mistake = self._check.mistake_in(value, "the value")
        except ValueError as error:
            mistake = str(error)
        if not mistake and self._read is not None:
            mistake = first_mistake(self._read, value)
        return on_one_line(mistake[:_LONGEST_MISTAKE])

    def value_in(self, transcript: Transcript, turn: int) -> object:
        value = _json_in(transcript, turn)
        return value if self._read is None else self._read(value)


def _json_in(transcript: Transcript, turn: int) -> object:
    entries = (entry for entry in transcript.entries if isinstance(entry, TextEntry) and entry.turn == turn)
    texts = [entry.text for entry in entries if entry.kind == "text"]
    text = texts[-1].strip() if texts else ""
    fenced = _FENCE.fullmatch(text)
    return json.loads(fenced.group(1) if fenced else text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> object:
    """Refuse NaN and infinity, which the parser would accept although JSON has neither."""
    raise ValueError(f"{name} is not JSON")
