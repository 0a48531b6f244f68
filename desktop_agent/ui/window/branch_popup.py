"""The popup of the branch button: what is checked out, branches to switch to, a new one, and the push."""

from functools import partial
from typing import Literal

from msgspec import Struct
from PySide6.QtCore import QCoreApplication, QModelIndex, QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QListView, QStyleOptionViewItem, QWidget

from desktop_agent.core.base.matching import Span, find_matches
from desktop_agent.core.system.git.repository import Push, RepoStatus
from desktop_agent.ui.theme import Height, Space, Theme
from desktop_agent.ui.translation import plural
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hairline, set_names, vbox
from desktop_agent.ui.widgets.popup import ChoiceModel, FilterPopup
from desktop_agent.ui.widgets.question import Question
from desktop_agent.ui.widgets.rows import RIGHT, AnyIndex, ModelDelegate, draw_emphasised, draw_ground, draw_line
from desktop_agent.ui.wording import branch_words

_tr = partial(QCoreApplication.translate, "Branches")


class BranchRow(Struct, frozen=True):
    kind: Literal["branch", "current", "new", "push", "stop"]
    text: str
    name: str = ""
    spans: tuple[Span, ...] = ()


class BranchRows(ChoiceModel[BranchRow]):
    def is_choice(self, row: BranchRow) -> bool:
        return row.kind != "current"

    def text(self, row: BranchRow) -> str:
        return row.text

    def words(self, row: BranchRow) -> list[str]:
        return [row.text, *([_tr("checked out")] if row.kind == "current" else [])]


