"""A conversation as plain text: for a model that summarises it, and for a user who reads what the model sees."""

import json
from collections.abc import Iterable

from desktop_agent.core.base.plain_text import number_of
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    ImageBlock,
    Message,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserBlock,
)

_as_json = json.JSONEncoder(ensure_ascii=False).encode
"""`json.dumps` would make an encoder for each call."""


def conversation_text(messages: Iterable[Message], *, longest_part: int | None = None) -> str:
    """Return the messages one after another, each block under what it is.

    With `longest_part`, results and arguments have at most about so many characters: their beginnings and ends.
    """
    return "\n\n".join(
        part
        for message in messages
        for block in message.content
        if (part := _block_text(block, is_user=message.role == "user", longest=longest_part))
    )


def fitted(text: str, longest: int) -> str:
    """Return `text`, or its beginning and its longer end when it has more than `longest` characters."""
    if len(text) <= longest:
        return text
    head = longest // 4
    tail = longest - head
    return f"{text[:head]}\n[… {len(text) - longest} characters left out …]\n{text[-tail:]}"


def _block_text(block: AssistantBlock | UserBlock, *, is_user: bool, longest: int | None) -> str:
    match block:  # the most frequent first, as in `tokens.block_tokens`
        case ToolResultBlock(content=content, is_error=is_error, images=images):
            pictures = f"\n[{number_of(len(images), 'picture')}]" if images else ""
            return f"Result{' (an error)' if is_error else ''}:\n{_short(content, longest)}{pictures}"
        case ToolUseBlock(name=name, arguments=arguments):
            return f"Call of {name}:\n{_short(_as_json(arguments), longest)}"
        case TextBlock(text=text):
            return f"{'User' if is_user else 'Assistant'}:\n{text}"
        case ThinkingBlock(thinking=text):
            return "" if longest is not None else f"Assistant, thinking:\n{text}"
        case OpaqueBlock(call=call) if call is not None:
            found = "\n".join(f"{page.title} {page.url}".strip() for page in call.pages)
            return _short(f"Call of {call.tool} at the provider:\n{call.query}\n{found}{call.error}".rstrip(), longest)
        case ImageBlock():
            return "User:\n[1 picture]"
        case RedactedThinkingBlock() | OpaqueBlock():
            return ""


def _short(text: str, longest: int | None) -> str:
    return text if longest is None else fitted(text, longest)
