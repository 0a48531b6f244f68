"""What of a model's message another vendor's model may get: text and calls, but no thinking, and no search.

Thinking is signed or encrypted, and so is what a provider found: worth something only to whom it came from, and refused
by others. What the model said about it is text.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from desktop_agent.core.protocol.model import (
    AssistantBlock,
    AssistantMessage,
    Message,
    ModelRef,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
)


def portable(content: Sequence[AssistantBlock]) -> tuple[AssistantBlock, ...]:
    """Return `content` without what only its own vendor understands."""
    own = (ThinkingBlock, RedactedThinkingBlock, OpaqueBlock)
    return tuple(_without_seals(block) for block in content if not isinstance(block, own))


def _without_seals(block: AssistantBlock) -> AssistantBlock:
    return replace(block, citations=()) if isinstance(block, TextBlock) and block.citations else block


def is_readable_by(message: Message, model: ModelRef) -> bool:
    """Whether it goes back as it came: another model of the same account and address sorts out itself what it uses."""
    if not isinstance(message, AssistantMessage) or message.made_by is None:
        return True
    return replace(message.made_by.bare, model=model.model) == model.bare