class BranchDelegate(ModelDelegate[ChoiceModel[BranchRow]]):
    def draw(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        row = self.model.rows[index.row()]
        area = QRectF(option.rect).adjusted(Space.S, 0, -Space.S, 0)
        muted = self.theme.colour("muted")
        colour = muted if row.kind == "current" else draw_ground(painter, self.theme, option, self.ring)
        if row.kind == "current":
            draw_line(painter, area, _tr("checked out"), self.small_font, muted, RIGHT)
            area.setRight(area.right() - area.width() / 4)
        if row.spans:
            draw_emphasised(painter, self.theme, area, row.text, row.spans, colour, self.text_font)
        else:
            draw_line(painter, area, row.text, self.text_font, colour)


Busy = Literal["", "switch", "push"]

_WIDTH = 420
_MOST_ROWS = 12
_LEAST_ROWS = 3
_MOST_FOUND = 200
_MARGIN = 8


class BranchPopup(FilterPopup[BranchRow]):
    switch_requested = Signal(str, bool)  # the branch, and whether to make it
    push_requested = Signal()
    stop_requested = Signal()

    def __init__(self, theme: Theme, over: QWidget, button: QWidget) -> None:
        super().__init__(theme, over, button, BranchRows(), QListView(), page_rows=10)
        set_names(self, "branchPopup", self.tr("Branches"))
        set_names(self._field, "branchField", self.tr("Switch to a branch, or name a new one"))
        self._field.setPlaceholderText(self.tr("Switch to a branch, or name a new one"))
        set_names(self._list, "branchList", self.tr("Branches"))
        self._anchor = button
        self._list.setItemDelegate(BranchDelegate(self._model, theme, self._ring, self._list))
        self._list.clicked.connect(self._choose)
        self._state = make_label(role="secondary", wraps=True, is_plain=True)
        self._state.setObjectName("branchState")
        self._state.setContentsMargins(Space.S, 0, Space.S, 0)
        self._branches: tuple[str, ...] = ()
        self._status = RepoStatus()
        self._busy: Busy = ""
        self._is_naming = False
        margins = (Space.S, Space.S, Space.S, Space.S)
        vbox(self._field, (self._list, 1), hairline(), self._state, on=self, margins=margins, spacing=Space.S)

    @property
    def rows(self) -> tuple[BranchRow, ...]:
        return self._model.rows

    def open_popup(self) -> None:
        self._is_naming = False
        self._type("")
        if not self._busy:
            self.say("")
        super().open_popup()
        self._field.setFocus(Qt.FocusReason.PopupFocusReason)

    def show_branches(self, branches: tuple[str, ...]) -> None:
        self._branches = branches
        self._show_rows()

    def show_status(self, status: RepoStatus) -> None:
        is_old = self._state.text() == branch_words(self._status)
        self._status = status
        if is_old and not self._busy:
            self.say("")
        self._show_rows()

    def set_busy(self, busy: Busy) -> None:
        """While busy, only a push can be stopped: a switch that is cut off would leave half of the files."""
        self._busy = busy
        self._show_rows()

    def say(self, words: str) -> None:
        """Show what happens or has happened; without words, what is checked out."""
        self._state.setText(words or branch_words(self._status))
        self._place()

    def _on_text(self) -> None:
        self._show_rows()

    def _show_rows(self) -> None:
        query, rows = self._field.text().strip(), list[BranchRow]()
        if self._busy:
            rows = [BranchRow("stop", self.tr("Stop pushing"))] if self._busy == "push" else []
        elif query:
            found = [] if self._is_naming else find_matches(self._branches, query, limit=_MOST_FOUND).best
            rows = [self._row(match.text, match.spans) for match in found]
            name = "-".join(query.split())
            if name not in self._branches:
                rows.append(BranchRow("new", self.tr("New branch “{0}”").format(name), name))
        else:
            rows = [BranchRow("push", self.tr("Push…")), BranchRow("new", self.tr("New branch…"))]
            rows += [self._row(name) for name in self._branches]
        self._model.show(rows)
        self._list.setCurrentIndex(self._model.step_from(-1, 1))
        self._place()

    def _row(self, name: str, spans: tuple[Span, ...] = ()) -> BranchRow:
        return BranchRow("current" if name == self._status.branch else "branch", name, name, spans)

    def _choose(self, index: QModelIndex) -> None:
        row = self._model.rows[index.row()] if index.isValid() else None
        match row:
            case BranchRow(kind="branch"):
                self.switch_requested.emit(row.name, False)
            case BranchRow(kind="new", name=""):
                self._is_naming = True
                self.say(self.tr("Type the name of the new branch, and press Enter. It begins at what is checked out."))
            case BranchRow(kind="new"):
                self.switch_requested.emit(row.name, True)
            case BranchRow(kind="push"):
                self.push_requested.emit()
            case BranchRow(kind="stop"):
                self.stop_requested.emit()
            case _:
                pass

    def _place(self) -> None:
        area = self._over.rect().adjusted(_MARGIN, Height.TOP_BAR, -_MARGIN, -_MARGIN)
        width = min(_WIDTH, area.width())
        left = self._anchor.mapTo(self._over, QPoint(0, 0)).x()
        left = max(area.left(), min(left, area.right() + 1 - width))
        said = self._state.heightForWidth(width - 2 * Space.S)
        rows = max(_LEAST_ROWS, min(self._model.rowCount(), _MOST_ROWS))
        height = self._field.sizeHint().height() + rows * Height.LIST_ROW + said + 5 * Space.S + 3
        self.setGeometry(left, area.top(), width, min(height, area.height()))


class PushQuestion(Question):
    def __init__(self, parent: QWidget, push: Push) -> None:
        count = plural("Branches", push.count, "%n commit", "%n commits")
        text = self.tr("Push {0} of the branch {1} to {2}?").format(count, push.branch, push.remote)
        more = [f"• {subject}" for subject in push.subjects]
        if len(more) < push.count:
            more.append(plural("Branches", push.count - len(more), "… and %n more", "… and %n more"))
        if push.is_new:
            more.append("")
            more.append(self.tr("{0} does not have this branch yet.").format(push.remote))
        super().__init__(parent, "pushDialog", self.tr("Push"), text, "\n".join(more).strip())
