"""Reads what a server wants to ask the model: bounded, and text only. What else it wants is refused or noted."""

import mcp_types

from desktop_agent.core.mcp.sampling import (
    SampledAnswer,
    SampledMessage,
    SamplingDeniedError,
    SamplingRefusedError,
    SamplingRequest,
)

MOST_MESSAGES = 50
LONGEST_TEXT = 40_000
"""Of all messages and the system prompt, in characters: the user reads them before they are sent."""
MOST_TOKENS = 4_096
"""The longest answer, whatever the server asks for."""

USER_REJECTED = -1
"""The error of the protocol for a user's no."""


def request_of(server: str, fingerprint: str, params: mcp_types.CreateMessageRequestParams) -> SamplingRequest:
    """Return what is to be asked. Raises `SamplingRefusedError`."""
    if params.tools or params.tool_choice is not None:
        raise SamplingRefusedError("This client gives the model no tools when a server asks it.")
    if not params.messages:
        raise SamplingRefusedError("There is no message to ask the model with.")
    if len(params.messages) > MOST_MESSAGES:
        raise SamplingRefusedError(f"This client asks the model with at most {MOST_MESSAGES} messages.")
    if params.max_tokens < 1:
        raise SamplingRefusedError("The answer may have no token.")
    messages = tuple(_message(message) for message in params.messages)
    system = params.system_prompt or ""
    if sum(len(message.text) for message in messages) + len(system) > LONGEST_TEXT:
        raise SamplingRefusedError(f"This client asks the model with at most {LONGEST_TEXT:,} characters.")
    return SamplingRequest(
        server=server,
        fingerprint=fingerprint,
        messages=messages,
        system=system,
        max_tokens=min(params.max_tokens, MOST_TOKENS),
        notes=_notes(params),
    )


def result_of(answer: SampledAnswer) -> mcp_types.CreateMessageResult:
    """Return the answer for the server."""
    content = mcp_types.TextContent(text=answer.text)
    return mcp_types.CreateMessageResult(role="assistant", content=content, model=answer.model, stop_reason=answer.stop)


def refusal_of(error: SamplingRefusedError) -> mcp_types.ErrorData:
    """Return what the server gets in place of an answer."""
    code = USER_REJECTED if isinstance(error, SamplingDeniedError) else mcp_types.INVALID_REQUEST
    return mcp_types.ErrorData(code=code, message=str(error))


def _message(message: mcp_types.SamplingMessage) -> SampledMessage:
    texts: list[str] = []
    for block in message.content_as_list:
        if not isinstance(block, mcp_types.TextContent):
            raise SamplingRefusedError(f"This client asks the model with text only, not with {block.type!r}.")
        texts.append(block.text.encode(errors="replace").decode())  # a lone surrogate can be neither kept nor sent
    return SampledMessage(role=message.role, text="\n".join(texts))


def _notes(params: mcp_types.CreateMessageRequestParams) -> tuple[str, ...]:
    notes: list[str] = []
    if params.include_context not in (None, "none"):
        notes.append("It wants the conversation to be sent along, and does not get it.")
    if params.max_tokens > MOST_TOKENS:
        notes.append(f"It wants up to {params.max_tokens:,} tokens of answer, and gets {MOST_TOKENS:,}.")
    if params.model_preferences is not None:
        notes.append("It prefers a certain kind of model, which is not regarded.")
    if params.temperature is not None or params.stop_sequences:
        notes.append("It sets a temperature or where the answer stops, which is not regarded.")
    return tuple(notes)
