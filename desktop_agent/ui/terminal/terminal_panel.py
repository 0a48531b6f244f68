"""The terminal below the conversation: its screen and its controls."""

from collections.abc import Iterator
from functools import partial

from PySide6.QtCore import QPoint, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDockWidget, QMainWindow, QMenu, QPlainTextEdit, QWidget

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.terminal.emulator import Emulator
from desktop_agent.ui.runtime.pacing import GradualWork
from desktop_agent.ui.terminal.screen_text import Selection, find_in
from desktop_agent.ui.terminal.screen_view import PasteRisk, TerminalView, paste_risk, paste_shown, pasted
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation import plural
from desktop_agent.ui.widgets.buttons import compact_button
from desktop_agent.ui.widgets.find_bar import FindBar, FindTarget
from desktop_agent.ui.widgets.labels import ElidedLabel, Note, make_label, show_text
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, hbox, set_names, vbox

_LINES_AT_ONCE = 50
_MOST_PLACES = 1_000


class TerminalFinder(FindTarget):
    """Selects matches in a terminal, the last match first, and continues while the window is idle."""

    def __init__(self, view: TerminalView) -> None:
        super().__init__(view.pointer)
        self._view = view
        self._work = GradualWork(self)
        self._places: list[Selection] = []
        """The matches found so far, from the last one in the text on. Earlier ones are found later."""
        self._at = 0
        self._is_reading = False

    @property
    def has_unread(self) -> bool:
        return self._is_reading

    def find(self, text: str) -> None:
        self._work.stop()
        self._places, self._at = [], 0
        self._is_reading = bool(text) and self._view.emulator is not None
        self.found.emit(0, 0)
        if self._is_reading:
            self._work.begin(self._search(text))

    def step(self, by: int) -> None:
        if self._places:
            self._at = (self._at - by) % len(self._places)
            self._go()

    def _search(self, text: str) -> Iterator[None]:
        assert self._view.emulator is not None
        for number, places in enumerate(find_in(self._view.emulator.screen, text)):
            is_first = not self._places and bool(places)
            self._places += reversed(places)
            if is_first:
                self._go()
            if len(self._places) >= _MOST_PLACES:
                break
            if number % _LINES_AT_ONCE == 0:
                self._tell()
                yield
        else:
            self._is_reading = False
        self._tell()

    def _go(self) -> None:
        place = self._places[self._at]
        self._view.pointer.select(place)
        self._view.show_row(min(place).row)
        self._tell()

    def _tell(self) -> None:
        count = len(self._places)
        self.found.emit(count - self._at if count else 0, count)


ATTACHED_ROWS = 200
_HEIGHT = 280
_MOST_PREVIEW_ROWS = 5


