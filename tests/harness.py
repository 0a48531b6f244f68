"""A real session on a real folder with a scripted model, and a receiver that waits for events."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby, pairwise
from pathlib import Path
from typing import TypeVar

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import (
    Allowed,
    ApprovalPolicy,
    AssistantMessage,
    ChangeSelection,
    Decision,
    FileImage,
    FileOutcome,
    Message,
    ModelRef,
    ModelRequest,
    SandboxMode,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from desktop_agent.core.providers.provider import Provider, ProviderSource
from desktop_agent.core.providers.scripted import Reply, Say, Script, ScriptedProvider, in_order
from desktop_agent.core.session.session import Session
from desktop_agent.core.session.spending import TurnLimits
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.slash.session_commands import Services
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.tools.access import CallRules
from desktop_agent.core.tools.builtin import AnyTool, builtin_tools
from desktop_agent.core.tools.execution.confiner import SandboxProbe
from desktop_agent.core.transcript import Transcript

E = TypeVar("E", bound=ev.Event)

PATIENCE_S = 30.0
"""How long tests wait for what must come. Long, as only failing tests wait for it."""

MODEL = ModelRef(provider="scripted", model="scripted")


BUILTIN_TOOLS = builtin_tools(Path("cache"))
"""For tests of the tools' definitions."""


class ImpatientClock(SystemClock):
    """A clock of real time without waiting; `naps` records the requested waits."""

    def __init__(self) -> None:
        self.naps: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        await asyncio.sleep(0)


class FrozenClock(ImpatientClock):
    def now(self) -> datetime:
        return datetime(2026, 11, 21, 21, 37, tzinfo=UTC)

    def monotonic(self) -> float:
        return 0.0


class Receiver:
    def __init__(self) -> None:
        self.events: list[ev.Event] = []
        self._next = 0
        self._came = asyncio.Event()
        self.at_once: Callable[[ev.Event], object] = lambda _: None
        """Called with every event before the session continues."""

    def __call__(self, event: ev.Event) -> None:
        self.events.append(event)
        self._came.set()
        self.at_once(event)

    async def expect(self, kind: type[E] | tuple[type[E], ...], where: Callable[[E], bool] = lambda _: True) -> E:
        """Return the next event of this kind, or of one of these, skipping others; fail with the events received."""
        start = self._next
        try:
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    while self._next < len(self.events):
                        event = self.events[self._next]
                        self._next += 1
                        if isinstance(event, kind) and where(event):
                            return event
                    self._came.clear()
                    await self._came.wait()
        except TimeoutError:
            came = [(name, len(list(some))) for name, some in groupby(event.type for event in self.events[start:])]
            names = [one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,))]
            raise AssertionError(f"no {' or '.join(names)} came, but {came}") from None

    def pass_over(self) -> None:
        self._next = len(self.events)

    @property
    def recorded(self) -> list[ev.JournalEvent]:
        return [event for event in self.events if isinstance(event, ev.JournalEvent) and event.seq > 0]

    def all(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]


@dataclass(slots=True)
class Open:
    session: Session
    rx: Receiver
    provider: ScriptedProvider
    workspace: Path
    task: asyncio.Task[None]
    bench: Workbench
    transcript: Transcript = field(default_factory=Transcript)
    """The session's transcript before it was opened."""

    @property
    def id(self) -> SessionId:
        return self.session.id

    async def prompt(self, text: str = "go", *, answers: int = 0) -> ev.TurnEnded:
        """Submit a prompt, allow `answers` questions, and wait for the end of its turn."""
        submitted = await self.carry_out(ops.SubmitPrompt(text=text), ev.PromptSubmitted)
        for _ in range(answers):
            await self.answer()
        return await self.rx.expect(ev.TurnEnded, lambda event: event.turn == submitted.turn)

    def submit(self, op: ops.Op) -> None:
        self.session.submit(op)

    async def carry_out(
        self, op: ops.Op, kind: type[E] | tuple[type[E], ...], is_meant: Callable[[E], bool] = lambda _: True
    ) -> E:
        self.submit(op)
        return await self.rx.expect(kind, is_meant)

    async def begin(self, decision: Decision | None = None) -> ev.ApprovalRequested:
        self.submit(ops.SubmitPrompt(text="go"))
        return await self.answer(decision)

    async def turn(self, decision: Decision | None = None) -> ev.ApprovalRequested:
        asked = await self.begin(decision)
        await self.rx.expect(ev.TurnEnded)
        return asked

    async def answer(self, decision: Decision | None = None) -> ev.ApprovalRequested:
        asked = await self.rx.expect(ev.ApprovalRequested)
        self.submit(ops.AnswerApproval(call_id=asked.request.call_id, decision=decision or Allowed()))
        return asked

    async def undo(self, selection: ChangeSelection | None = None, *, reason: str = "") -> ev.ChangesUndone:
        """Undo these changes, or all of the agent's."""
        chosen = selection or ChangeSelection()
        op = ops.UndoChanges(selection=chosen, reason=reason, includes_others=bool(chosen.change_ids))
        return await self.carry_out(op, ev.ChangesUndone)

    async def redo(self, selection: ChangeSelection) -> ev.ChangesRedone:
        return await self.carry_out(ops.RedoChanges(selection=selection), ev.ChangesRedone)

    async def redo_step(self) -> ev.ChangesRedone:
        return await self.carry_out(ops.RedoSteps(), ev.ChangesRedone)

    async def close(self) -> None:
        self.submit(ops.Shutdown())
        await self.task

    @property
    def last_request(self) -> ModelRequest:
        return self.provider.requests[-1]

    def results(self) -> list[ToolResultBlock]:
        message = self.last_request.messages[-1]
        assert isinstance(message, UserMessage)
        return [block for block in message.content if isinstance(block, ToolResultBlock)]


