"""What makes one session different from the others: its files, its state, its workspace, who listens to it."""

from contextlib import suppress
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from desktop_agent.composition.settings_in_force import allowed_folders
from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.mount_stand_ins import sweep
from desktop_agent.core.context.packing import system_prompt
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ApprovalPolicy, FolderIdentity, ModelRef, SandboxMode, SessionPurpose
from desktop_agent.core.sandbox.guarded import places_of_stand_ins
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
from desktop_agent.core.tools.access import ROLES, CallRules


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
        """Close the journal and release the lock, when no session came of it."""
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
