"""The plan that waits for the user: a bar that names it, and a window in which it is read, edited and commented on."""

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from desktop_agent.ui.theme import Space, Theme, TypeSize
from desktop_agent.ui.widgets.banner import BannerFrame
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, resize_within_screen, set_names, vbox
from desktop_agent.ui.wording.visible_text import one_line

_SIZE = QSize(720, 620)
_LEAST_SIZE = QSize(360, 240)


class PlanBar(BannerFrame):
    edited = Signal(str)
    accepted = Signal(str)  # the plan to carry out
    commented = Signal(str)  # the lines that the user wants to write about

    def __init__(self, theme: Theme) -> None:
        super().__init__("planBar")
        self.setProperty("role", "bar")  # not a warning
        self._title.setProperty("role", "strong")
        self._theme = theme
        self._plan = ""
        self._window: PlanWindow | None = None
        self.add_button(self.tr("Read and edit…"), "openPlanButton", self._open)
        self.add_button(self.tr("Carry out"), "carryOutPlanButton", lambda: self.accepted.emit(self._plan))

    def show_plan(self, plan: str) -> None:
        """Offer a plan. Without text, hide the bar, and let the plan only be read."""
        self._plan = plan
        title = next((line.lstrip("# ") for line in plan.splitlines() if line.strip()), "")
        self.say(self.tr("Plan: {0}").format(one_line(title)), "")
        self.setVisible(bool(plan))
        if self._window is not None:
            self._window.show_plan(plan)

    def _open(self) -> None:
        if self._window is None:
            self._window = PlanWindow(self._plan, self._theme, self)
            self._window.destroyed.connect(self._forget)
        self._window.show()
        self._window.activateWindow()

    def _forget(self) -> None:
        self._window = None


class PlanWindow(QWidget):
    """Edits are kept when the user turns to another window, and so before a turn can begin."""

    def __init__(self, plan: str, theme: Theme, bar: PlanBar) -> None:
        super().__init__(bar.window(), Qt.WindowType.Window)
        set_names(self, "planWindow", self.tr("Plan"))
        self.setWindowTitle(self.tr("Plan"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._bar = bar
        self._kept = plan
        self._edit = QPlainTextEdit(plan)
        set_names(self._edit, "planEdit", self.tr("Plan"))
        self._edit.setFont(theme.code_font(TypeSize.CODE))
        hint = make_label(self.tr("Your changes are kept. The agent reads them."), role="secondary", wraps=True)
        tip = self.tr("Quotes the selected lines, or the line of the caret, in your message")
        comment = make_button(self.tr("Comment"), "commentPlanButton", clicked=self._comment, tooltip=tip)
        self._accept_button = accept = make_button(
            self.tr("Carry out"), "acceptPlanButton", clicked=self._accept, variant="primary"
        )
        QShortcut(QKeySequence("Ctrl+Return"), self, accept.click)
        QShortcut(QKeySequence("Escape"), self, self.close)
        row = hbox((hint, 1), STRETCH, comment, accept, spacing=Space.S)
        vbox((self._edit, 1), row, on=self, margins=(Space.L, Space.L, Space.L, Space.L), spacing=Space.M)
        resize_within_screen(self, _SIZE, _LEAST_SIZE)

    @property
    def text(self) -> str:
        return self._edit.toPlainText()

    def show_plan(self, plan: str) -> None:
        self._edit.setReadOnly(not plan)
        self._accept_button.setEnabled(bool(plan))
        if plan and plan != self.text:
            self._kept = plan
            self._edit.setPlainText(plan)

    def _comment(self) -> None:
        cursor = self._edit.textCursor()
        first, last = sorted((cursor.anchor(), cursor.position()))
        document = self._edit.document()
        lines = range(document.findBlock(first).blockNumber(), document.findBlock(last).blockNumber() + 1)
        self._bar.commented.emit("\n".join(document.findBlockByNumber(line).text() for line in lines))
        self.close()

    def _accept(self) -> None:
        self._kept = self.text
        self._bar.accepted.emit(self.text)
        self.close()

    def _keep(self) -> None:
        if self.text != self._kept and self.text.strip():
            self._kept = self.text
            self._bar.edited.emit(self.text)

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.ActivationChange and not self.isActiveWindow():
            self._keep()
        super().changeEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        self._keep()
        super().closeEvent(event)
