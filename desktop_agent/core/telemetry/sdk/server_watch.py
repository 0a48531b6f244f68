"""MCP servers: the spans of their starts, what was fetched from them, and what failed.

Servers belong to the process and not to a session, so their states are no events of one.
"""

import time

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Tracer
from opentelemetry.trace.status import Status, StatusCode

from desktop_agent.core.base.ids import PromptId
from desktop_agent.core.mcp.status import ServerStatus
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import Attachment
from desktop_agent.core.telemetry.conventions import (
    ERROR_TYPE,
    MCP_FAILURES,
    MCP_FETCHES,
    MCP_METHOD,
    MCP_PROTOCOL,
    SERVER,
    SERVER_SPAN,
)
from desktop_agent.core.telemetry.sdk.instruments import Instruments

START_METHOD = "initialize"
LIST_METHOD = "tools/list"
READ_METHOD = "resources/read"
_NOT_FETCHED = "mention"
"""The code of the notice about a resource that was not to be had."""


class ServerWatch:
    """Follows the states of all servers of a process."""

    def __init__(self, tracer: Tracer, instruments: Instruments) -> None:
        self._tracer = tracer
        self._instruments = instruments
        self._before: dict[str, ServerStatus] = {}
        self._starting: dict[str, Span] = {}

    def changed(self, status: ServerStatus) -> None:
        """Note how a server is now."""
        before = self._before.get(status.name)
        self._before[status.name] = status
        if before is not None and before.state == status.state:
            if status.state == "ready" and before.tools is not status.tools:
                self._instruments.count(MCP_FETCHES, {MCP_METHOD: LIST_METHOD})
            return
        match status.state:
            case "starting":
                self._start(status)
            case "ready":
                protocol = {MCP_PROTOCOL: status.facts.protocol} if status.facts is not None else {}
                self._end(status.name, protocol)
                self._instruments.count(MCP_FETCHES, {MCP_METHOD: LIST_METHOD})
            case "failed" | "resting":
                self._end(status.name, {}, error="server")
                self._instruments.count(MCP_FAILURES, {MCP_METHOD: START_METHOD})
            case "idle":
                self._end(status.name, {})

    def close(self) -> None:
        """End what is open."""
        for name in tuple(self._starting):
            self._end(name, {})

    def _start(self, status: ServerStatus) -> None:
        self._end(status.name, {})  # another one of this name, in another folder
        attributes = {MCP_METHOD: START_METHOD, SERVER: status.name}
        self._starting[status.name] = self._tracer.start_span(
            SERVER_SPAN, context=Context(), kind=SpanKind.CLIENT, attributes=attributes, start_time=time.time_ns()
        )

    def _end(self, name: str, attributes: dict[str, str], *, error: str = "") -> None:
        span = self._starting.pop(name, None)
        if span is None:
            return
        for key, value in attributes.items():
            span.set_attribute(key, value)
        if error:
            span.set_attribute(ERROR_TYPE, error)
            span.set_status(Status(StatusCode.ERROR))
        span.end(time.time_ns())


class MentionFold:
    """Folds what prompts mention of servers."""

    def __init__(self, instruments: Instruments) -> None:
        self._instruments = instruments
        self._queued: set[PromptId] = set()

    def apply(self, event: ev.Event) -> None:
        """Fold one event."""
        match event:
            case ev.Queued(prompt_id=prompt_id, attachments=attachments) if prompt_id not in self._queued:
                self._queued.add(prompt_id)
                self._count(attachments)
            case (
                ev.PromptSubmitted(prompt_id=prompt_id, attachments=attachments)
                | ev.Steered(prompt_id=prompt_id, attachments=attachments)
            ):
                if prompt_id not in self._queued:  # else they were counted when they came
                    self._count(attachments)
                self._queued.discard(prompt_id)
            case ev.Notice(code=code) if code == _NOT_FETCHED:
                self._instruments.count(MCP_FAILURES, {MCP_METHOD: READ_METHOD})
            case _:
                pass

    def _count(self, attachments: tuple[Attachment, ...]) -> None:
        if attachments:
            self._instruments.count(MCP_FETCHES, {MCP_METHOD: READ_METHOD}, len(attachments))
