"""One session in one folder, as a program drives it: prompts in, results and events out."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar, cast, overload

from desktop_agent.composition.session_context import SessionOptions
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.file_names import real_path_named
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.models.vendors import DEMO, PROVIDER_IDS
from desktop_agent.core.protocol import events, ops
from desktop_agent.core.protocol.events import Event
from desktop_agent.core.protocol.model import ApprovalPolicy, ModelRef, SandboxMode, SessionSummary
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.session.session import Session
from desktop_agent.core.session.spending import TurnLimits
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.system.private_files import close_to_others
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.core.tools.access import CallRules, ToolRegistry
from desktop_agent.core.tools.builtin import AnyTool, builtin_tools
from desktop_agent.core.tools.function_tool import Function, tool
from desktop_agent.core.tools.tool import Tool
from desktop_agent.core.transcript import Transcript
from desktop_agent.core.worktrees.worktrees import NewWorktree
from desktop_agent.library.results import (
    InvalidOutputError,
    OutputSchema,
    Result,
    StructuredResult,
    combined,
    with_output,
)
from desktop_agent.library.turns import (
    BUSY_HINT,
    BUSY_TITLE,
    Approver,
    Changes,
    OpenQuestions,
    RunningTurn,
    ServedSession,
)


def workbench_of(
    home: Path | str | None, settings: Settings | None, provider: Provider | None, tools: Sequence[AnyTool | Function]
) -> Workbench:
    environ = os.environ if home is None else {**os.environ, "DESKTOP_AGENT_HOME": str(Path(home).expanduser())}
    paths = AppPaths.from_environment(environ)
    live = LiveSettings(settings) if settings is not None else LiveSettings.load(paths.settings_file(environ), environ)
    own = [cast("AnyTool", one) if isinstance(one, Tool) else tool(one) for one in tools]
    built_in = builtin_tools(paths.cache, longest_command_s=lambda: live.current.execution.timeout_seconds)
    try:
        every = tuple(ToolRegistry((*built_in, *own)))
    except ValueError as error:
        raise UsageError(f"The tools cannot be used: {error}.", hint="Give each its own name.") from error

    async def only_this(_model: ModelRef) -> Provider:
        assert provider is not None
        return provider

    close_to_others(paths.roots)
    source = only_this if provider is not None else None
    return Workbench(paths, live, environ=environ, provider_source=source, tools=every)


def absolute_path(path: Path | str) -> str:
    return str(real_path_named(str(path)).expanduser().absolute())


def model_meant(model: ModelRef | str | None, bench: Workbench, *, has_provider: bool) -> ModelRef | None:
    """`None` leaves the choice to the settings or the session."""
    if not isinstance(model, str):
        return model or (ModelRef(provider="own", model="own") if has_provider else None)
    if model == DEMO:
        return bench.model_meant(NamedModel(provider=DEMO))
    provider, slash, name = model.partition("/")
    if slash and provider in PROVIDER_IDS:
        return bench.model_meant(NamedModel(provider=provider, model=name))
    return bench.model_meant(NamedModel(model=model))


T = TypeVar("T")

_STEPS_TO_CLOSE = 3


class Agent:
    """One session in one folder. Open it with `async with`; make all calls from the loop that opened it."""

    def __init__(
        self,
        workspace: Path | str = ".",
        *,
        resume: SessionId = "",
        model: ModelRef | str | None = None,
        agent: str | None = None,
        provider: Provider | None = None,
        approve: Approver | None = None,
        approval: ApprovalPolicy | None = None,
        sandbox: SandboxMode | None = None,
        tools: Sequence[AnyTool | Function] = (),
        rules: CallRules | None = None,
        limits: TurnLimits | None = None,
        settings: Settings | None = None,
        home: Path | str | None = None,
        on_event: Callable[[Event], None] | None = None,
        accept_folder: bool = False,
        worktree: NewWorktree | None = None,
    ) -> None:
        """Read the settings, and open nothing yet. Missing options come from the settings.

        `resume` is the id of a session, or its beginning or end; the session continues in its own folder. `model` is
        `"demo"`, `"PROVIDER/NAME"` or the name of a model. Instead of one, `agent` is an agent of another program, by
        its name or command line, or `provider` answers instead of the known providers. `approve` is asked about calls
        that need an approval; without it, they are denied. `tools` are added to the built-in ones. `home` is the folder
        of settings, sessions and logs; `settings` replace those of the file. `on_event` receives every event, in order;
        it must not block or raise. With `accept_folder`, a resumed session continues in another folder at its path. A
        new session gets the `worktree`, a git worktree made from `workspace`, to work in.

        Raises `TypeError` for a function that cannot be a tool, and `UsageError` for two tools with the same name, or
        an agent beside a model.
        """
        self._workspace = Path(workspace).expanduser()
        self._resume = resume
        self._bench = workbench_of(home, settings, provider, tools)
        if agent is not None and (model is not None or provider is not None):
            raise UsageError("A session takes an agent, a model or a provider, and only one of them.")
        chosen = model_meant(model, self._bench, has_provider=provider is not None)
        if agent is not None:
            chosen = self._bench.model_meant(NamedModel.of_agent(agent))
        self._options = SessionOptions(
            model=chosen,
            approval=approval,
            sandbox=sandbox,
            rules=rules,
            limits=limits,
            accepts_folder=accept_folder,
            worktree=worktree,
        )
        self._on_event = on_event
        self._served = ServedSession(self._bench.blobs, self._on_end)
        self._questions = OpenQuestions(approve, self._served.submit)
        self._turn: RunningTurn | None = None

    # -- opening and closing --

    async def __aenter__(self) -> "Agent":
        """Open the session. Raises `AgentError` as `Workbench` does; then nothing is left open."""
        if self._served.is_begun:
            raise UsageError("This agent was opened before.", hint="Make a new one; `resume` continues a session.")
        resumed = await asyncio.to_thread(self._bench.catalog.find, self._resume) if self._resume else None
        opened = await self._bench.opener.open_unattended(self._workspace, resumed, self._options, self._hear)
        try:
            await self._served.begin(opened.session)
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the session with its running turn, commands and lock, even if cancelled meanwhile. Safe to repeat."""
        try:
            await self._served.aclose()
        finally:
            await self._questions.aclose()

    @staticmethod
    async def list_sessions(home: Path | str | None = None) -> tuple[SessionSummary, ...]:
        """Return all conversations, most recently used first, including those that another program has open."""
        catalog = workbench_of(home, None, None, ()).catalog
        return tuple(summary for summary in await asyncio.to_thread(catalog.summaries) if summary.is_listed)

    # -- asking --

    @overload
    async def run(self, prompt: str, *, include: Sequence[Path | str] = ()) -> Result: ...
    @overload
    async def run(self, prompt: str, *, include: Sequence[Path | str] = (), output: type[T]) -> StructuredResult[T]: ...
    @overload
    async def run(
        self, prompt: str, *, include: Sequence[Path | str] = (), output: Mapping[str, object]
    ) -> StructuredResult[object]: ...
    async def run(self, prompt: str, *, include: Sequence[Path | str] = (), output: object = None) -> Result:
        """Run one turn to its end and return its result. Cancelling stops the turn; the session stays usable.

        The model reads the files to `include`, texts and pictures, wherever they are. With `output`, a type or a JSON
        Schema, the answer is such a value: an invalid answer is corrected in up to two more turns.

        Raises `RunFailedError` (with the `result` so far) when the model, the disk or the folder failed; its subclass
        `InvalidOutputError` without a valid answer; `UsageError` while another turn runs; another `AgentError` when the
        prompt was not taken; any exception of `approve`; and `TypeError` for an `output` that JSON cannot express.
        """
        if output is None:
            return await self._run_turn(prompt, include)
        wanted = await asyncio.to_thread(OutputSchema.of, output)
        transcript = self.transcript
        results = [await self._run_turn(f"{prompt}\n\n{wanted.instructions}", include)]
        mistake = await wanted.correct(transcript, results, self._run_turn)
        if mistake:
            raise InvalidOutputError(combined(results), mistake)
        return with_output(combined(results), wanted.value_in(transcript, results[-1].turn))

    async def _run_turn(self, prompt: str, include: Sequence[Path | str] = ()) -> Result:
        turn: RunningTurn | None = None
        async for _event in self.stream(prompt, include=include):
            turn = self._turn
        assert turn is not None
        return turn.result()

    async def stream(self, prompt: str, *, include: Sequence[Path | str] = ()) -> AsyncGenerator[Event]:
        """Run one turn and yield its events, `TurnEnded` last. Raises like `run`, at the end.

        Closing the iterator early, or cancelling the task that iterates, stops the turn.
        """
        session = await self._ready_session()
        self._questions.failure = None
        turn = self._turn = RunningTurn(session.id, prompt, self._served.submit)
        session.submit(ops.SubmitPrompt(text=prompt, include=tuple(map(absolute_path, include))))
        try:
            async for event in turn.events():
                yield event
        finally:
            if not turn.is_over:
                turn.is_abandoned = True
                session.submit(ops.Interrupt())
                await unhurried(turn.over)
        turn.raise_failure()

    def interrupt(self) -> None:
        """Stop the running turn, if any; `run` returns with the reason `interrupted`."""
        self._served.submit(ops.Interrupt())

    def steer(self, text: str, *, include: Sequence[Path | str] = ()) -> None:
        """Send this message to the running turn before its next request to the model; `Steered` confirms it.

        If the turn ends before, the message starts the next turn. Raises `UsageError` when no turn runs.
        """
        if not self.transcript.turns.is_running:
            raise UsageError("No turn is running.", hint="Start one with `run()`.")
        self._served.submit(ops.Steer(text=text, include=tuple(map(absolute_path, include))))

    def submit(self, op: ops.Op) -> None:
        """Submit any other op to the session. Returns at once; `on_event` receives the outcome."""
        self._served.require_open()
        self._served.submit(op)

    async def _ready_session(self) -> Session:
        session = self._served.require_open()
        if self._turn is not None and not self._turn.is_over:
            for _ in range(_STEPS_TO_CLOSE):
                await asyncio.sleep(0)
            if self._turn.is_abandoned:
                await asyncio.wait([self._turn.over])
        if session.transcript.turns.is_running or (self._turn is not None and not self._turn.is_over):
            raise UsageError(BUSY_TITLE, hint=BUSY_HINT)
        return session

    # -- what there is --

    @property
    def id(self) -> SessionId:
        """The id of the session, for `resume`."""
        return self._served.require_open().id

    @property
    def changes(self) -> Changes:
        """The session's changes: listed, shown, undone and redone."""
        return self._served.changes

    @property
    def workbench(self) -> Workbench:
        """The workbench, which opens, lists, searches and files sessions."""
        return self._bench

    @property
    def settings(self) -> Settings:
        """The settings in force in the folder."""
        return self._bench.settings_in(Path(self.transcript.session.workspace)).current

    async def change_setting(self, key: str, value: object) -> None:
        """Change one of the user's settings, from the next step on. Raises `UsageError` with the allowed values."""
        await self._bench.live.change(key, value)

    @property
    def transcript(self) -> Transcript:
        """The session as a user would read it. Read only; it follows the events."""
        return self._served.require_open().transcript

    # -- between the session and this --

    def _hear(self, event: Event) -> None:
        self._questions.hear(event)
        if self._turn is not None:
            if isinstance(event, events.TurnEnded) and not self._turn.is_over:
                self._turn.note_failure(self._questions.failure)
            self._turn.hear(event)
        self._served.hear(event)
        if self._on_event is not None:
            self._on_event(event)

    def _on_end(self, reason: Exception) -> None:
        if self._turn is not None and not self._turn.is_over:
            self._turn.fail(reason)
