"""The question about a tool call: what would run, why it asks, and the ways to answer.

Nothing here answers by accident: for the first moments after it appears every answer is ignored, the focus is not
moved to it, and no button is a default.
"""

from PySide6.QtCore import QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QFont, QHideEvent, QKeySequence, QPainter, QPaintEvent, QPen, QShortcut, QShowEvent
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QWidget

from desktop_agent.core.protocol.events import CommandJudged
from desktop_agent.core.protocol.model import Allowed, ApprovalRequest, ApprovalScope, Denied
from desktop_agent.ui.chat.entries.card_command import CardCommand
from desktop_agent.ui.chat.entries.card_notes import CardNotes, shown_lines
from desktop_agent.ui.chat.entries.card_offers import CardOffers
from desktop_agent.ui.chat.entries.paragraph import Paragraph, read_code_spans
from desktop_agent.ui.chat.entry_actions import EntryActions
from desktop_agent.ui.chat.flow import flow
from desktop_agent.ui.chat.markdown.inline import utf16_slice
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.theme import Radius, Space
from desktop_agent.ui.widgets.arming import ARMING_DELAY_MS
from desktop_agent.ui.widgets.fold_bar import obstacle_words
from desktop_agent.ui.wording.model_words import visible
from desktop_agent.ui.wording.short_path import short_path
from desktop_agent.ui.wording.tooltips import plain_tooltip

COMMAND, DENIAL = "command", "denial"
"""The fields whose text is kept when the card goes out of sight."""

_PADDING = 15


