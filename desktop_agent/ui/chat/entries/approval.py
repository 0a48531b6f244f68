"""The question about a tool call: what would run, why it asks, and the ways to answer.

Nothing here answers by accident: for the first moments after it appears every answer is ignored, the focus is not
moved to it, and no button is a default.
"""

from PySide6.QtCore import QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QFont, QHideEvent, QKeySequence, QPainter, QPaintEvent, QPen, QShortcut, QShowEvent
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QWidget

from desktop_agent.core.model import Allowed, ApprovalRequest, ApprovalScope, Denied, ScopeOffer
from desktop_agent.ui.arming import ARMING_DELAY_MS
from desktop_agent.ui.chat import words
from desktop_agent.ui.chat.entries.card_command import CardCommand
from desktop_agent.ui.chat.entries.paragraph import Paragraph, read_code_spans
from desktop_agent.ui.chat.flow import flow
from desktop_agent.ui.chat.markdown.inline import LINE_BREAK, utf16_slice
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.mode_words import escalation_words
from desktop_agent.ui.model_words import hidden_text_risks, visible
from desktop_agent.ui.short_path import short_path
from desktop_agent.ui.theme import Radius, Space
from desktop_agent.ui.tooltips import plain_tooltip

COMMAND, DENIAL = "command", "denial"
"""The fields whose text is kept when the card goes out of sight."""

_PADDING = 15
_OFFER_WIDTH = 380
_OFFER_STEP = 20
_SHOWN_FILES = 6


