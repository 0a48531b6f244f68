"""A question about a call that waits for the user. Its card and its dialog share this state."""

from PySide6.QtCore import QCoreApplication, QObject

from desktop_agent.core.base.plain_text import MOST_SHOWN_CHARS
from desktop_agent.core.protocol.events import CommandJudged
from desktop_agent.core.protocol.model import Allowed, ApprovalRequest, ApprovalScope, Rule
from desktop_agent.core.transcript import asked_call
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.exact_field import ExactField, FoldBar
from desktop_agent.ui.wording import escalation_words, hidden_text_risks, visible


class OpenQuestion(QObject):
    def __init__(self, request: ApprovalRequest, parent: QObject) -> None:
        super().__init__(parent)
        self.request = request
        self.called = asked_call(request, MOST_SHOWN_CHARS + 1)
        """The call of a server's tool, with its arguments; empty for other calls."""
        self.details = "\n".join(request.details)
        """What else affects what would run: variables, input, a special shell."""
        self.are_changes_shown = not (request.changes or request.tool_change)
        """Whether every line that would change is on screen, or is to be scrolled to there."""
        self.folds: list[FoldBar] = []
        """The bars below fields that the user must have read to the end before allowing the call."""
        self._command: ExactField | None = None
        self._judged: CommandJudged | None = None

    def take_command(self, field: ExactField) -> None:
        """Use the command in this field. Every edit in it invalidates the last judgement."""
        self._command = field
        field.textChanged.connect(self._on_text_changed)

    def _on_text_changed(self) -> None:
        self._judged = None

    @property
    def text(self) -> str:
        return self._command.text if self._command is not None else ""

    @property
    def edited(self) -> str | None:
        return self.text if self._command is not None and self.text != self.request.command else None

    @property
    def unjudged(self) -> str | None:
        return self.edited if self._judged is None else None

    @property
    def is_refused(self) -> bool:
        return self._judged is not None and self._judged.request is None

    @property
    def obstacle(self) -> str:
        if self._command is not None and not self.text.strip():
            return self.tr("There is no command to run")
        if not self.are_changes_shown:
            return self.tr("Only a visible change can be allowed")
        if obstacle := next((fold.obstacle for fold in self.folds if fold.obstacle), ""):
            return obstacle
        if self.edited is None:
            return ""
        if self._judged is not None and self._judged.request is None:
            return visible(self._judged.obstacle)
        return "" if self._judged is not None and self._judged.digest else self.tr("Checking your command…")

    def take_judgement(self, judged: CommandJudged | None) -> bool:
        if judged is None or judged is self._judged or judged.command != self.edited:
            return False
        self._judged = judged
        return True

    def allowed(self, scope: ApprovalScope, rules: tuple[Rule, ...] = ()) -> Allowed:
        """Return the answer that allows the call. The judgement's digest ties it to an edited command."""
        judged = self._judged.digest if self._judged is not None else None
        return Allowed(scope=scope, edited_command=self.edited, judged=judged, rules=rules)


def risk_words(request: ApprovalRequest, command: str) -> list[str]:
    """Return the risks of a call in words. `command` is the text as edited so far."""
    return [*map(core_words, request.risks), *hidden_text_risks(command)]


def confinement_words(request: ApprovalRequest) -> str:
    words = escalation_words() if request.is_escalation else core_words(request.confinement)
    if not (request.is_fixed and request.command):
        return words
    fixed = QCoreApplication.translate(
        "OpenQuestion", "The agent keeps to its own command, so it cannot be edited here."
    )
    return f"{words.rstrip('.')}. {fixed}" if words else fixed