class Ground:
    def __init__(self, folder: Path) -> None:
        self.paths = AppPaths(folder / "config", folder / "data", folder / "cache", folder / "logs")
        self.workspace = folder / "workspace"
        self.workspace.mkdir(parents=True, exist_ok=True)
        self.clock: ImpatientClock = ImpatientClock()
        self.settings = Settings()
        self.live: LiveSettings | None = None
        self.probe: SandboxProbe | None = None
        self.services: Services | None = None
        self.extra_tools: tuple[AnyTool, ...] = ()
        """Tools besides the real ones, or replacing real ones of the same name."""

    def write(self, path: str, content: str | bytes) -> Path:
        target = self.workspace / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target

    def blob(self, image: FileImage | None) -> bytes:
        assert image is not None
        return Blobs(self.paths.blobs).get(image.digest)

    def journal(self, session_id: SessionId) -> Path:
        return self.paths.sessions / session_id / "journal.jsonl"

    def cut_journal(self, session_id: SessionId, kind: str, *, keeps_it: bool) -> None:
        """Leave what a process had written that died before, or right after, its first record of this kind."""
        lines = self.journal(session_id).read_bytes().splitlines(keepends=True)
        at = next(index for index, line in enumerate(lines) if f'"type":"{kind}"'.encode() in line)
        self.journal(session_id).write_bytes(b"".join(lines[: at + keeps_it]))

    def read(self, path: str) -> str:
        return (self.workspace / path).read_bytes().decode()

    def bench(self, provider: Provider, provider_source: ProviderSource | None = None) -> Workbench:
        async def only(_model: ModelRef) -> Provider:
            return provider

        source = provider_source or only
        return Workbench(
            self.paths,
            self.live or self.settings,
            clock=self.clock,
            provider_source=source,
            tools=self.tools(),
            probe=self.probe,
            services=self.services,
        )

    def tools(self) -> tuple[AnyTool, ...]:
        replaced = {tool.name for tool in self.extra_tools}

        def longest_command_s() -> float | None:
            return (self.live.current if self.live else self.settings).execution.timeout_seconds

        builtin = builtin_tools(self.paths.cache, longest_command_s=longest_command_s)
        builtin = (tool for tool in builtin if tool.name not in replaced)
        return (*builtin, *self.extra_tools)

    @asynccontextmanager
    async def session(
        self,
        script: Script | Iterable[Reply],
        *,
        model: ModelRef = MODEL,
        approval: ApprovalPolicy = "on_write",
        sandbox: SandboxMode = "restricted",
        resume: SessionId | None = None,
        rules: CallRules | None = None,
        limits: TurnLimits | None = None,
        provider: Provider | None = None,
        provider_source: ProviderSource | None = None,
        is_attended: bool = True,
    ) -> AsyncGenerator[Open]:
        """Open a session whose model follows `script`, or is asked of `provider`; it is shut down at the end."""
        scripted = ScriptedProvider(script if callable(script) else in_order(script), clock=self.clock)
        bench = self.bench(provider or scripted, provider_source)
        scripted = provider if isinstance(provider, ScriptedProvider) else scripted
        rx = Receiver()
        transcript = Transcript()
        if resume is None:
            session = await bench.create_session(
                self.workspace, sink=rx, model=model, approval=approval, sandbox=sandbox, rules=rules, limits=limits
            )
        else:
            opened = await bench.open_session(resume, sink=rx, rules=rules, limits=limits, is_attended=is_attended)
            session, transcript = opened.session, opened.transcript
        task = asyncio.create_task(session.run(), name="session")
        running = Open(session, rx, scripted, self.workspace, task, bench, transcript)
        try:
            yield running
        finally:
            session.submit(ops.Shutdown())
            await task

    @asynccontextmanager
    async def after(self, *turns: Reply) -> AsyncGenerator[Open]:
        """Open a session in which the agent has made these calls, turn by turn, without a question."""
        script = [reply for calls in turns for reply in (calls, [Say("Done.")])]
        async with self.session(script, approval="never") as running:
            for _ in turns:
                await running.prompt()
            yield running


def left_alone(event: ev.ChangesUndone | ev.ChangesRedone) -> list[FileOutcome]:
    return [outcome for outcome in event.outcomes if not outcome.is_done]


def with_lines_changed(lines: Sequence[str], /, **changed: str) -> str:
    r"""Return the lines with some of them replaced: `line_5="five\n"`."""
    return "".join(changed.get(f"line_{number}", line) for number, line in enumerate(lines))


def check_conversation(request: ModelRequest) -> None:
    assert request.messages
    check_messages(request.messages)


def check_messages(messages: Sequence[Message]) -> None:
    """Check the rules of all providers."""
    assert not messages or messages[0].role == "user"
    for before, after in pairwise(messages):
        assert before.role != after.role, "roles alternate"
    for index, message in enumerate(messages):
        assert message.content, "no message is empty"
        if isinstance(message, AssistantMessage):
            calls = [block.id for block in message.content if isinstance(block, ToolUseBlock)]
            following = messages[index + 1].content if index + 1 < len(messages) else ()
            answers = [block.call_id for block in following if isinstance(block, ToolResultBlock)]
            assert answers == calls, "every call is answered once, in order, in the next message"
            assert all(isinstance(block, ToolResultBlock) for block in following[: len(calls)])
            assert len(set(calls)) == len(calls)
