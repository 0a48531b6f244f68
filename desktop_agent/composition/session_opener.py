"""Opens the sessions of one data folder: new ones, stored ones, and those that another process writes."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.composition.application import Application
from desktop_agent.composition.session_context import SessionContext, SessionOptions, sweep_folders
from desktop_agent.composition.stored_sessions import OpenedSession, ViewedSession
from desktop_agent.composition.subagent_sessions import subagents_of
from desktop_agent.core.base.errors import AccountGoneError, AgentError, StorageError, UsageError
from desktop_agent.core.base.ids import SessionId, new_session_id
from desktop_agent.core.base.package import __version__
from desktop_agent.core.models.known_model import effort_meant
from desktop_agent.core.models.vendors import known_vendor, usual_model
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import FolderIdentity, ModelRef, WorktreeOrigin
from desktop_agent.core.session.failure_notices import NO_ACCOUNT, notice_of
from desktop_agent.core.session.recorder import SessionState, Sink
from desktop_agent.core.session.resume import ReplayState, resume_beside, show_end
from desktop_agent.core.session.session import Session
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.records import Follower, Yielder
from desktop_agent.core.store.session_upkeep import NEVER_WRITTEN, SessionStorage
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.core.system.processes.runner import Command, ProcessRunner
from desktop_agent.core.system.processes.shell import find_shell
from desktop_agent.core.system.workspace import identity_of, usable_workspace
from desktop_agent.core.transcript import NoticeEntry, Transcript
from desktop_agent.core.worktrees.bring_back import WorktreeOffer, begin
from desktop_agent.core.worktrees.worktrees import Worktree


def _require_workspace(resumed: ReplayState) -> None:
    """Raise `StorageError` if the journal's first line, which names the workspace, is lost."""
    if not resumed.events:
        raise StorageError(
            NEVER_WRITTEN, hint="Start a new one. `desktop-agent sessions verify --repair` removes this one."
        )
    if not Path(resumed.state.transcript.session.workspace).is_absolute():
        raise StorageError(
            "The session cannot be continued: the line of its journal that names its folder cannot be read.",
            hint="What was said and changed can still be shown. To go on, start a new session in the folder.",
        )


def _for_front(transcript: Transcript, path: Path, blobs: Blobs) -> Transcript:
    copy = transcript.copy()
    show_end(copy, path, blobs, yield_gil=Yielder())
    return copy


def _damage_notices(torn: Path | None, resumed: ReplayState) -> tuple[ev.Notice, ...]:
    notices: list[ev.Notice] = []
    if torn is not None:
        notices.append(
            ev.Notice(
                level="warning",
                code="torn_journal",
                title="The last record of this session was cut off when the application ended.",
                hint="Everything before that record is intact. The incomplete record was saved.",
                detail=str(torn),
            )
        )
    if resumed.damages:
        listed = "\n".join(f"line {damage.line}: {damage.reason}" for damage in resumed.damages)
        notices.append(
            ev.Notice(
                level="warning",
                code="damaged_journal",
                title=f"{resumed.damage_count} records of this session could not be read and were left out.",
                detail=listed,
            )
        )
    return tuple(notices)


class _Place(Struct, frozen=True):
    root: Path
    worktree: WorktreeOrigin | None = None
    notices: tuple[ev.Notice, ...] = ()


