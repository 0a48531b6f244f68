"""What a session is: who it is, where it works, with which model and rights. It stays small however long it gets."""

from datetime import datetime
from typing import Final

from msgspec import Struct

from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    ApprovalPolicy,
    FolderIdentity,
    Job,
    ModelRef,
    Rule,
    SandboxMode,
    SessionPurpose,
)
from desktop_agent.core.transcript.reading import first_line

_SESSION_EVENTS: Final = frozenset(
    (
        ev.SessionOpened,
        ev.FolderAccepted,
        ev.SessionRenamed,
        ev.SessionForked,
        ev.SessionArchived,
        ev.SessionPinned,
        ev.ModeSet,
        ev.TurnStarted,
        ev.PromptSubmitted,
        ev.JobsReported,
        ev.RulesReported,
    )
)
"""What says more of a session than that it goes on."""


class SessionInfo(Struct):
    """The fold of what concerns the session as a whole. Only `apply` changes it."""

    session_id: SessionId = ""
    workspace: str = ""
    folder: FolderIdentity | None = None
    """The identity of the folder at that path that it last worked in; None if not recorded."""
    title: str = ""
    model: ModelRef | None = None
    approval: ApprovalPolicy = "on_write"
    sandbox: SandboxMode = "restricted"
    jobs: tuple[Job, ...] = ()
    """The background commands of the running session; a journal alone has none."""
    rules: tuple[Rule, ...] = ()
    """The rules in force, as the running session last reported them."""
    opened_at: datetime = ev.UNSTAMPED
    updated_at: datetime = ev.UNSTAMPED
    last_seq: int = 0
    is_title_given: bool = False
    """Whether the user gave the title."""
    is_archived: bool = False
    is_pinned: bool = False
    """Whether the user wants the session at the top of the list."""
    forked_from: SessionId = ""
    purpose: SessionPurpose = "conversation"

    def apply(self, event: ev.Event) -> None:
        """Fold one event in."""
        if isinstance(event, ev.DurableEvent):
            self.last_seq = max(self.last_seq, event.seq)  # a line of another program may say anything
            self.updated_at = event.at
        if type(event) in _SESSION_EVENTS:
            self._take_in(event)

    def _take_in(self, event: ev.Event) -> None:
        match event:
            case ev.SessionOpened():
                self.session_id, self.workspace = event.session_id, event.workspace
                self.folder = event.folder
                self.purpose, self.opened_at = event.purpose, event.at
                self.model, self.approval, self.sandbox = event.model, event.approval, event.sandbox
            case ev.FolderAccepted(folder=folder):
                self.folder = folder
            case ev.SessionRenamed(title=title, is_generated=is_generated):
                self.title, self.is_title_given = title, not is_generated
            case ev.SessionForked(source=source):
                self.forked_from = source
            case ev.SessionArchived(is_archived=is_archived):
                self.is_archived = is_archived
            case ev.SessionPinned(is_pinned=is_pinned):
                self.is_pinned = is_pinned
            case ev.ModeSet():
                self.model, self.approval, self.sandbox = event.model, event.approval, event.sandbox
            case ev.TurnStarted(model=model):
                self.model = model
            case ev.PromptSubmitted(text=text) if not self.title:
                self.title = first_line(text)
            case ev.JobsReported(jobs=jobs):
                self.jobs = jobs
            case ev.RulesReported(rules=rules):
                self.rules = rules
            case _:
                pass
