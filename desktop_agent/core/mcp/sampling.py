"""What a server wants to ask the model (`sampling/createMessage`), without the SDK's types, and how it is answered.

Every text in here is a server's and not to be trusted: it never enters the conversation of a session.
"""

from collections.abc import Awaitable, Callable
from typing import Literal

from msgspec import Struct

SampledStop = Literal["endTurn", "maxTokens"]


class SampledMessage(Struct, frozen=True, kw_only=True):
    """One message of the conversation that the server made up."""

    role: Literal["user", "assistant"]
    text: str


class SamplingRequest(Struct, frozen=True, kw_only=True):
    """What is to be asked; its size is within limits."""

    server: str
    fingerprint: str
    """Of the server's definition: another definition of the same name is another server."""
    messages: tuple[SampledMessage, ...]
    system: str = ""
    max_tokens: int
    notes: tuple[str, ...] = ()
    """What else the server wanted and does not get, in sentences."""


class SampledAnswer(Struct, frozen=True, kw_only=True):
    """What the model answered."""

    text: str
    model: str
    stop: SampledStop = "endTurn"


class SamplingRefusedError(Exception):
    """The model is not asked. `str(error)` says why, to the server."""


class SamplingDeniedError(SamplingRefusedError):
    """The user said no, or is not there to say yes."""


SampleModel = Callable[[SamplingRequest], Awaitable[SampledAnswer]]
"""Asks the model for a server while a call runs. Raises `SamplingRefusedError`."""


async def no_model_to_ask(_: SamplingRequest) -> SampledAnswer:
    """Refuse: no session, and so no model, belongs to the call."""
    raise SamplingRefusedError("No model can be asked here.")