class TerminalPanel(QWidget):
    typed = Signal(bytes)
    attach_requested = Signal(str)  # text to be sent with the next message
    start_requested = Signal()  # start a shell, after the last shell has ended
    closed = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        set_names(self, "terminalPanel", self.tr("Terminal"))
        self.setProperty("role", "surface")
        self.view = TerminalView(theme)
        self._emulator: Emulator | None = None
        self._waiting = "", PasteRisk(0, has_hidden=False)
        finder = TerminalFinder(self.view)
        self._find_bar = FindBar(finder, self.view, self.tr("Find in the terminal"), name="terminalFindBar")
        self._place = ElidedLabel(role="secondary")
        self._state = make_label(role="secondary", object_name="terminalState")
        self._why = Note(object_name="terminalUnavailable")
        self._asking = QWidget()
        self._question = Note(object_name="terminalPasteQuestion")
        self._preview = QPlainTextEdit(readOnly=True)
        set_names(self._preview, "terminalPastePreview", self.tr("Text to paste"))
        self._preview.setFont(theme.code_font())
        self._build_buttons()
        heading = make_label(self.tr("Terminal"), role="heading")
        parts = (heading, (self._place, 1), STRETCH, self._state, self._again, self._attach, self._close)
        head = hbox(*parts, margins=(Space.M, Space.S, Space.M, Space.XS), spacing=Space.S)
        margins = (Space.M, Space.XS, Space.M, Space.XS)
        question = hbox((self._question, 1), self._asking_no, self._asking_yes, spacing=Space.S)
        vbox(question, self._preview, on=self._asking, margins=margins, spacing=Space.XS)
        self._asking.hide()
        self._why.setContentsMargins(Space.M, Space.S, Space.M, Space.M)
        self._why.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._why.hide()
        vbox(hairline(), head, self._find_bar, self._asking, (self.view, 1), (self._why, 1), on=self)
        self.view.typed.connect(self.typed)
        self.view.pasted.connect(self._on_pasted)
        self.view.find_requested.connect(self.open_find)
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.view.customContextMenuRequested.connect(self._open_menu)
        self.setFocusProxy(self.view)

    def show_terminal(self, emulator: Emulator, place: str) -> None:
        self._emulator = emulator
        self._find_bar.hide()
        self._place.setText(place)
        self._forget_paste()
        self._show(is_available=True)
        self.view.show_terminal(emulator)

    def show_state(self, ended: str, title: str) -> None:
        show_text(self._state, ended)
        self._again.setVisible(bool(ended))
        self._place.setToolTip(named(title))
        self.view.shows_cursor = not ended

    def show_unavailable(self, why: str) -> None:
        self._emulator = None
        self._why.setText(why)
        self._show(is_available=False)
        self.view.show_terminal(None)
        self._again.show()

    def attach(self) -> None:
        if text := self.view.recent_text(ATTACHED_ROWS):
            self.attach_requested.emit(text)

    def open_find(self) -> None:
        if self._emulator is not None:
            self._find_bar.open_bar()

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), _HEIGHT)

    def _open_menu(self, place: QPoint) -> None:
        if self._emulator is None:
            return
        menu = QMenu(self)
        menu.setObjectName("terminalMenu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        copy = menu.addAction(self.tr("Copy"), self.view.copy)
        copy.setShortcuts(self.view.keys.sequences("copy"))
        copy.setEnabled(bool(self.view.pointer.text))
        paste = menu.addAction(self.tr("Paste"), self.view.paste)
        paste.setShortcuts(self.view.keys.sequences("paste"))
        paste.setEnabled(bool(QGuiApplication.clipboard().text()))
        menu.addAction(self.tr("Select all"), self.view.pointer.select_all)
        find = menu.addAction(self.tr("Find…"), self.open_find)
        find.setShortcuts(self.view.keys.sequences("find"))
        menu.addSeparator()
        if (link := self.view.pointer.link_at(QPointF(place))) is not None:
            words = self.tr("Open the address") if link.is_web else self.tr("Open the file")
            menu.addAction(words, partial(self.view.pointer.followed.emit, link))
        menu.addAction(self.tr("Attach output"), self.attach)
        menu.popup(self.view.viewport().mapToGlobal(place))

    def _on_pasted(self, text: str) -> None:
        if self._emulator is None:
            return
        risk = self._risk_of(text)
        if not risk.lines and not risk.has_hidden:
            self._paste(text)
            return
        self._waiting = text, risk
        one = "The program here takes the pasted line at once."
        many = "The running program acts on each of the %n pasted lines at once."
        lines = plural("LiveTerminal", risk.lines, one, many) if risk.lines else ""
        hidden = self.tr("The pasted text contains invisible characters; control characters are left out.")
        self._question.setText(" ".join(filter(None, (lines, hidden if risk.has_hidden else ""))))
        self._preview.setPlainText(paste_shown(text))
        rows = min(_MOST_PREVIEW_ROWS, self._preview.blockCount())
        margin = int(self._preview.document().documentMargin()) + self._preview.frameWidth()
        self._preview.setFixedHeight(rows * self._preview.fontMetrics().lineSpacing() + 2 * margin)
        self._asking.show()
        self._asking_no.setFocus(Qt.FocusReason.OtherFocusReason)

    def _risk_of(self, text: str) -> PasteRisk:
        is_bracketed = self._emulator is not None and self._emulator.screen.modes.brackets_paste
        return paste_risk(text, is_bracketed=is_bracketed)

    def _paste_all_the_same(self) -> None:
        text, risk = self._waiting
        if self._risk_of(text) != risk:  # another program runs now
            self._on_pasted(text)
            return
        self._forget_paste()
        self.view.setFocus(Qt.FocusReason.OtherFocusReason)
        self._paste(text)

    def _paste(self, text: str) -> None:
        is_bracketed = self._emulator is not None and self._emulator.screen.modes.brackets_paste
        self.view.follow()
        self.typed.emit(pasted(text, is_bracketed=is_bracketed))

    def _forget_paste(self) -> None:
        self._waiting = "", PasteRisk(0, has_hidden=False)
        self._preview.clear()
        had_focus = self._asking.isAncestorOf(self.focusWidget() or self)
        self._asking.hide()
        if had_focus:
            self.view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show(self, *, is_available: bool) -> None:
        self.view.setVisible(is_available)
        self._why.setVisible(not is_available)
        self._attach.setEnabled(is_available)
        self._state.setVisible(False)
        self._again.hide()

    def _build_buttons(self) -> None:
        self._attach = compact_button(
            self.tr("Attach output"),
            "terminalAttachButton",
            clicked=self.attach,
            variant="flat",
            tooltip=self.tr("Attach what is selected, or the last lines, to the message"),
        )
        self._again = compact_button(self.tr("Start again"), "terminalStartButton", clicked=self.start_requested)
        self._close = compact_button(
            "✕",
            "terminalCloseButton",
            clicked=self.closed,
            variant="flat",
            accessible_name=self.tr("Hide the terminal"),
            tooltip=self.tr("Hide. Running programs continue."),
        )
        self._asking_no = compact_button(self.tr("Do not paste"), "terminalPasteNo", clicked=self._forget_paste)
        self._asking_yes = compact_button(self.tr("Paste"), "terminalPasteYes", clicked=self._paste_all_the_same)


class TerminalDock(QDockWidget):
    def __init__(self, window: QMainWindow, panel: TerminalPanel) -> None:
        super().__init__(self.tr("Terminal"), window)
        self.setObjectName("terminalDock")
        self.setTitleBarWidget(QWidget(self))
        self.setWidget(panel)
        window.setCorner(Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.LeftDockWidgetArea)
        window.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
        if not window.restoreDockWidget(self):  # its position and height
            window.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, self)
            window.resizeDocks([self], [_HEIGHT], Qt.Orientation.Vertical)
