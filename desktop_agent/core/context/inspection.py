"""A request taken apart for a user: which part of it takes how many tokens, and what it says word by word."""

from collections.abc import Sequence

from msgspec.structs import replace

from desktop_agent.core.context.history_fold import Compaction
from desktop_agent.core.context.packing import guidance_text
from desktop_agent.core.context.readable import conversation_text
from desktop_agent.core.context.summaries import rendered
from desktop_agent.core.context.tokens import definition_text, message_tokens, picture_tokens, text_tokens, tool_tokens
from desktop_agent.core.protocol.model import ContextSection, GuidanceFile, Message, ModelRequest, SectionKind


def sections(
    request: ModelRequest,
    guidance: Sequence[GuidanceFile],
    compaction: Compaction | None,
    system: str,
    ratio: float,
) -> tuple[ContextSection, ...]:
    """Return the parts of `request`, in the order in which they are sent, without those that are empty.

    `guidance` and `compaction` are those that the request was made with, `system` is its system prompt without
    guidance, and `ratio` corrects the estimates. Takes milliseconds for a long conversation: call it from a thread.
    """
    in_folders = sum(text_tokens(file.text) for file in guidance if file.scope == "folder")
    is_summarised = compaction is not None and compaction.through_turn > 0
    summary = rendered(compaction.summary) if compaction is not None and is_summarised else ""
    pictures = picture_tokens(request.messages)
    rest = max(message_tokens(request.messages) - text_tokens(summary) - in_folders - pictures, 0.0)
    said = _without_summary(request.messages) if is_summarised else request.messages

    def section(kind: SectionKind, estimated: float, text: str, name: str = "") -> ContextSection:
        return ContextSection(kind=kind, name=name, tokens=round(estimated * ratio), text=text)

    guides = [(file.path, file.text if file.scope == "folder" else guidance_text(file)) for file in guidance]
    found = (
        section("tools", tool_tokens(request.tools), "\n\n".join(map(definition_text, request.tools))),
        section("system", text_tokens(system), system),
        *(section("guidance", text_tokens(text), text, name) for name, text in guides),
        section("summary", text_tokens(summary), summary),
        section("conversation", rest, conversation_text(said)),
        section("pictures", pictures, ""),
        section("pins", text_tokens(request.pinned), request.pinned),
    )
    return tuple(one for one in found if one.tokens)


def _without_summary(messages: Sequence[Message]) -> Sequence[Message]:
    """The conversation without the block that it begins with."""
    first, *others = messages
    return [replace(first, content=first.content[1:]), *others]
