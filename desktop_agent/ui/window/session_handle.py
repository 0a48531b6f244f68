"""A session as the window sees it: takes ops, and applies events to the transcript that the panels draw.

`OwnSession` is a session on disk that this window writes, or will write once it is open. `DraftSession` has no file
yet.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal, SignalInstance

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import SessionId, new_prompt_id
from desktop_agent.core.base.package import __version__
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.transcript import Transcript


class SessionHandle(QObject):
    """A session. Panels draw `transcript`; only events change it. Signals carry `object`: Qt loses some values."""

    patched = Signal(object)  # a list of `Patch`, after the transcript changed
    happened = Signal(object)  # an `Event`, after it was applied; `event` is a method of every QObject
    replaced = Signal()  # `transcript` is another object now, with the same end and more before it
    pages_wanted = Signal(object)  # the numbers of the visible pages, the most urgent first
    pages_sought = Signal(str)  # the text that the user searches for
    pages_found = Signal(str, object)  # the searched text, and the numbers of the pages that may have it
    failed = Signal(object)  # the `AgentError` that kept the session from opening; its shown part stays

    def __init__(
        self, transcript: Transcript, send: Callable[[ops.Op], None], *, read_only: str = "", is_whole: bool = True
    ) -> None:
        """`send` is called with each submitted op. `is_whole` is False while only the end of the session is loaded."""
        super().__init__()
        self.transcript = transcript
        self.read_only = read_only
        """The reason why the session can only be read here; empty if it can be written."""
        self.is_whole = is_whole
        self.left_waiting = frozenset(prompt.prompt_id for prompt in transcript.turns.queued)
        """The queued prompts that an earlier process left."""
        self._send = send

    def submit(self, op: ops.Op) -> None:
        """Returns at once; results arrive as events."""
        self._send(op)

    def clear(self) -> None:
        """Release the transcript and the session, after the session was closed. Later ops are ignored."""
        self.transcript = Transcript(session=self.transcript.session)
        self._send = _ignore

    def replace(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.is_whole = True
        self.replaced.emit()

    def deliver_page(self, number: int, page: Transcript) -> None:
        if patches := self.transcript.expand(number, page):
            self.patched.emit(patches)

    def drop_page(self, number: int) -> None:
        if patches := self.transcript.paged.collapse(number):
            self.patched.emit(patches)

    def deliver(self, event: ev.Event) -> None:
        """Apply an event to the transcript. Call this on the window's thread."""
        if patches := self.transcript.apply(event):
            self.patched.emit(patches)
        self.happened.emit(event)


def _ignore(_op: ops.Op) -> None: ...


Keep = Callable[[Sequence[str]], None]
"""A function that keeps the prompts that are not in a journal yet, in place of those it kept before."""


def _texts(submitted: Sequence[ops.Op]) -> list[str]:
    return [op.text for op in submitted if isinstance(op, ops.SubmitPrompt | ops.Steer | ops.RunCommand)]