class ApprovalCard(QWidget):
    """One question. Its parent gives it a width and then asks for its height.

    Signals:
        answered: call id and decision, once.
        opened: the question (call id) shall be shown in full.
        resized: its height changed.
    """

    answered = Signal(str, object)
    opened = Signal(str)
    resized = Signal()

    def __init__(self, request: ApprovalRequest, drafts: dict[str, str], styles: TextStyles, parent: QWidget) -> None:
        super().__init__(parent)
        self.request = request
        self._drafts = drafts
        self._styles = styles
        self._height = 0
        self._width = 0
        self._is_answered = False
        self._guard = QTimer(self, interval=ARMING_DELAY_MS, singleShot=True)
        bold = QFont(styles.body)
        bold.setWeight(QFont.Weight.DemiBold)
        # In older journals the title of a command is the command.
        is_plain = request.command is not None and not request.is_escalation
        title = self.tr("Run this command?") if is_plain else _visible(request.title)
        self._title = Paragraph(title, styles, self, font=bold)
        self._command = self._make_command(styles)
        self._edit = self._button(self.tr("Edit"), self._on_edit, variant="flat", is_compact=True)
        self._edit.setVisible(self._command is not None)
        self._files = Paragraph(_file_list(request), styles, self, font=styles.code) if request.changes else None
        details = LINE_BREAK.join(map(_visible, request.details))
        self._details = [Paragraph(details, styles, self, role="muted", font=styles.secondary)] if details else []
        hidden = hidden_text_risks(request.command or "")
        self._reasons = [
            Paragraph(_visible(text), styles, self, role="warning_text", font=styles.body)
            for text in (request.reason, *(f"⚠ {risk}" for risk in (*request.risks, *hidden)))
            if text
        ]
        self._confinement = self._make_confinement(styles)
        self._safety = [
            Paragraph(_visible(text if at == 0 else f"⚠ {text}"), styles, self, role=role, font=styles.body)
            for at, text in enumerate(request.safety)
            for role in ("muted" if at == 0 else "warning_text",)
        ]
        self._allow = self._button("", self._on_allow, variant="primary")
        # What reaches beyond this session is worth a look at what it would have allowed so far: `Review` shows it.
        self._offered: list[ScopeOffer] = [offer for offer in request.scopes if offer.scope == "session"]
        self._offers = [self._offer_button(offer.label) for offer in self._offered]
        review = self._button(self.tr("Review…"), self._on_review)
        self._deny = self._button(self.tr("Deny…"), self._on_deny, variant="destructive")
        self._buttons = [self._allow, *self._offers, review, self._deny]
        self._denial = QLineEdit(drafts.get(DENIAL, ""), self)
        self._denial.setPlaceholderText(self.tr("Tell the agent why, if you like"))
        self._denial.setAccessibleName(self.tr("A word to the agent"))
        self._denial.textChanged.connect(self._on_denial_changed)
        self._denial.returnPressed.connect(self._on_deny_now)
        self._deny_now = self._button(self.tr("Deny"), self._on_deny_now, variant="destructive")
        self._keep_asking = self._button(self.tr("Back"), self._on_back, variant="flat")
        self._folder = QLabel(
            self.tr("in {folder}").format(folder=short_path(request.cwd)) if request.cwd else "", self
        )
        self._folder.setTextFormat(Qt.TextFormat.PlainText)
        self._folder.setProperty("role", "secondary")
        self._shortcut = QShortcut(QKeySequence(Qt.Modifier.CTRL | Qt.Key.Key_Return), self)
        self._shortcut.activated.connect(self._on_allow)
        self.set_shortcut(is_enabled=True)
        self._show_denial(is_shown=DENIAL in drafts)
        confinement = self._confinement.accessibleName() if self._confinement is not None else ""
        spoken = (title, request.command, request.reason, confinement, *request.safety)
        self.setAccessibleName(" ".join(part for part in spoken if part))

    def _make_command(self, styles: TextStyles) -> CardCommand | None:
        if self.request.command is None:
            return None
        command = CardCommand(self._drafts.get(COMMAND, self.request.command), styles, self)
        command.set_editable(is_editable=COMMAND in self._drafts)
        command.mark(self._causes())
        command.textChanged.connect(self._on_command_changed)
        return command

    def _causes(self) -> list[str]:
        """The parts of the command that made it a question."""
        if self.request.cause:
            return [self.request.cause]
        rich = read_code_spans(self.request.reason)
        return [utf16_slice(rich.text, span.start, span.start + span.length) for span in rich.spans]

    def _make_confinement(self, styles: TextStyles) -> Paragraph | None:
        """How it would run; only what asks to get out of the sandbox is said in the colour of what cannot be undone."""
        text, role = self.request.confinement, "muted"
        if self.request.is_escalation:
            text, role = escalation_words(), "removed_text"
        return Paragraph(text, styles, self, role=role, font=styles.body) if text else None

    def _offer_button(self, label: str) -> QPushButton:
        """A button with as much of a long command as fits: it stands above, but the words around it only here."""
        parts = label.split("`")  # every other one is quoted
        button = self._button("".join(parts), self._on_offer)
        metrics = button.fontMetrics()
        shown = parts
        for width in range(_OFFER_WIDTH, 0, -_OFFER_STEP):
            if metrics.horizontalAdvance("".join(shown)) <= _OFFER_WIDTH:
                break
            cut = Qt.TextElideMode.ElideMiddle
            shown = [metrics.elidedText(part, cut, width) if at % 2 else part for at, part in enumerate(parts)]
        button.setText("".join(shown))
        button.setAccessibleName("".join(parts))
        button.setToolTip(plain_tooltip("".join(parts)))
        return button

    def _button(self, text: str, action: object, variant: str = "", *, is_compact: bool = False) -> QPushButton:
        button = QPushButton(text, self)
        button.setProperty("compact", is_compact)
        if variant:
            button.setProperty("variant", variant)
        button.setAutoDefault(False)
        button.clicked.connect(action)
        return button

    def set_shortcut(self, *, is_enabled: bool) -> None:
        """Let Ctrl+Enter allow, anywhere in the window: only one question at a time may listen to it."""
        if is_enabled == self._shortcut.isEnabled() and self._allow.text():
            return
        self._shortcut.setEnabled(is_enabled)
        shortcut = self._shortcut.key().toString(QKeySequence.SequenceFormat.NativeText).replace("Return", "↵")
        self._allow.setText(self.tr("Allow once") + (f"  {shortcut}" if is_enabled else ""))
        self._allow.setAccessibleName(self.tr("Allow once"))
        if self._width:
            self.set_width(self._width)

    # -- geometry --

    def set_width(self, width: int) -> None:
        """Be this wide from now on."""
        self._width = width
        inner = width - 2 * _PADDING
        y = _PADDING - 3
        y += self._title.place(_PADDING, y, inner) + Space.S
        if self._command is not None:
            edit = self._edit.sizeHint()
            height = self._command.place(QRect(_PADDING, y, inner, 0), edit.width() + Space.S)
            self._edit.setGeometry(_PADDING + inner - edit.width() - 5, y + 5, edit.width(), edit.height())
            self._edit.raise_()
            y += height + Space.S
        files = (self._files,) if self._files is not None else ()
        confinement = (self._confinement,) if self._confinement is not None else ()
        notes = (*confinement, *self._reasons) if self.request.is_escalation else (*self._reasons, *confinement)
        for paragraph in (*files, *self._details, *notes, *self._safety):
            y += paragraph.place(_PADDING, y, inner) + Space.XS // 2
        y += Space.S + 2
        y = self._place_answers(y, inner)
        self._height = y + _PADDING
        self.resize(width, self._height)

    def _place_answers(self, y: int, inner: int) -> int:
        if not self._denial.isHidden():
            self._denial.setGeometry(_PADDING, y, inner, 30)
            y += 30 + Space.S
            return y + flow([self._deny_now, self._keep_asking], QRect(_PADDING, y, inner, 0))
        height = flow(self._buttons, QRect(_PADDING, y, inner, 0))
        size = self._folder.sizeHint()
        last = self._buttons[-1].geometry()
        if last.right() + Space.L + size.width() <= _PADDING + inner:
            at = QRect(_PADDING + inner - size.width(), last.top(), size.width(), last.height())
        else:
            at = QRect(_PADDING, y + height + Space.XS, inner, size.height())
            height += (size.height() + Space.XS) if self._folder.text() else 0
        self._folder.setGeometry(at)
        return y + height

    def card_height(self) -> int:
        """How high it is at its width."""
        return self._height

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = self._styles.theme
        painter.setPen(QPen(colours.colour("warning_border"), 1))
        painter.setBrush(colours.colour("warning_bg"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), Radius.DIALOG, Radius.DIALOG)
        painter.end()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._guard.start()

    def hideEvent(self, event: QHideEvent) -> None:
        self._guard.stop()
        super().hideEvent(event)

    # -- answers --

    @property
    def is_listening(self) -> bool:
        """Whether an answer counts: it has been in sight for a moment, and was not answered."""
        return self.isVisible() and not self._guard.isActive() and not self._is_answered

    def edited_command(self) -> str | None:
        """Return the command if the person changed it."""
        if self._command is None:
            return None
        text = self._command.toPlainText()
        return text if text != self.request.command else None

    def _answer(self, decision: Allowed | Denied) -> None:
        if not self.is_listening:
            return
        self._is_answered = True
        for control in (*self._buttons, self._deny_now, self._denial, self._edit):
            control.setEnabled(False)
        self.answered.emit(self.request.call_id, decision)

    def _allow_in(self, scope: ApprovalScope) -> None:
        if self._command is None or self._command.toPlainText().strip():
            self._answer(Allowed(scope=scope, edited_command=self.edited_command()))

    def _on_allow(self) -> None:
        self._allow_in("once")

    def _on_offer(self) -> None:
        for button, offer in zip(self._offers, self._offered, strict=True):
            if button is self.sender():
                self._allow_in(offer.scope)

    def _on_review(self) -> None:
        self.opened.emit(self.request.call_id)

    def _on_deny(self) -> None:
        self._drafts.setdefault(DENIAL, "")
        self._show_denial(is_shown=True)
        self._denial.setFocus()
        self._resize()

    def _on_deny_now(self) -> None:
        self._answer(Denied(message=self._denial.text().strip()))

    def _on_back(self) -> None:
        self._drafts.pop(DENIAL, None)
        self._show_denial(is_shown=False)
        self._deny.setFocus()
        self._resize()

    def _on_denial_changed(self, text: str) -> None:
        self._drafts[DENIAL] = text

    def _on_edit(self) -> None:
        assert self._command is not None
        self._command.set_editable(is_editable=True)
        self._command.setFocus()
        self._resize()

    def _on_command_changed(self) -> None:
        assert self._command is not None
        self._drafts[COMMAND] = self._command.toPlainText()
        self._allow.setEnabled(bool(self._drafts[COMMAND].strip()))
        self._resize()

    def _show_denial(self, *, is_shown: bool) -> None:
        for widget in (self._denial, self._deny_now, self._keep_asking):
            widget.setVisible(is_shown)
        for widget in (*self._buttons, self._folder):
            widget.setVisible(not is_shown)

    def _resize(self) -> None:
        before = self._height
        self.set_width(self._width)
        if self._height != before:
            self.resized.emit()


def _file_list(request: ApprovalRequest) -> str:
    from desktop_agent.core.changes.net import net_of_call

    changes = net_of_call(request.changes)
    names = [f"{change.moved_from} → {change.path}" if change.moved_from else change.path for change in changes]
    lines = [
        f"{name}  +{change.added} {words.MINUS}{change.removed}"
        for name, change in zip(names[:_SHOWN_FILES], changes, strict=False)
    ]
    if len(changes) > _SHOWN_FILES:
        more = len(changes) - _SHOWN_FILES
        lines.append(words.say("and {files} more").format(files=words.counted(more, "file", "files")))
    return "\u2028".join(lines)


def _visible(text: str) -> str:
    return visible(text).replace("\n", LINE_BREAK)
