"""What of contents may be exported when the user asked for it: the beginning, without what looks like a secret."""

import json
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from desktop_agent.core.base.secrets import is_secret_name, mask, secrets_in
from desktop_agent.core.protocol.model import AssistantBlock, JsonObject, TextBlock, ToolUseBlock

MAX_BYTES = 2048
MAX_LINES = 64
CUT_MARK = "[... truncated for telemetry ...]"
_MARGIN = 256
_MOST_MARGIN = 1024
_BETWEEN_WORDS = " \n\r\t\"'`"


def secrets_of(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the secrets of an environment, and what the headers for receivers hold: `name=value,name=value`."""
    texts = (text for name, text in environ.items() if name.startswith("OTEL_") and is_secret_name(name))
    headers = (pair.partition("=")[2] for text in texts for pair in text.split(","))
    words = (word for value in headers for word in (unquote(value).strip(), *unquote(value).split()))
    return (*secrets_in(environ), *words)


class Contents:
    """Makes the texts of one process; `secrets` are masked whatever they look like."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = secrets
        # A secret that the limit would cut in two is seen whole: masking all of a text would take too long.
        self._looked_at = MAX_BYTES + min(max(map(len, secrets), default=0) + _MARGIN, _MOST_MARGIN)

    def text(self, text: str) -> str:
        """Return the beginning of `text`, at most `MAX_BYTES` and `MAX_LINES` of it, masked; a cut is marked.

        A word of which only the beginning was looked at is left out: what has the shape of a key may need its end.
        """
        masked = mask(text[: self._looked_at], self._secrets)
        is_whole = len(text) <= self._looked_at
        if not is_whole:
            masked = masked[: _last_word(masked)]
        kept = (
            "\n".join(masked.split("\n")[:MAX_LINES]).encode("utf-8", "replace")[:MAX_BYTES].decode("utf-8", "ignore")
        )
        return kept if is_whole and kept == masked else f"{kept}\n{CUT_MARK}"

    def arguments(self, arguments: JsonObject) -> str:
        """Return the JSON of a call's arguments, each of them cut."""
        return json.dumps(self._fields(arguments), ensure_ascii=False)

    def prompt(self, text: str) -> str:
        """Return what a user wrote, as the conventions have the messages that go to a model."""
        return _messages("user", [{"type": "text", "content": self.text(text)}])

    def answer(self, content: Sequence[AssistantBlock]) -> str:
        """Return the texts and calls of a model's message; what it thought is left out."""
        parts: list[Mapping[str, object]] = []
        for block in content:
            if isinstance(block, TextBlock):
                parts.append({"type": "text", "content": self.text(block.text)})
            elif isinstance(block, ToolUseBlock):
                name, arguments = self.text(block.name), self._fields(block.arguments)  # the model made them up, too
                parts.append({"type": "tool_call", "id": block.id, "name": name, "arguments": arguments})
        return _messages("assistant", parts)

    def _fields(self, arguments: JsonObject) -> dict[str, str]:
        return {self.text(name): self._value(value) for name, value in arguments.items()}

    def _value(self, value: object) -> str:
        if isinstance(value, str):
            return self.text(value)
        return self.text(json.dumps(value, ensure_ascii=False))


def _messages(role: str, parts: Sequence[Mapping[str, object]]) -> str:
    return json.dumps([{"role": role, "parts": parts}], ensure_ascii=False)


def _last_word(text: str) -> int:
    """Return where the last word of `text` begins."""
    return max(text.rfind(sign) for sign in _BETWEEN_WORDS) + 1