class OwnSession(SessionHandle):
    """A session that this window writes. Unrecorded prompts are saved as drafts. Before `open_with`, ops wait."""

    def __init__(self, session_id: SessionId = "", end: Transcript | None = None) -> None:
        super().__init__(end or Transcript(), self._accept, is_whole=end is None)
        self.session_id = session_id
        self._pass_on: Callable[[ops.Op], None] | None = None
        self._keep: Keep | None = None
        self._waiting: dict[str, ops.Op] = {}
        self._sent: list[str] = []
        """The prompts that the session has neither recorded nor rejected yet."""
        self._error: AgentError | None = None

    @property
    def waiting_ops(self) -> list[ops.Op]:
        return list(self._waiting.values())

    @property
    def has_sent(self) -> bool:
        return bool(self._sent)

    def keep_with(self, keep: Keep) -> None:
        """Call `keep` with the prompts that are not in the journal whenever these prompts change."""
        self._keep = keep
        if self._waiting:
            self._keep_unrecorded()

    def open_with(
        self, session_id: SessionId, submit: Callable[[ops.Op], None], transcript: Transcript | None = None
    ) -> None:
        """Pass later ops to the session by `submit`. `send_waiting` passes the ops that waited."""
        self.session_id, self._pass_on = session_id, submit
        if transcript is None:
            return
        self.left_waiting = frozenset(prompt.prompt_id for prompt in transcript.turns.queued)
        if self.is_whole:
            self.transcript = transcript
        else:
            self.replace(transcript)

    def send_waiting(self) -> None:
        waiting = self.waiting_ops
        self.drop_waiting()
        for op in waiting:
            self.submit(op)

    def drop_waiting(self) -> None:
        self._waiting.clear()
        self._keep_unrecorded()

    def refuse(self, error: AgentError) -> None:
        """Drop the waiting ops, and answer later ops with this error, because the session could not be opened."""
        self._error = error
        for name, op in self._waiting.items():
            if isinstance(op, ops.SubmitPrompt | ops.Steer):
                self.deliver(ev.Unqueued(prompt_id=name))
        self._waiting.clear()
        self.failed.emit(error)

    def clear(self) -> None:
        super().clear()
        self._pass_on = self._keep = None

    def receive(self, event: ev.Event) -> None:
        is_answer = isinstance(event, ev.PromptSubmitted | ev.Queued | ev.PromptRejected)
        if is_answer and event.text in self._sent:
            self._sent.remove(event.text)
            self._keep_unrecorded()
        self.deliver(event)

    def _accept(self, op: ops.Op) -> None:
        if self._pass_on is not None:
            if isinstance(op, ops.SubmitPrompt | ops.Steer):
                self._sent.append(op.text)
                self._keep_unrecorded()
            self._pass_on(op)
            return
        if self._error is not None:
            for text in _texts([op]):
                self.deliver(ev.PromptRejected(text=text))
            self.failed.emit(self._error)
            return
        name = new_prompt_id()
        match op:
            case ops.Unqueue(prompt_id=prompt_id) if prompt_id in self._waiting:
                del self._waiting[prompt_id]
                self.deliver(ev.Unqueued(prompt_id=prompt_id))
            case ops.SubmitPrompt(text=text) | ops.Steer(text=text):
                self._waiting[name] = op
                self.deliver(ev.Queued(prompt_id=name, text=text))
            case _:
                self._waiting[name] = op
        self._keep_unrecorded()

    def _keep_unrecorded(self) -> None:
        if self._keep is not None:
            self._keep([*_texts(self.waiting_ops), *self._sent])


class DraftSession(OwnSession):
    """A conversation before its first prompt. Shown like a session, but not on disk until `open_with`."""

    def __init__(self, workspace: Path, mode: ev.ModeSet, begin: Callable[["DraftSession"], None]) -> None:
        """`begin` is called with the draft after the user sent the first prompt."""
        super().__init__()
        self.workspace = workspace
        self.mode = mode
        self._begin = begin
        self.deliver(
            ev.SessionOpened(
                session_id="",
                workspace=str(workspace),
                model=mode.model,
                approval=mode.approval,
                sandbox=mode.sandbox,
                app_version=__version__,
            )
        )

    def _accept(self, op: ops.Op) -> None:
        """Accept the ops that can begin a session: prompts, modes, the user's own writes, and undos of git changes."""
        if self._pass_on is not None:
            super()._accept(op)
            return
        match op:
            case ops.Steer(text=text, include=include):  # no turn runs yet
                self._accept(ops.SubmitPrompt(text=text, include=include))
            case ops.SubmitPrompt() | ops.RunCommand() | ops.WriteFile() | ops.MoveFile() | ops.UndoDifferences():
                self._waiting[new_prompt_id()] = op
                self._keep_unrecorded()
                if len(self._waiting) == 1:
                    self._begin(self)
            case ops.SetMode(model=model, approval=approval, sandbox=sandbox, is_planning=is_planning):
                mode = self.mode
                self.mode = ev.ModeSet(
                    model=model or mode.model,
                    approval=approval or mode.approval,
                    sandbox=sandbox or mode.sandbox,
                    is_planning=mode.is_planning if is_planning is None else is_planning,
                )
                self.deliver(self.mode)
            case _:
                pass


class ShownSession(QObject):
    """The session that the window shows. Before the first one is shown, `transcript` is empty."""

    unanswered = Signal(object)  # an op that was submitted before there was a session, and is ignored

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.handle: SessionHandle | None = None
        self._nothing = Transcript()

    @property
    def transcript(self) -> Transcript:
        return self.handle.transcript if self.handle is not None else self._nothing

    @property
    def read_only(self) -> str:
        """The reason why the session is read-only; empty if it can be written."""
        return self.handle.read_only if self.handle is not None else ""

    def submit(self, op: ops.Op) -> None:
        if self.handle is not None:
            self.handle.submit(op)
        else:
            self.unanswered.emit(op)

    def submit_on(self, signal: SignalInstance, op: Callable[..., ops.Op], *fields: str) -> None:
        submit_on(self, signal, op, *fields)


def submit_on(
    session: SessionHandle | ShownSession, signal: SignalInstance, op: Callable[..., ops.Op], *fields: str
) -> None:
    """Submit an `op` to the session whenever `signal` is emitted, with the signal's first arguments as these fields."""

    def submit(*arguments: object) -> None:
        session.submit(op(**dict(zip(fields, arguments, strict=False))))

    signal.connect(submit)
