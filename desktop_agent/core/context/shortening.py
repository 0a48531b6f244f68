"""Results of calls made short, for a turn that is itself too long: their beginning and end, and what is missing."""

from desktop_agent.core.protocol.model import ToolResult

KEPT_CHARS = 400
"""At each end."""


def shortened(result: ToolResult) -> ToolResult:
    """Return the result as the model sees it once its call was shortened. The same result gives the same text always.

    Pictures go, too: one costs more than the text that is saved.
    """
    text, missing = result.content, len(result.content) - 2 * KEPT_CHARS
    parts: list[str] = []
    if missing > 0:
        parts.append(f"{missing} characters")
        text = ""
    if result.images:
        parts.append("its pictures")
    if not parts:
        return result
    note = f"[{' and '.join(parts)} of this result were taken out to make room. Call again if you need them.]"
    if text or missing <= 0:
        content = f"{text}\n{note}".strip()
    else:
        content = f"{result.content[:KEPT_CHARS]}\n{note}\n{result.content[-KEPT_CHARS:]}"
    return ToolResult(content=content, is_error=result.is_error, error_type=result.error_type)


def is_worth_it(result: ToolResult) -> bool:
    """Whether shortening this result makes room."""
    return len(result.content) > 3 * KEPT_CHARS or bool(result.images)
