"""What of a model's message another vendor's model may get: text and calls, but no thinking.

Thinking is signed or encrypted: worth something only to whom it came from, and refused by others.
"""

from collections.abc import Sequence

from desktop_agent.core.protocol.model import AssistantBlock, OpaqueBlock, RedactedThinkingBlock, ThinkingBlock


def portable(content: Sequence[AssistantBlock]) -> tuple[AssistantBlock, ...]:
    """Return `content` without what only its own vendor understands."""
    own = (ThinkingBlock, RedactedThinkingBlock, OpaqueBlock)
    return tuple(block for block in content if not isinstance(block, own))
