"""What makes one session different from the others: its files, its state, its workspace, its model, who listens to it.

The settings in force are asked for at each use, because they may have changed.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.composition.shared_parts import SharedParts, UserSettings
from desktop_agent.core.base.errors import AccountGoneError, AgentError, StorageError, UsageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.mount_stand_ins import sweep
from desktop_agent.core.capture.safety import SafetyLimits
from desktop_agent.core.context.packing import system_prompt
from desktop_agent.core.mcp.definition_file import Definitions, read_definitions
from desktop_agent.core.models.known_model import effort_meant
from desktop_agent.core.models.vendors import known_vendor
from desktop_agent.core.policy.boundary import Boundary
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ApprovalPolicy, FolderIdentity, ModelRef, SandboxMode, SessionPurpose
from desktop_agent.core.sandbox.guarded import places_of_stand_ins
from desktop_agent.core.session.failure_notices import NO_ACCOUNT, notice_of
from desktop_agent.core.session.recorder import Sink
from desktop_agent.core.session.session_state import SessionState
from desktop_agent.core.session.spending import TurnLimits
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.store.journal.journal import JOURNAL_NAME, Journal
from desktop_agent.core.store.session_folder import SessionLock
from desktop_agent.core.store.session_upkeep import discard_session
from desktop_agent.core.system.processes.cgroup import CommandLimits
from desktop_agent.core.tools.access import ROLES, CallRules
from desktop_agent.core.transcript import NoticeEntry, Transcript

ALL_SERVERS = "mcp://local"
"""What `mcp.servers` says for every server that is defined."""


def allowed_folders(settings: WorkspaceSettings) -> tuple[Path, ...]:
    """Return the folders beside the workspace that calls may write."""
    return tuple(map(Path, settings.current.execution.allowed_paths))


def boundary_in_force(settings: WorkspaceSettings, root: Path, guarded: tuple[Path, ...]) -> Callable[[], Boundary]:
    """Return what gives the boundary of calls in `root`; it is made anew only when the settings changed."""

    @lru_cache(maxsize=1)
    def build(allowed: tuple[Path, ...]) -> Boundary:
        return Boundary(root, allowed, guarded=guarded)

    return lambda: build(allowed_folders(settings))


def visible_folders(settings: WorkspaceSettings) -> tuple[Path, ...]:
    """Return what confined commands may read of the home folder."""
    return tuple(map(Path, settings.current.execution.home_visible))


def passed_variables(settings: WorkspaceSettings) -> tuple[str, ...]:
    """Return the names of the environment variables that reach commands though they lead out of the sandbox."""
    return settings.current.execution.passed_variables


def wanted_servers(settings: WorkspaceSettings) -> Definitions:
    mcp = settings.current.mcp
    if not mcp.enable:
        return Definitions()
    found = read_definitions(settings.loaded.tables)
    used = tuple(
        server
        for server in found.servers
        if server.is_enabled and (ALL_SERVERS in mcp.servers or server.name in mcp.servers)
    )
    return Definitions(servers=used, problems=found.problems)


def command_limits(settings: WorkspaceSettings) -> CommandLimits:
    """Return what a command may use of the machine."""
    execution = settings.current.execution
    gib = execution.max_memory_gib
    return CommandLimits(
        max_processes=execution.max_processes,
        max_memory_bytes=None if gib is None else int(gib * 2**30),
        max_open_files=execution.max_open_files,
    )


def safety_limits(settings: WorkspaceSettings) -> SafetyLimits:
    """Return how much is copied before a command that may destroy it."""
    copied, captured = settings.current.safety_copy, settings.current.capture
    return SafetyLimits(
        max_files=copied.max_files,
        max_bytes=copied.max_mib * 2**20,
        ignored_folders=frozenset(captured.ignored_folders),
        max_captured_bytes=captured.max_file_bytes,
    )


class SessionStorage(Struct, frozen=True):
    """The files of one session, held for writing."""

    session_id: SessionId
    lock: SessionLock
    journal: Journal

    @classmethod
    def create(cls, session_id: SessionId, catalog: Catalog, blobs: Blobs) -> "SessionStorage":
        """Make the files of a new session. Blocks. Raises `StorageError`."""
        folder = catalog.session_folder(session_id)
        journal = Journal.create(folder / JOURNAL_NAME, blobs)
        try:
            return cls(session_id, SessionLock(folder), journal)
        except BaseException:
            journal.close()
            discard_session(folder)
            raise

    @classmethod
    def open(cls, session_id: SessionId, catalog: Catalog, blobs: Blobs) -> "tuple[SessionStorage, Path | None]":
        """Lock a session and open its journal; also where a torn last record was put, if there was one. Blocks.

        Raises `SessionNotFoundError`, `SessionBusyError` or `StorageError`.
        """
        path = catalog.journal_path(session_id)
        lock = SessionLock(path.parent)
        try:
            journal, torn = Journal.open(path, blobs)
        except BaseException:
            lock.release()
            raise
        return cls(session_id, lock, journal), torn

    def close(self) -> None:
        self.journal.close()
        self.lock.release()

    def discard(self, catalog: Catalog) -> None:
        """Close a new session that was never written, and remove it. Blocks."""
        with suppress(StorageError):
            self.journal.close()
        self.lock.release()
        discard_session(catalog.session_folder(self.session_id))


class SessionOptions(Struct, frozen=True, kw_only=True):
    """What a front end may ask of a session when it opens it; what is None is as the settings say."""

    model: ModelRef | None = None
    named: NamedModel = NamedModel()
    """Some of a model, in place of all of it: in a session that goes on, the rest stays as it is."""
    approval: ApprovalPolicy | None = None
    sandbox: SandboxMode | None = None
    rules: CallRules | None = None
    limits: TurnLimits | None = None
    purpose: SessionPurpose = "conversation"
    instructions: str = ""
    """What the system prompt ends with, as long as the session is open."""
    accepts_folder: bool = False
    """Whether to go on in the folder that is there now, even if it is not the one that the session worked in."""

    def system_prompt(self, root: Path, opened_at: datetime) -> str:
        """Return the system prompt of a session in `root`. Blocks shortly: it reads shipped files."""
        role = ROLES[self.rules.role].instructions if self.rules is not None else ""
        return "\n\n".join(filter(None, (system_prompt(root, opened_at), role, self.instructions)))


class SessionPlan(Struct, frozen=True, kw_only=True):
    """What makes one session different from the others."""

    storage: SessionStorage
    state: SessionState
    root: Path
    """Its workspace, resolved."""
    folder: FolderIdentity | None
    """The identity of the folder that the session worked in, if it is known."""
    system: str
    opening: tuple[ev.KnownEvent, ...]
    sink: Sink
    settings: WorkspaceSettings
    """Those in force in its workspace, asked for by everything that acts when it acts."""
    rules: CallRules | None = None
    limits: TurnLimits | None = None
    is_attended: bool = True
    """Whether a user can answer the approval requests of an earlier process, and whether to spend more."""


def sweep_folders(plan: SessionPlan) -> None:
    """Remove what a sandbox of a killed process has left in the folders of a session. Blocks."""
    sweep(places_of_stand_ins((plan.root, *allowed_folders(plan.settings))))


class SessionModels:
    """Finds out what the options of a session mean. Asks no network."""

    def __init__(self, shared: SharedParts, settings: UserSettings) -> None:
        self._shared = shared
        self._settings = settings

    def model_of(self, options: SessionOptions, before: ModelRef | None = None) -> ModelRef:
        """Return the model that the options ask for; what they leave open is as `before`, or as the settings say."""
        return options.model or self._settings.model_meant(options.named, before)

    async def with_known_effort(self, model: ModelRef, effort: str | None) -> ModelRef:
        """Return the model with the effort that was named, if any. Raises `UsageError` for a level it does not know."""
        if effort is None:
            return model
        known = await self._shared.known_models.of(model)
        if known is None:
            raise UsageError(f"No effort can be asked of {model.provider}/{model.model}.")
        return replace(model, effort=effort_meant(effort, known))

    async def require_account(self, model: ModelRef) -> None:
        """Raise `UsageError` when the account of a model is not there."""
        try:
            await self._look_for_account(model)
        except AccountGoneError as error:
            raise UsageError(error.title, hint=error.hint) from error

    async def notices_of(self, options: SessionOptions, transcript: Transcript) -> tuple[ev.Notice, ...]:
        """Say that the account of a session is not there any more, if that is not the last thing that was said.

        Of one that the options name it is an error.
        """
        model = self.model_of(options, transcript.session.model)
        if options.named.account is not None:
            await self.require_account(model)
        await self.with_known_effort(model, options.named.effort)
        last = transcript.entries[-1] if transcript.entries else None
        try:
            await self._look_for_account(model)
        except AgentError as error:
            is_said = isinstance(last, NoticeEntry) and last.notice.code == NO_ACCOUNT
            return () if is_said else (replace(notice_of(error, None), level="warning"),)  # nothing has failed yet
        return ()

    async def _look_for_account(self, model: ModelRef) -> None:
        if model.account and known_vendor(model.provider) is not None:
            (await asyncio.to_thread(self._shared.accounts.load)).of_model(model)
