"""Opens the sessions of one data folder: new ones, those on the disk, and those that another process writes.

A resumed session is locked and read from its journal; which records were lost is said.
"""

import asyncio
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.composition.assembly import assemble
from desktop_agent.composition.session_plan import (
    SessionModels,
    SessionOptions,
    SessionPlan,
    SessionStorage,
    sweep_folders,
)
from desktop_agent.composition.shared_parts import SharedParts, UserSettings
from desktop_agent.composition.stored_sessions import OpenedSession, ViewedSession
from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import SessionId, new_session_id
from desktop_agent.core.base.package import __version__
from desktop_agent.core.models.vendors import usual_model
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import FolderIdentity
from desktop_agent.core.session.recorder import Sink
from desktop_agent.core.session.resume import ReplayState, resume_beside, show_end
from desktop_agent.core.session.session import Session
from desktop_agent.core.session.session_state import SessionState
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.store.journal.records import Yielder
from desktop_agent.core.store.session_upkeep import NEVER_WRITTEN
from desktop_agent.core.system.workspace import identity_of, usable_workspace
from desktop_agent.core.transcript import Transcript


class Resumption(Struct, frozen=True):
    """A session as it was left, held for writing."""

    storage: SessionStorage
    state: SessionState
    transcript: Transcript
    """A copy for the front end, with the end of a long session in it."""
    notices: tuple[ev.Notice, ...]
    """What of it could not be read."""


async def take_up(session_id: SessionId, catalog: Catalog, blobs: Blobs) -> Resumption:
    """Lock a session and read it. Raises `SessionNotFoundError`, `SessionBusyError` or `StorageError`."""
    storage, torn = await asyncio.to_thread(SessionStorage.open, session_id, catalog, blobs)
    try:
        path = catalog.journal_path(session_id)
        resumed = await resume_beside(path, blobs)
        state = _checked(resumed)
        transcript = await asyncio.to_thread(_for_front, state, path, blobs)
    except BaseException:
        storage.close()
        raise
    return Resumption(storage, state, transcript, _damage_notices(torn, resumed))


def _for_front(state: SessionState, path: Path, blobs: Blobs) -> Transcript:
    transcript = state.transcript.copy()
    show_end(transcript, path, blobs, yield_gil=Yielder())
    return transcript


def _checked(resumed: ReplayState) -> SessionState:
    """Return the state that a journal comes to.

    Raises `StorageError` when it does not say where to work: only the first line does, and nothing is guessed.
    """
    if not resumed.events:
        raise StorageError(
            NEVER_WRITTEN,
            hint="Start a new one. `desktop-agent sessions verify --repair` removes this one.",
        )
    state = resumed.state
    if not Path(state.transcript.session.workspace).is_absolute():
        raise StorageError(
            "The session cannot be continued: the line of its journal that names its folder cannot be read.",
            hint="What was said and changed can still be shown. To go on, start a new session in the folder.",
        )
    return state


