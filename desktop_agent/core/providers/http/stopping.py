"""What the reason why a message stopped says about the calls in it."""

from msgspec.structs import replace

from desktop_agent.core.protocol.model import AssistantBlock, StopReason, ToolUseBlock

_NOT_RUN = {
    "max_tokens": "The answer reached its token limit, so the call was not run. Make it again, split if it is long.",
    "model_context_window_exceeded": "The context window was full, so the call was not run.",
}
"""What the model reads about a call in an answer that did not end by asking for it."""


def runnable_only_if_asked(block: AssistantBlock, reason: StopReason) -> AssistantBlock:
    """Return `block`; a call in a message that did not stop for its calls is rejected, however whole it looks."""
    if not isinstance(block, ToolUseBlock) or reason == "tool_use":
        return block
    why = _NOT_RUN.get(reason, f"The answer stopped for another reason ({reason}), so the call was not run.")
    return replace(block, rejected=why)
