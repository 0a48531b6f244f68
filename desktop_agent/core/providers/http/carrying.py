"""Leaves out of a request what another vendor's models thought. The journal keeps it."""

from msgspec.structs import replace

from desktop_agent.core.context.history import is_readable_by, portable
from desktop_agent.core.protocol.model import AssistantMessage, Message, ModelRef, ModelRequest


def carried(request: ModelRequest, to: ModelRef | None) -> ModelRequest:
    """Return `request` with what the model `to` may get of the messages of others; all of it if that is not known."""
    if to is None or all(is_readable_by(message, to) for message in request.messages):
        return request
    messages: list[Message] = []
    stable = 0
    for index, message in enumerate(request.messages):
        if index == request.stable_messages:
            stable = len(messages)
        if is_readable_by(message, to):
            messages.append(message)
        elif isinstance(message, AssistantMessage) and (content := portable(message.content)):
            messages.append(replace(message, content=content))
    if request.stable_messages >= len(request.messages):
        stable = len(messages)
    return replace(request, messages=tuple(messages), stable_messages=stable)