class ApprovalCard(QWidget):
    """One question. Its parent gives it a width and then asks for its height.

    Signals:
        resized: its height changed.
    """

    resized = Signal()

    def __init__(
        self,
        request: ApprovalRequest,
        drafts: dict[str, str],
        styles: TextStyles,
        actions: EntryActions,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.request = request
        self._drafts = drafts
        self._styles = styles
        self._actions = actions
        self._height = 0
        self._width = 0
        self._is_answered = False
        self._judged: CommandJudged | None = None
        self._guard = QTimer(self, interval=ARMING_DELAY_MS, singleShot=True)
        self._title = self._make_title(styles)
        self._command = self._make_command(styles)
        self._edit = self._button(self.tr("Edit"), self._on_edit, variant="flat", is_compact=True)
        self._edit.setVisible(self._command is not None)
        details = "\n".join(request.details)
        self._details = CardCommand(details, styles, self, self.tr("Details")) if details else None
        self._exact = [field for field in (self._command, self._details) if field is not None]
        for field in self._exact:
            field.fold.changed.connect(self._update_answers)
            field.fold.resize_wanted.connect(self._resize)
        self._notes = CardNotes(request, self._text(), styles, self)
        self._allow = self._button("", self._on_allow, variant="primary")
        self._offers = CardOffers(request.scopes, lambda text: self._button(text, self._on_offer))
        review = self._button(self.tr("Review…"), self._on_review)
        self._deny = self._button(self.tr("Deny…"), self._on_deny, variant="destructive")
        self._buttons = [self._allow, *self._offers.buttons, review, self._deny]
        self._denial = self._make_denial(drafts.get(DENIAL, ""))
        self._refusal = self._label("", "warning")
        self._refusal.hide()
        self._deny_now = self._button(self.tr("Deny"), self._on_deny_now, variant="destructive")
        self._keep_asking = self._button(self.tr("Back"), self._on_back, variant="flat")
        place = self.tr("in {folder}").format(folder=short_path(request.cwd)) if request.cwd else ""
        self._folder = self._label(place, "secondary")
        self._shortcut = QShortcut(QKeySequence(Qt.Modifier.CTRL | Qt.Key.Key_Return), self)
        self._shortcut.activated.connect(self._on_allow)
        self.set_shortcut(is_enabled=True)
        self._show_denial(is_shown=DENIAL in drafts)
        self._say_name()
        self._update_answers()

    def _make_title(self, styles: TextStyles) -> Paragraph:
        bold = QFont(styles.body)
        bold.setWeight(QFont.Weight.DemiBold)
        # In older journals the title of a command is the command.
        is_plain = self.request.command is not None and not self.request.is_escalation
        title = self.tr("Run this command?") if is_plain else shown_lines(self.request.title)
        return Paragraph(title, styles, self, font=bold)

    def _say_name(self) -> None:
        spoken = (self._title.accessibleName(), visible(self._text()), self._notes.spoken)
        self.setAccessibleName(" ".join(part for part in spoken if part))

    def _make_command(self, styles: TextStyles) -> CardCommand | None:
        if self.request.command is None:
            return None
        command = CardCommand(self._drafts.get(COMMAND, self.request.command), styles, self, self.tr("Command"))
        command.set_editable(is_editable=COMMAND in self._drafts)
        command.mark(tuple(self._causes(self.request)))
        command.textChanged.connect(self._on_command_changed)
        return command

    def _make_denial(self, text: str) -> QLineEdit:
        denial = QLineEdit(text, self)
        denial.setPlaceholderText(self.tr("Reason for the agent (optional)"))
        denial.setAccessibleName(self.tr("Message to the agent"))
        denial.textChanged.connect(self._on_denial_changed)
        denial.returnPressed.connect(self._on_deny_now)
        return denial

    def _label(self, text: str, role: str) -> QLabel:
        label = QLabel(text, self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setProperty("role", role)
        return label

    @staticmethod
    def _causes(request: ApprovalRequest) -> list[str]:
        """The parts of the command that made it a question."""
        if request.cause:
            return [request.cause]
        rich = read_code_spans(request.reason)
        return [utf16_slice(rich.text, span.start, span.start + span.length) for span in rich.spans]

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
        if self._details is not None:
            y += self._details.place(QRect(_PADDING, y, inner, 0), 0) + Space.S
        self._offers.fit(self._shown_buttons(), inner)
        is_beside = self._has_room_for_folder(inner)
        if not is_beside and not self._folder.isHidden():
            self._folder.setGeometry(_PADDING, y, inner, self._folder.sizeHint().height())
            y += self._folder.height() + Space.XS
        y += self._notes.place(_PADDING, y, inner)
        if not self._refusal.isHidden():
            self._refusal.setGeometry(_PADDING, y, inner, self._refusal.sizeHint().height())
            y += self._refusal.height() + Space.XS
        y += Space.S + 2
        y = self._place_answers(y, inner, is_folder_beside=is_beside)
        self._height = y + _PADDING
        self.resize(width, self._height)

    def _place_answers(self, y: int, inner: int, *, is_folder_beside: bool) -> int:
        if not self._denial.isHidden():
            self._denial.setGeometry(_PADDING, y, inner, 30)
            y += 30 + Space.S
            return y + flow([self._deny_now, self._keep_asking], QRect(_PADDING, y, inner, 0))
        height = flow(self._shown_buttons(), QRect(_PADDING, y, inner, 0))
        if is_folder_beside:
            size, last = self._folder.sizeHint(), self._buttons[-1].geometry()
            self._folder.setGeometry(_PADDING + inner - size.width(), last.top(), size.width(), last.height())
        return y + height

    def _shown_buttons(self) -> list[QPushButton]:
        return [button for button in self._buttons if not button.isHidden()]

    def _has_room_for_folder(self, inner: int) -> bool:
        """Whether the folder fits behind the last button; otherwise it stands below the command.

        The buttons are placed to find out, and moved to where they belong afterwards.
        """
        flow(self._shown_buttons(), QRect(_PADDING, 0, inner, 0))
        return self._buttons[-1].geometry().right() + Space.L + self._folder.sizeHint().width() <= _PADDING + inner

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
        if self._judged is None and (edited := self.edited_command()) is not None:
            self._actions.approval_edited.emit(self.request.call_id, edited)

    def hideEvent(self, event: QHideEvent) -> None:
        self._guard.stop()
        super().hideEvent(event)

    # -- answers --

    @property
    def is_listening(self) -> bool:
        """Whether an answer counts: it has been in sight for a moment, and was not answered."""
        return self.isVisible() and not self._guard.isActive() and not self._is_answered

    def _text(self) -> str:
        """The command as it is now: the very one that came, or what the user made of it."""
        return self._command.text if self._command is not None else ""

    def edited_command(self) -> str | None:
        """Return the command if the user changed it."""
        text = self._text()
        return text if self._command is not None and text != self.request.command else None

    def show_judgement(self, judged: CommandJudged | None) -> None:
        """Show what is known of the edited command; what is about another text is stale, and dropped."""
        edited = self.edited_command()
        if edited is None or judged is None or judged.command != edited or judged is self._judged:
            return
        self._judged = judged
        if judged.request is not None:
            self._show_notes(judged.request)
        self._update_answers()

    def _show_notes(self, request: ApprovalRequest) -> None:
        assert self._command is not None
        self._notes.drop()
        self._notes = CardNotes(request, self._text(), self._styles, self)
        self._command.mark(tuple(self._causes(request)))
        self._say_name()
        self._resize()

    def _obstacle(self) -> str:
        """Why it cannot be allowed now; empty when it can."""
        if self._command is not None and not self._text().strip():
            return self.tr("There is no command to run")
        if not all(field.fold.is_all_seen for field in self._exact):
            return obstacle_words()
        if self.edited_command() is None:
            return ""
        if self._judged is None:
            return self.tr("Checking your command…")
        if self._judged.request is None:
            return visible(self._judged.obstacle)
        return "" if self._judged.digest is not None else self.tr("Checking your command…")

    def _update_answers(self) -> None:
        obstacle, is_edited = self._obstacle(), self.edited_command() is not None
        for button in (self._allow, *self._offers.buttons):
            button.setEnabled(not obstacle and not self._is_answered)
            button.setAccessibleDescription(obstacle)
        is_refused = self._judged is not None and self._judged.request is None
        self._allow.setToolTip(plain_tooltip(obstacle) if is_refused else obstacle)
        for button in self._offers.buttons:  # a rule is made of the agent's command; one of the user's is allowed once
            button.setVisible(not is_edited and self._denial.isHidden())
        self._refusal.setText(obstacle if is_refused else "")
        if self._refusal.isHidden() == is_refused:
            self._refusal.setVisible(is_refused)
            self._resize()

    def _answer(self, decision: Allowed | Denied) -> None:
        if not self.is_listening:
            return
        self._is_answered = True
        for control in (*self._buttons, self._deny_now, self._denial, self._edit):
            control.setEnabled(False)
        self._actions.approval_answered.emit(self.request.call_id, decision)

    def _allow_in(self, scope: ApprovalScope) -> None:
        if self._obstacle():
            return
        edited = self.edited_command()
        judged = self._judged.digest if edited is not None and self._judged is not None else None
        self._answer(Allowed(scope=scope, edited_command=edited, judged=judged))

    def _on_allow(self) -> None:
        self._allow_in("once")

    def _on_offer(self) -> None:
        offer = self._offers.offer_of(self.sender())
        if offer is not None:
            self._allow_in(offer.scope)

    def _on_review(self) -> None:
        self._actions.approval_opened.emit(self.request.call_id)

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
        self._drafts[COMMAND] = self._text()
        self._judged = None
        if (edited := self.edited_command()) is not None:
            self._actions.approval_edited.emit(self.request.call_id, edited)
        else:
            self._show_notes(self.request)
        self._update_answers()
        self._resize()

    def _show_denial(self, *, is_shown: bool) -> None:
        for widget in (self._denial, self._deny_now, self._keep_asking):
            widget.setVisible(is_shown)
        for button in self._buttons:
            button.setVisible(not is_shown)
        self._folder.setVisible(not is_shown and bool(self._folder.text()))
        if not is_shown:
            self._update_answers()

    def _resize(self) -> None:
        before = self._height
        self.set_width(self._width)
        if self._height != before:
            self.resized.emit()
