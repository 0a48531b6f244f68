"""What a bridge sends ops to: the four things that a conversation in the window can be."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject

from desktop_agent.app.sessions.draft_autosave import DraftAutosave
from desktop_agent.core.base.errors import AgentError, SessionBusyError
from desktop_agent.core.base.ids import SessionId, new_prompt_id
from desktop_agent.core.base.package import __version__
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ApprovalPolicy, ModelRef, SandboxMode
from desktop_agent.core.store.drafts import session_draft
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.window.shown_session import SessionBridge, SessionPort

_WRITTEN = (ops.SubmitPrompt, ops.Steer, ops.RunCommand)
"""What the user wrote, and gets back where it was not taken."""
FirstOp = ops.SubmitPrompt | ops.RunCommand | ops.WriteFile | ops.MoveFile | ops.UndoDifferences
"""What a conversation begins with."""


class DraftPort:
    """A conversation before its first prompt: shown like a session, but nothing of it is on disk yet.

    Keeps the mode that the user picks, and the prompts they write until the session is there.
    """

    def __init__(
        self,
        workspace: Path,
        model: ModelRef,
        approval: ApprovalPolicy,
        sandbox: SandboxMode,
        begin: Callable[["DraftPort"], None],
        keep: Callable[[Sequence[str]], None],
        parent: QObject,
    ) -> None:
        """`begin` is called with the draft when its first prompt has come, `keep` with all of them when they change."""
        self.workspace = workspace
        self.model = model
        self.approval: ApprovalPolicy = approval
        self.sandbox: SandboxMode = sandbox
        self._begin = begin
        self._keep = keep
        self._asked: list[FirstOp] = []
        self.bridge = SessionBridge(Transcript(), self, parent)
        self.bridge.deliver(
            ev.SessionOpened(
                session_id="",
                workspace=str(workspace),
                model=model,
                approval=approval,
                sandbox=sandbox,
                app_version=__version__,
            )
        )

    def hand_over(self) -> list[FirstOp]:
        """Return what was asked so far, in order. The draft no longer has it, and the next op is a first one again."""
        asked, self._asked = self._asked, []
        self._keep(())
        return asked

    def submit(self, op: ops.Op) -> None:
        """Take the ops that can begin a session: prompts, modes, the user's own writes, and undos of what git shows.

        Without a turn there is nothing to stop or answer, and nothing of the agent's to undo.
        """
        match op:
            case ops.Steer(text=text, include=include):  # no turn runs yet
                self.submit(ops.SubmitPrompt(text=text, include=include))
            case ops.SubmitPrompt() | ops.RunCommand() | ops.WriteFile() | ops.MoveFile() | ops.UndoDifferences():
                self._asked.append(op)
                self._keep([asked.text for asked in self._asked if isinstance(asked, _WRITTEN)])
                if len(self._asked) == 1:
                    self._begin(self)
            case ops.SetMode(model=model, approval=approval, sandbox=sandbox):
                self.model, self.approval = model or self.model, approval or self.approval
                self.sandbox = sandbox or self.sandbox
                self.bridge.deliver(ev.ModeSet(model=self.model, approval=self.approval, sandbox=self.sandbox))
            case _:
                pass


class OpeningPort:
    """A session of which only the end is there yet: takes what the user asks for meanwhile.

    Prompts are shown as waiting.
    """

    def __init__(self, session_id: SessionId, end: Transcript) -> None:
        self.session_id = session_id
        self.bridge = SessionBridge(end, self, is_whole=False)
        self._on_change: Callable[[Sequence[str]], None] | None = None
        self._asked: dict[str, ops.Op] = {}
        self._error: AgentError | None = None
        """Why nothing will come of it."""

    @property
    def asked(self) -> list[ops.Op]:
        """What was asked for, in its order."""
        return list(self._asked.values())

    def keep_with(self, keep: Callable[[Sequence[str]], None]) -> None:
        """Let `keep` have all prompts that wait, now and whenever they change."""
        self._on_change = keep
        self._keep()

    def submit(self, op: ops.Op) -> None:
        """Let `op` wait; once the session could not be opened, say so and give back what was written."""
        if self._error is not None:
            if isinstance(op, _WRITTEN):
                self.bridge.deliver(ev.PromptRejected(text=op.text))
            self.bridge.failed.emit(self._error)
            return
        name = new_prompt_id()
        match op:
            case ops.Unqueue(prompt_id=prompt_id) if prompt_id in self._asked:
                del self._asked[prompt_id]
                self.bridge.deliver(ev.Unqueued(prompt_id=prompt_id))
            case ops.SubmitPrompt(text=text) | ops.Steer(text=text):
                self._asked[name] = op
                self.bridge.deliver(ev.Queued(prompt_id=name, text=text))
            case _:
                self._asked[name] = op
        self._keep()

    def forget(self) -> None:
        """Drop all prompts that wait: the user no longer wants them."""
        self._asked.clear()
        self._keep()

    def refuse(self, error: AgentError) -> None:
        """Let nothing wait any more: the session could not be opened."""
        self._error = error
        for name, op in self._asked.items():
            if isinstance(op, ops.SubmitPrompt | ops.Steer):
                self.bridge.deliver(ev.Unqueued(prompt_id=name))
        self._asked.clear()
        self.bridge.failed.emit(error)

    def _keep(self) -> None:
        if self._on_change is not None:
            self._on_change([op.text for op in self.asked if isinstance(op, _WRITTEN)])


class LivePort:
    """An open session: ops go in, events come out, and no prompt is lost on the way.

    A session takes one op after another, and a long undo may come before a prompt. Until the journal has the prompt, it
    is kept like what is typed.
    """

    def __init__(self, drafts: DraftAutosave) -> None:
        self._drafts = drafts
        self._session_id: SessionId = ""
        self._session: SessionPort | None = None
        self._bridge: SessionBridge | None = None
        self._sent: list[str] = []
        """The prompts that the session has not answered for."""

    def connect(self, session_id: SessionId, session: SessionPort, bridge: SessionBridge) -> SessionBridge:
        """Link these two from now on; returns `bridge`. A session is silent until it runs."""
        self._session_id, self._session, self._bridge = session_id, session, bridge
        return bridge

    @property
    def has_sent(self) -> bool:
        """Whether the session has not answered yet for a prompt."""
        return bool(self._sent)

    def submit(self, op: ops.Op) -> None:
        """Ask the session for something."""
        assert self._session is not None
        if isinstance(op, ops.SubmitPrompt | ops.Steer):
            self._sent.append(op.text)
            self._keep()
        self._session.submit(op)

    def take(self, event: ev.Event) -> None:
        """Tell the bridge what happened."""
        assert self._session is not None, "a session says nothing before it runs"
        assert self._bridge is not None
        is_answer = isinstance(event, ev.PromptSubmitted | ev.Queued | ev.PromptRejected)
        if is_answer and event.text in self._sent:
            self._sent.remove(event.text)
            self._keep()
        self._bridge.deliver(event)

    def _keep(self) -> None:
        self._drafts.note_sent(session_draft(self._session_id), self._sent)


class ViewedPort:
    """A session that another process writes: refuses everything; what happens reaches its own bridge."""

    def __init__(self, refuse: Callable[[AgentError], None]) -> None:
        """`refuse` is called with the reason."""
        self._refuse = refuse
        self._bridge: SessionBridge | None = None

    def connect(self, bridge: SessionBridge) -> SessionBridge:
        """Deliver to this bridge from now on; returns it."""
        self._bridge = bridge
        return bridge

    def submit(self, op: ops.Op) -> None:
        """Say that it cannot be done here."""
        title = QCoreApplication.translate("Viewing", "This session is read-only here. Nothing was done.")
        hint = QCoreApplication.translate("Viewing", "Close it in the other window, then take it over.")
        self._refuse(SessionBusyError(title, hint=hint))

    def take(self, event: ev.Event) -> None:
        """Tell the bridge what happened."""
        assert self._bridge is not None, "it is not followed before it is shown"
        self._bridge.deliver(event)
