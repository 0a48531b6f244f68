"""Tells of each request to a model when it is sent and when it comes to its end, whoever asks and whatever for."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.ids import new_request_id
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.event_log import EventLog
from desktop_agent.core.protocol.live_events import RequestPurpose
from desktop_agent.core.protocol.model import ModelRef, ModelRequest
from desktop_agent.core.providers.base import Completion, Provider, whole_answer

TellAnswer = Callable[[Completion], None]
"""Called with the answer when it is whole."""


@contextmanager
def reported(log: EventLog, model: ModelRef, turn: int, purpose: RequestPurpose = "turn") -> Generator[TellAnswer]:
    """Tell of one try of a request: sent when this is entered, and how it ended, once, at the latest when it is left.

    Yields what is called with the answer. What is raised goes on.
    """
    tell = partial(ev.ModelRequestReported, turn=turn, request_id=new_request_id(), model=model, purpose=purpose)
    is_over = False

    def answered(completion: Completion) -> None:
        nonlocal is_over
        is_over = True
        stop, usage = completion.stop_reason, completion.usage
        log.emit(tell(state="answered", message_id=completion.message_id, stop_reason=stop, usage=usage))

    log.emit(tell(state="sent"))
    try:
        yield answered
    except ProviderError as error:
        if not is_over:
            log.emit(tell(state="failed", fault=error.fault))
        raise
    except (asyncio.CancelledError, GeneratorExit):
        if not is_over:
            log.emit(tell(state="stopped"))
        raise
    else:
        if not is_over:
            log.emit(tell(state="failed", fault="stream"))


async def reported_answer(
    log: EventLog, provider: Provider, model: ModelRef, request: ModelRequest, turn: int, purpose: RequestPurpose
) -> Completion:
    """Return the whole answer to a request beside the conversation, and tell of it. Raises `ProviderError`.

    Cancelling closes the connection.
    """
    with reported(log, model, turn, purpose) as answered:
        completion = await whole_answer(provider, request)
        answered(completion)
        return completion
