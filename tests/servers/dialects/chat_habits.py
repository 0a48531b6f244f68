"""What servers that are compatible with Chat Completions do differently from OpenAI."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class ChatHabits:
    """Habits of a service; OpenAI's own, as they stand here, but for the field that thinking comes in."""

    thinking: Literal["reasoning_content", "reasoning", "reasoning_details"] = "reasoning_content"
    calls: Literal["fragments", "whole", "together"] = "fragments"
    has_index: bool = True
    has_ids: bool = True
    """Whether calls have ids. Without, they are empty."""
    repeats_ids: bool = False
    has_empty_deltas: bool = False
    """Whether chunks with nothing in them follow every chunk: no field, empty fields, null."""
    usage_at: Literal["end", "finish"] = "end"
    """Whether usage has a chunk without choices, or comes with the last choice, asked for or not."""
    has_done: bool = True
    comment: str = ""
    numbers_errors: bool = False
    takes: frozenset[str] = frozenset()
    server_tools: frozenset[str] = frozenset()
    alternates: bool = False

    @property
    def thinking_fields(self) -> frozenset[str]:
        return {
            "reasoning_content": frozenset({"reasoning_content"}),
            "reasoning": frozenset({"reasoning"}),
            "reasoning_details": frozenset({"reasoning", "reasoning_details"}),
        }[self.thinking]
