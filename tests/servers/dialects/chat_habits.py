"""What servers that are compatible with Chat Completions do differently from OpenAI."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class ChatHabits:
    """Habits of a service; OpenAI's own, as they stand here, but for the field that thinking comes in."""

    thinking: Literal["reasoning_content", "reasoning", "reasoning_details"] = "reasoning_content"
    """The field that thinking comes in: DeepSeek's and llama.cpp's, Ollama's, or OpenRouter's, with its signature."""
    calls: Literal["fragments", "whole", "together"] = "fragments"
    """Whether a call comes in fragments, each in a chunk of its own, or all that follow each other in one."""
    has_index: bool = True
    """Whether a part of a call says which call it belongs to."""
    has_ids: bool = True
    """Whether calls have ids. Without, they are empty."""
    repeats_ids: bool = False
    """Whether every fragment of a call has its id and name again."""
    has_empty_deltas: bool = False
    """Whether chunks with nothing in them follow every chunk: no field, empty fields, null."""
    usage_at: Literal["end", "finish"] = "end"
    """Whether usage has a chunk without choices, or comes with the last choice, asked for or not."""
    has_done: bool = True
    """Whether `[DONE]` ends the stream."""
    comment: str = ""
    """What comes as a comment before every event: `OPENROUTER PROCESSING`."""
    numbers_errors: bool = False
    """Whether the code of an error is its status, as OpenRouter has it, and a stream that fails still has a choice."""
    takes: frozenset[str] = frozenset()
    """The fields of a request that OpenAI does not know, besides those that thinking came in: `messages.*.prefix`."""
    server_tools: frozenset[str] = frozenset()
    """The types of tools that the service runs itself: `openrouter:web_search`."""
    alternates: bool = False
    """Whether the user and the assistant must take turns, as the templates of many local models demand."""

    @property
    def thinking_fields(self) -> frozenset[str]:
        """The fields of a message that thinking comes in, and goes back in."""
        return {
            "reasoning_content": frozenset({"reasoning_content"}),
            "reasoning": frozenset({"reasoning"}),
            "reasoning_details": frozenset({"reasoning", "reasoning_details"}),
        }[self.thinking]