def _damage_notices(torn: Path | None, resumed: ReplayState) -> tuple[ev.Notice, ...]:
    notices: list[ev.Notice] = []
    if torn is not None:
        notices.append(
            ev.Notice(
                level="warning",
                code="torn_journal",
                title="The last record of this session was cut off when the application ended.",
                hint="Everything before it is here. What remained of it was kept.",
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


class SessionOpener:
    """Makes each session from the parts that all share, with the settings in force in its workspace."""

    def __init__(self, shared: SharedParts, settings: UserSettings) -> None:
        self._shared = shared
        self._settings = settings
        self._models = SessionModels(shared, settings)

    async def create(
        self, workspace: Path, sink: Sink, options: SessionOptions, *, is_attended: bool = True
    ) -> Session:
        """Start a session. Raises `WorkspaceError`, `UnsafeSettingsError` or `StorageError`.

        Raises `UsageError` when no model is named, and only the server knows which there are.
        """
        shared, model = self._shared, self._models.model_of(options)
        if not model.model:
            model = replace(model, model=usual_model(model.provider))
        root = await asyncio.to_thread(usable_workspace, workspace)
        settings = await self._settings.safe_in(root)
        now = shared.clock.now()
        system = await asyncio.to_thread(options.system_prompt, root, now)
        folder = await asyncio.to_thread(identity_of, root)
        session_id = new_session_id(now)
        storage = await asyncio.to_thread(SessionStorage.create, session_id, shared.catalog, shared.blobs)
        opened = ev.SessionOpened(
            session_id=session_id,
            workspace=str(root),
            model=model,
            approval=options.approval or settings.current.execution.approval,
            sandbox=options.sandbox or settings.current.execution.sandbox,
            app_version=__version__,
            purpose=options.purpose,
            folder=folder,
            at=now,  # the system prompt names the day
        )
        plan = SessionPlan(
            storage=storage,
            state=SessionState(),
            root=root,
            folder=folder,
            system=system,
            opening=(opened,),
            sink=sink,
            settings=settings,
            rules=options.rules,
            limits=options.limits,
            is_attended=is_attended,
        )
        try:
            await asyncio.to_thread(sweep_folders, plan)
            return assemble(shared, plan)
        except BaseException:
            storage.discard(shared.catalog)
            raise

    async def open(
        self, session_id: SessionId, sink: Sink, options: SessionOptions | None = None, *, is_attended: bool = True
    ) -> OpenedSession:
        """Open a session to go on with it, as it was; the rules and limits of the options hold.

        Says first if its account is not there any more.

        Raises `SessionNotFoundError`, `SessionBusyError` or `StorageError`.
        """
        shared, options = self._shared, options or SessionOptions()
        taken = await take_up(session_id, shared.catalog, shared.blobs)
        try:
            root = Path(taken.state.transcript.session.workspace)
            settings = self._settings.settings_in(root)
            await settings.refresh()
            system = await asyncio.to_thread(options.system_prompt, root, taken.state.transcript.session.opened_at)
            gone = await self._models.notices_of(options, taken.state.transcript)
            folder = taken.state.transcript.session.folder
            accepted = await _accepted(root, folder) if options.accepts_folder else ()
            plan = SessionPlan(
                storage=taken.storage,
                state=taken.state,
                root=root,
                folder=accepted[0].folder if accepted else folder,
                system=system,
                opening=(*accepted, *taken.notices, *gone),
                sink=sink,
                settings=settings,
                rules=options.rules,
                limits=options.limits,
                is_attended=is_attended,
            )
            await asyncio.to_thread(sweep_folders, plan)
            return OpenedSession(assemble(shared, plan), taken.transcript)
        except BaseException:
            taken.storage.close()
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
        """Start a session in `workspace`, or go on with the `resumed` one in its own, in the modes of the options.

        Unless it `is_attended`, whether to spend more is not asked, nor what an earlier process asked.

        Raises what `create` and `open` raise, and `UsageError` for an account that is not there.
        """
        if resumed is None:
            model = self._models.model_of(options)
            await self._models.require_account(model)
            options = replace(options, model=await self._models.with_known_effort(model, options.named.effort))
            return OpenedSession(await self.create(workspace, sink, options, is_attended=is_attended), Transcript())
        opened = await self.open(resumed, sink, options, is_attended=is_attended)
        is_named = options.model is not None or not options.named.is_nothing
        model = self._models.model_of(options, opened.session.transcript.session.model) if is_named else None
        if model is not None:
            model = await self._models.with_known_effort(model, options.named.effort)
        if (model, options.approval, options.sandbox) != (None, None, None):
            opened.session.submit(ops.SetMode(model=model, approval=options.approval, sandbox=options.sandbox))
        return opened

    async def view(self, session_id: SessionId, sink: Sink) -> ViewedSession:
        """Open a session only to read it. Raises `SessionNotFoundError` or `StorageError`."""
        path = await asyncio.to_thread(self._shared.catalog.journal_path, session_id)
        return await ViewedSession.open(session_id, path, self._shared, sink, partial(self.open, session_id))


async def _accepted(root: Path, known: FolderIdentity | None) -> tuple[ev.FolderAccepted, ...]:
    """Return the record that the user accepts the folder at `root`; nothing if it is already on record."""
    folder = await asyncio.to_thread(identity_of, root)
    if folder is None or (known is not None and known.is_same(folder)):
        return ()
    return (ev.FolderAccepted(folder=folder),)
