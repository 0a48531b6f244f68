"""Thinking in Chat Completions, which the format itself does not have: the fields that compatible servers added.

`reasoning_content` is DeepSeek's, llama.cpp's and others'; `reasoning` is OpenRouter's, Ollama's and Groq's, and
`reasoning_details` are OpenRouter's blocks with signatures, which have to go back unmodified.
Source: https://openrouter.ai/docs/guides/best-practices/reasoning-tokens
"""

from typing import cast

from desktop_agent.core.protocol.foreign_json import objects_in, text_in
from desktop_agent.core.protocol.model import AssistantBlock, JsonObject, OpaqueBlock, ThinkingBlock
from desktop_agent.core.providers.arguments import is_too_deep
from desktop_agent.core.providers.base import ThinkingChunk
from desktop_agent.core.providers.http.faults import broken_off
from desktop_agent.core.providers.surrogates import TextJoiner, repaired_json

THINKING_FIELDS = ("reasoning_content", "reasoning")
DETAILS = "reasoning_details"

_GROWING = ("text", "summary", "data", "signature")
"""The fields of a detail that come in pieces."""


class GrowingThinking:
    """The thinking of one message while it arrives."""

    def __init__(self) -> None:
        self._field = ""
        self._joiner = TextJoiner()
        self._parts: list[str] = []
        self._details: list[JsonObject] = []

    def add(self, delta: JsonObject) -> ThinkingChunk | None:
        """Take the thinking in one delta, if there is any, and return what there is to show."""
        for detail in objects_in(delta, DETAILS):
            self._add_detail(detail)
        for field in THINKING_FIELDS:
            if text := text_in(delta, field):
                self._field = self._field or field
                return self._shown(self._joiner.add(text))
        return None

    def end(self) -> ThinkingChunk | None:
        """Return what is left: nothing, or the half of a character whose other half never came."""
        return self._shown(self._joiner.end())

    def result(self) -> list[AssistantBlock]:
        """Return the blocks that it came to: the text, under the name of its field, and the details as they go back."""
        blocks: list[AssistantBlock] = []
        if self._parts:
            # What has details goes back as these; the text would say it twice.
            signature = DETAILS if self._details else self._field
            blocks.append(ThinkingBlock(thinking="".join(self._parts), signature=signature))
        if self._details:
            if is_too_deep(self._details):
                raise broken_off("a detail of the thinking is nested too deeply to be kept")
            blocks.append(OpaqueBlock(payload={DETAILS: repaired_json(self._details)}))
        return blocks

    def _shown(self, text: str) -> ThinkingChunk | None:
        if not text:
            return None
        self._parts.append(text)
        return ThinkingChunk(text=text)

    def _add_detail(self, detail: JsonObject) -> None:
        """Join a detail to the one before if it is a further piece of it: the same type and place."""
        last = self._details[-1] if self._details else None
        if last is None or any(last.get(key) != detail.get(key) for key in ("type", "index")):
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            so_far = last.get(key)
            is_piece = key in _GROWING and isinstance(so_far, str) and isinstance(value, str)
            if is_piece:
                last[key] = cast("str", so_far) + cast("str", value)
            elif value is not None:
                last[key] = value