class SessionOpener:
    def __init__(self, app: Application) -> None:
        self._app = app
        self.started_early = app.started_early

    async def create(
        self, workspace: Path, sink: Sink, options: SessionOptions, *, is_attended: bool = True
    ) -> Session:
        """Start a session. Raises `WorkspaceError`, `UnsafeSettingsError` or `StorageError`.

        Raises `UsageError` when no model is named and only the server knows its models.
        """
        app, model = self._app, self._model_of(options)
        if model.is_agent and options.is_planning:
            raise UsageError(f"{model.name} cannot be kept to planning.", hint="Plan with a model, or in its own mode.")
        if not model.model:
            model = replace(model, model=usual_model(model.provider))
        root = await asyncio.to_thread(usable_workspace, workspace)
        await app.safe_in(root)
        now = app.clock.now()
        session_id = new_session_id(now)
        async with self._placed(session_id, root, options) as place:
            settings = await app.safe_in(place.root)
            system = await asyncio.to_thread(options.system_prompt, place.root, now)
            folder = await asyncio.to_thread(identity_of, place.root)
            opened = ev.SessionOpened(
                session_id=session_id,
                workspace=str(place.root),
                model=model,
                approval=options.approval or settings.current.execution.approval,
                sandbox=options.sandbox or settings.current.execution.sandbox,
                app_version=__version__,
                purpose=options.purpose,
                folder=folder,
                worktree=place.worktree,
                at=now,  # the system prompt names the day
            )
            mode = ev.ModeSet(model=model, approval=opened.approval, sandbox=opened.sandbox, is_planning=True)
            offer = options.brings_back
            offered = await asyncio.to_thread(offer.events, model, app.blobs) if offer is not None else ()
            storage = await asyncio.to_thread(SessionStorage.create, session_id, app.catalog, app.blobs)
            try:
                await asyncio.to_thread(sweep_folders, settings)
                context = SessionContext(
                    app,
                    storage,
                    SessionState(),
                    settings,
                    options,
                    folder=folder,
                    system=system,
                    opening=(opened, *((mode,) if options.is_planning else ()), *place.notices, *offered),
                    sink=sink,
                    is_attended=is_attended,
                )
                if isinstance(offer, WorktreeOffer):
                    await begin(app.worktrees, offer, session_id)
                return context.session(subagents_of)
            except BaseException:
                storage.discard(app.catalog)
                raise

    async def create_closed(self, workspace: Path, options: SessionOptions) -> SessionId:
        """Create a session, and close it once its first events are recorded. Raises what `create` raises."""
        session = await self.create(workspace, lambda _event: None, options)
        session.submit(ops.Shutdown())
        await session.run()
        return session.id

    @asynccontextmanager
    async def _placed(self, session_id: SessionId, root: Path, options: SessionOptions) -> AsyncGenerator[_Place]:
        """Yield where a new session works: in its folder, or in a worktree, which is removed if the block raises."""
        if options.worktree is None:
            yield _Place(root)
            return
        app = self._app
        worktree, said = await app.worktrees.make(root, options.worktree, session_id)
        try:
            await asyncio.to_thread(app.trust.carry_over, root, worktree.workspace)
            problem, output = await self._set_up(worktree, options.on_set_up)
            notice = ev.Notice(
                level="warning" if said or problem else "info",
                code="worktree",
                title=problem
                or f"This session works in the worktree {worktree.name}, on the branch {worktree.branch}.",
                hint=" ".join(said),
                detail=output,
            )
            yield _Place(worktree.workspace, worktree.origin, (notice,))
        except BaseException:
            await unhurried(app.worktrees.unmake(worktree))
            raise

    async def _set_up(self, worktree: Worktree, tell: Callable[[str], None] | None) -> tuple[str, str]:
        """Run the command that prepares a worktree. Return what went wrong, and the output."""
        settings = await self._app.safe_in(worktree.workspace)
        line = settings.current.execution.worktree_setup
        if not line:
            return "", ""
        environ = child_environment(self._app.environ, settings.current.execution.passed_variables)
        shell = await asyncio.to_thread(find_shell, environ, worktree.workspace)
        if shell is None:
            return "The worktree was not set up, because there is no shell.", line
        runner = ProcessRunner(self._app.clock)
        try:
            command = Command(argv=shell.argv(line), cwd=worktree.workspace, environ=environ)
            done = await runner.run(command, on_text=tell)
        finally:
            await runner.aclose()
        code, output = done.end.exit_code, f"$ {line}\n{done.output.head}{done.output.tail}"
        return (f"The command that sets up the worktree failed with code {code}." if code else ""), output

    async def open(
        self, session_id: SessionId, sink: Sink, options: SessionOptions | None = None, *, is_attended: bool = True
    ) -> OpenedSession:
        """Lock a session, and open it to continue. The rules and limits of the options apply.

        The first events are notices of a missing account or unreadable records. Raises `SessionNotFoundError`,
        `SessionBusyError` or `StorageError`.
        """
        app, options = self._app, options or SessionOptions()
        storage, torn = await asyncio.to_thread(SessionStorage.open, session_id, app.catalog, app.blobs)
        try:
            path = app.catalog.journal_path(session_id)
            resumed = await resume_beside(path, app.blobs)
            _require_workspace(resumed)
            transcript = await asyncio.to_thread(_for_front, resumed.state.transcript, path, app.blobs)
            session = resumed.state.transcript.session
            root = Path(session.workspace)
            settings = app.settings_in(root)
            await settings.refresh()
            if session.instructions:
                options = replace(options, instructions=f"{session.instructions}\n\n{options.instructions}".strip())
            system = await asyncio.to_thread(options.system_prompt, root, session.opened_at)
            gone = await self._notices_of(options, resumed.state.transcript)
            accepted = await _accepted(root, session.folder) if options.accepts_folder else ()
            await asyncio.to_thread(sweep_folders, settings)
            context = SessionContext(
                app,
                storage,
                resumed.state,
                settings,
                options,
                folder=accepted[0].folder if accepted else session.folder,
                system=system,
                opening=(*accepted, *_damage_notices(torn, resumed), *gone),
                sink=sink,
                is_attended=is_attended,
            )
            return OpenedSession(context.session(subagents_of), transcript)
        except BaseException:
            storage.close()
            raise

    async def open_unattended(
        self,
        workspace: Path,
        resumed: SessionId | None,
        options: SessionOptions,
        sink: Sink,
        *,
        is_attended: bool = False,
    ) -> OpenedSession:
        """Start a session in `workspace`, or resume one in its own folder, in the modes of the options.

        Unless it `is_attended`, nobody is asked about more spending, and earlier questions are not asked again. Raises
        like `create` and `open`.
        """
        if resumed is None:
            model = self._model_of(options)
            await self._require_account(model)
            if model.is_agent:
                await self._app.agent_meant(model.model, await asyncio.to_thread(usable_workspace, workspace))
            options = replace(options, model=await self._with_known_effort(model, options.named.effort))
            return OpenedSession(await self.create(workspace, sink, options, is_attended=is_attended), Transcript())
        opened = await self.open(resumed, sink, options, is_attended=is_attended)
        is_named = options.model is not None or not options.named.is_nothing
        model = self._model_of(options, opened.session.transcript.session.model) if is_named else None
        if model is not None:
            model = await self._with_known_effort(model, options.named.effort)
        mode = ops.SetMode(
            model=model, approval=options.approval, sandbox=options.sandbox, is_planning=options.is_planning
        )
        is_planning = opened.session.transcript.session.is_planning
        if replace(mode, is_planning=None) != ops.SetMode() or options.is_planning not in (None, is_planning):
            opened.session.submit(mode)
        return opened

    async def view(self, session_id: SessionId, sink: Sink) -> ViewedSession:
        """Open a session only to read it. Raises `SessionNotFoundError` or `StorageError`."""
        path = await asyncio.to_thread(self._app.catalog.journal_path, session_id)
        follower = Follower(path, self._app.blobs)
        return ViewedSession(
            session_id,
            await asyncio.to_thread(follower.read),
            follower=follower,
            folder=path.parent,
            clock=self._app.clock,
            sink=sink,
            take_over=partial(self.open, session_id),
        )

    # -- the model that is meant; no network is asked --

    def _model_of(self, options: SessionOptions, before: ModelRef | None = None) -> ModelRef:
        return options.model or self._app.model_meant(options.named, before)

    async def _with_known_effort(self, model: ModelRef, effort: str | None) -> ModelRef:
        """Return the model, with the effort if one was named. Raises `UsageError` for a level that it does not know."""
        if effort is None:
            return model
        known = await self._app.known_model(model)
        if known is None:
            raise UsageError(f"The effort of {model.shown} cannot be set.")
        return replace(model, effort=effort_meant(effort, known))

    async def _require_account(self, model: ModelRef) -> None:
        try:
            await self._look_for_account(model)
        except AccountGoneError as error:
            raise UsageError(error.title, hint=error.hint) from error

    async def _notices_of(self, options: SessionOptions, transcript: Transcript) -> tuple[ev.Notice, ...]:
        model = self._model_of(options, transcript.session.model)
        if options.named.account is not None:
            await self._require_account(model)
        await self._with_known_effort(model, options.named.effort)
        last = transcript.entries[-1] if transcript.entries else None
        try:
            await self._look_for_account(model)
        except AgentError as error:
            is_said = isinstance(last, NoticeEntry) and last.notice.code == NO_ACCOUNT
            return () if is_said else (replace(notice_of(error, None), level="warning"),)  # nothing has failed yet
        return ()

    async def _look_for_account(self, model: ModelRef) -> None:
        if model.account and known_vendor(model.provider) is not None:
            (await asyncio.to_thread(self._app.accounts.load)).of_model(model)


async def _accepted(root: Path, known: FolderIdentity | None) -> tuple[ev.FolderAccepted, ...]:
    folder = await asyncio.to_thread(identity_of, root)
    if folder is None or (known is not None and known.is_same(folder)):
        return ()
    return (ev.FolderAccepted(folder=folder),)
