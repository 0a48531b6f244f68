"""Telemetry of the sessions of a process: one pipeline for each set of settings, made when a session first needs it."""

import asyncio
import importlib
import json
import logging
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Protocol, cast
from urllib.parse import unquote
from uuid import uuid4

from msgspec import Struct

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.plain_text import on_one_line
from desktop_agent.core.base.secrets import is_secret_name, mask, secrets_in
from desktop_agent.core.mcp.server_status import ServerStatus
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import AssistantBlock, JsonObject, TextBlock, ToolUseBlock
from desktop_agent.core.settings.sections import TelemetrySettings

MAX_BYTES = 2048
MAX_LINES = 64
CUT_MARK = "[... truncated for telemetry ...]"
_MARGIN = 256
_MOST_MARGIN = 1024
_BETWEEN_WORDS = " \n\r\t\"'`"


def secrets_of(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the secrets in an environment: keys, and the values in receivers' headers (`name=value,name=value`)."""
    texts = (text for name, text in environ.items() if name.startswith("OTEL_") and is_secret_name(name))
    headers = (pair.partition("=")[2] for text in texts for pair in text.split(","))
    words = (word for value in headers for word in (unquote(value).strip(), *unquote(value).split()))
    return (*secrets_in(environ), *words)


class Contents:
    """Cuts and masks the texts that the user asked to export. `secrets` are masked in any form."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = secrets
        # A secret that the limit would cut in two is seen whole: masking all of a text would take too long.
        self._looked_at = MAX_BYTES + min(max(map(len, secrets), default=0) + _MARGIN, _MOST_MARGIN)

    def text(self, text: str) -> str:
        """Return the beginning of `text`, at most `MAX_BYTES` and `MAX_LINES` of it, masked. A cut is marked.

        A cut word is left out, because perhaps only its end would identify it as a key.
        """
        masked = mask(text[: self._looked_at], self._secrets)
        is_whole = len(text) <= self._looked_at
        if not is_whole:
            masked = masked[: max(masked.rfind(sign) for sign in _BETWEEN_WORDS) + 1]
        kept = (
            "\n".join(masked.split("\n")[:MAX_LINES]).encode("utf-8", "replace")[:MAX_BYTES].decode("utf-8", "ignore")
        )
        return kept if is_whole and kept == masked else f"{kept}\n{CUT_MARK}"

    def arguments(self, arguments: JsonObject) -> str:
        return json.dumps(self._fields(arguments), ensure_ascii=False)

    def prompt(self, text: str) -> str:
        return _messages("user", [{"type": "text", "content": self.text(text)}])

    def answer(self, content: Sequence[AssistantBlock]) -> str:
        """Return the texts and calls of a model's message, without its thinking."""
        parts: list[Mapping[str, object]] = []
        for block in content:
            if isinstance(block, TextBlock):
                parts.append({"type": "text", "content": self.text(block.text)})
            elif isinstance(block, ToolUseBlock):
                name, arguments = self.text(block.name), self._fields(block.arguments)  # the model made them up, too
                parts.append({"type": "tool_call", "id": block.id, "name": name, "arguments": arguments})
        return _messages("assistant", parts)

    def _fields(self, arguments: JsonObject) -> dict[str, str]:
        return {
            self.text(name): self.text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
            for name, value in arguments.items()
        }


def _messages(role: str, parts: Sequence[Mapping[str, object]]) -> str:
    return json.dumps([{"role": role, "parts": parts}], ensure_ascii=False)


class SessionFacts(Struct, frozen=True, kw_only=True):
    session_id: SessionId
    is_tool: Callable[[str], bool]
    """Whether the session has a tool of this name. A model can make up names."""
    clock: Clock


_LONGEST_REASON = 500


class Health:
    """The state of one pipeline. Thread-safe."""

    def __init__(self, target: str, secrets: Sequence[str]) -> None:
        """`target` names the receiver for users; `secrets` never appear in messages."""
        self._target = target
        self._secrets = secrets
        self._lock = threading.Lock()
        self._reason = ""
        self._is_said = False
        self.is_failing = False

    def failed(self, reason: str) -> None:
        text = on_one_line(mask(reason, self._secrets))[:_LONGEST_REASON]
        with self._lock:
            self.is_failing = True
            self._reason = self._reason or text

    def worked(self) -> None:
        self.is_failing = False

    def unsaid(self) -> ev.Notice | None:
        """Return the first failure for the user. Only the first caller gets it."""
        with self._lock:
            if not self._reason or self._is_said:
                return None
            self._is_said = True
        return ev.Notice(
            level="warning",
            code="telemetry",
            title=f"Telemetry could not be sent to {self._target}. Nothing else is affected.",
            hint="Look whether the receiver runs, or change it in the settings under Telemetry. This is said once.",
            detail=self._reason,
        )


_watched: ContextVar[Health | None] = ContextVar("watched", default=None)


@contextmanager
def quiet(health: Health) -> Generator[None]:
    """Report the SDK's warnings in this thread to `health`, as failures, instead of logging them."""
    token = _watched.set(health)
    try:
        yield
    finally:
        _watched.reset(token)


def to_health(record: logging.LogRecord) -> bool:
    """Filter a log record: within `quiet`, it goes to `Health` and not into the log."""
    health = _watched.get()
    if health is None:
        return True
    if record.levelno >= logging.WARNING:
        health.failed(record.getMessage())
    return False


_SDK = "desktop_agent.core.telemetry.pipeline"

logger = logging.getLogger(__name__)

Listener = Callable[[ev.Event], None]
ServerListener = Callable[[ServerStatus], None]
SubscribeToServers = Callable[[ServerListener], Callable[[], None]]
"""Calls a listener with every change of a server's status. Returns a function to end that."""


class EventFolding(Protocol):
    def apply(self, event: ev.Event) -> None: ...

    def close(self) -> None: ...


class Pipeline(Protocol):
    def fold(self, facts: SessionFacts) -> EventFolding: ...

    def server_changed(self, status: ServerStatus) -> None: ...

    async def aclose(self) -> None: ...


_MakePipeline = Callable[[TelemetrySettings, Mapping[str, str], str, Health], Pipeline]


class SharedPipeline:
    def __init__(self, wanted: TelemetrySettings, health: Health) -> None:
        self.wanted = wanted
        self.health = health
        self.pipeline: Pipeline | None = None
        """None while the pipeline is being made, and if that failed; then `health` says why."""
        self.users = 0
        self.ready: asyncio.Task[None] | None = None
        self.unsubscribe: Callable[[], None] = lambda: None


class Telemetry:
    """The pipelines of a process. Costs nothing until a session's settings name a receiver."""

    def __init__(self, environ: Mapping[str, str], subscribe_to_servers: SubscribeToServers) -> None:
        self._environ = environ
        self._subscribe = subscribe_to_servers
        self._instance_id = str(uuid4())
        self._pipelines: dict[TelemetrySettings, SharedPipeline] = {}

    async def enter(self, wanted: TelemetrySettings) -> SharedPipeline | None:
        """Return the pipeline for these settings until `leave`, or `None` if they name no receiver. Never raises."""
        if not wanted.is_on:
            return None
        shared = self._pipelines.get(wanted)
        if shared is None:
            health = Health(wanted.otlp_address or wanted.file, secrets_of(self._environ))
            shared = self._pipelines[wanted] = SharedPipeline(wanted, health)
            shared.ready = asyncio.create_task(self._open(shared), name="telemetry")
        shared.users += 1
        assert shared.ready is not None
        try:
            await asyncio.shield(shared.ready)
        except asyncio.CancelledError:
            shared.users -= 1
            raise
        return shared

    async def leave(self, shared: SharedPipeline) -> None:
        shared.users -= 1
        if shared.users:
            return
        del self._pipelines[shared.wanted]
        shared.unsubscribe()
        if shared.pipeline is not None:
            await shared.pipeline.aclose()
        if (notice := shared.health.unsaid()) is not None:
            logger.warning("%s %s", notice.title, notice.detail)

    async def _open(self, shared: SharedPipeline) -> None:
        def make() -> Pipeline:
            kind = cast("_MakePipeline", importlib.import_module(_SDK).SdkPipeline)
            return kind(shared.wanted, self._environ, self._instance_id, shared.health)

        try:
            shared.pipeline = await asyncio.to_thread(make)
        except Exception as error:  # noqa: BLE001 - whatever the SDK makes of settings, sessions go on without it
            shared.health.failed(f"{type(error).__name__}: {error}")
        else:
            shared.unsubscribe = self._subscribe(shared.pipeline.server_changed)


class SessionTelemetry:
    """Exports what one session does: `prepare` before turns, `aclose` once. While it is off, it imports nothing."""

    def __init__(
        self,
        telemetry: Telemetry,
        settings: Callable[[], TelemetrySettings],
        observe: Callable[[Listener | None], None],
        facts: SessionFacts,
    ) -> None:
        """`settings` returns the present settings; `observe` sets the listener for every event."""
        self._telemetry = telemetry
        self._settings = settings
        self._observe = observe
        self._facts = facts
        self._shared: SharedPipeline | None = None
        self._fold: EventFolding | None = None
        self._is_outdated = False

    async def prepare(self) -> None:
        """Start, continue or stop, following the settings. The first start takes as long as an import. Never raises."""
        wanted = self._settings()
        known = self._shared.wanted if self._shared is not None else TelemetrySettings()
        if known == wanted and not self._is_outdated:
            return
        await self.aclose()
        self._is_outdated = False
        self._shared = await self._telemetry.enter(wanted)
        if self._shared is not None and self._shared.pipeline is not None:
            self._fold = self._shared.pipeline.fold(self._facts)
            self._observe(self._listen)

    def problem(self) -> ev.Notice | None:
        return self._shared.health.unsaid() if self._shared is not None else None

    async def aclose(self) -> None:
        """Stop listening, within a second, even if the receiver does not respond."""
        self._observe(None)
        fold, self._fold = self._fold, None
        shared, self._shared = self._shared, None
        if shared is None:
            return
        if fold is not None:
            self._guarded(fold.close, shared)
        await self._telemetry.leave(shared)

    def _listen(self, event: ev.Event) -> None:
        """Fold an event. If that fails, telemetry ends, and the turn continues."""
        if self._fold is None or self._shared is None:
            return
        if self._settings() != self._shared.wanted:  # switched off, or to another receiver: from the next turn on
            self._is_outdated = True
            self._observe(None)
        else:
            self._guarded(partial(self._fold.apply, event), self._shared)

    def _guarded(self, step: Callable[[], None], shared: SharedPipeline) -> None:
        try:
            step()
        except Exception as error:  # noqa: BLE001 - a turn does not depend on being watched
            shared.health.failed(f"It was ended by a defect: {type(error).__name__}")
            self._observe(None)
