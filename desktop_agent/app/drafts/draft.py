"""A conversation before its first prompt: shown like a session, but nothing of it is on disk yet."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject

from desktop_agent.core.base.package import __version__
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.events import ModeSet, SessionOpened
from desktop_agent.core.protocol.model import ApprovalPolicy, ModelRef, SandboxMode
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.window.bridge import SessionBridge


class SessionDraft:
    """Keeps the mode that the user picks, and the prompts they write until the session is there."""

    def __init__(
        self,
        workspace: Path,
        model: ModelRef,
        approval: ApprovalPolicy,
        sandbox: SandboxMode,
        begin: Callable[["SessionDraft"], None],
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
        self._prompts: list[ops.SubmitPrompt | ops.RunCommand] = []
        self.bridge = SessionBridge(Transcript(), self._take, parent)
        self.bridge.deliver(
            SessionOpened(
                session_id="",
                workspace=str(workspace),
                model=model,
                approval=approval,
                sandbox=sandbox,
                app_version=__version__,
            )
        )

    def hand_over(self) -> list[ops.SubmitPrompt | ops.RunCommand]:
        """Return the prompts so far, in order. The draft no longer has them, and the next one is a first one again."""
        prompts, self._prompts = self._prompts, []
        self._keep(())
        return prompts

    def _take(self, op: ops.Op) -> None:
        match op:
            case ops.SubmitPrompt() | ops.RunCommand():
                self._prompts.append(op)
                self._keep([prompt.text for prompt in self._prompts])
                if len(self._prompts) == 1:
                    self._begin(self)
            case ops.SetMode(model=model, approval=approval, sandbox=sandbox):
                self.model, self.approval = model or self.model, approval or self.approval
                self.sandbox = sandbox or self.sandbox
                self.bridge.deliver(ModeSet(model=self.model, approval=self.approval, sandbox=self.sandbox))
            case _:
                pass  # there is nothing to stop, answer or undo in a conversation without a turn
