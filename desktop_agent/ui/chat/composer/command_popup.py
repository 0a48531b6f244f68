"""The list of commands above the message field, while a message that begins with a slash is written.

It never takes the focus: the field hands it the keys that it understands. Imported with the first slash.
"""

from collections.abc import Sequence

from PySide6.QtCore import QAbstractListModel, QModelIndex, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from desktop_agent.core.slash.declarations import Declaration
from desktop_agent.ui.chat.composer.command_list import Offer
from desktop_agent.ui.chat.composer.list_popup import ListPopup
from desktop_agent.ui.theme import Height, Space, Theme, TypeSize
from desktop_agent.ui.widgets.rows import AnyIndex, draw_area


class _Commands(QAbstractListModel):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.shown: tuple[Declaration, ...] = ()

    def show(self, commands: Sequence[Declaration]) -> None:
        self.beginResetModel()
        self.shown = tuple(commands)
        self.endResetModel()

    def rowCount(self, parent: AnyIndex | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.shown)

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        if self.shown[index.row()].problem:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        command = self.shown[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return f"/{command.name} {command.arguments}".rstrip()
            case Qt.ItemDataRole.AccessibleTextRole:
                parts = (f"/{command.name} {command.arguments}".rstrip(), self.effect(command), self.origin(command))
                return ", ".join(filter(None, parts))
            case _:
                return None

    def origin(self, command: Declaration) -> str:
        """Say whose command it is, unless it comes with the application."""
        words = {"person": self.tr("yours"), "project": self.tr("project"), "server": self.tr("server")}
        return words.get(command.origin, "")

    def effect(self, command: Declaration) -> str:
        """Say what it does, or why it cannot be used."""
        if command.problem:
            return self.tr("Cannot be used: {problem}").format(problem=command.problem)
        return command.summary


class CommandPopup(ListPopup):
    """Shows what fits, and which of it is chosen.

    Signals:
        chosen: this command (its name) shall stand in the field.
    """

    chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent, "commandPopup")
        self.setAccessibleName(self.tr("Commands"))
        self._commands = _Commands(self)
        self._offer: Offer | None = None
        self._is_moved = False
        self._is_dismissed = False
        self._delegate = _Delegate(theme, self)
        self.setModel(self._commands)
        self.setItemDelegate(self._delegate)
        self.clicked.connect(self._on_clicked)
        self.entered.connect(self._on_entered)

    def show_offer(self, offer: Offer | None) -> None:
        """Show this, or nothing."""
        if offer == self._offer:
            return
        self._offer = offer
        self._is_moved = False
        if offer is None or self._is_dismissed:
            self.hide()
            return
        self._delegate.is_hint = not offer.is_choice
        self._commands.show(offer.commands)
        first = next((row for row, command in enumerate(offer.commands) if not command.problem), None)
        if offer.is_choice and first is not None:
            self.setCurrentIndex(self._commands.index(first))
        self.show()
        self.raise_()

    def place(self, area: QRect, bottom: int) -> None:
        """Stand above `bottom`, as wide as `area`, as high as needed and as there is room for."""
        self.place_above(area.x(), area.width(), bottom, len(self._commands.shown), self._delegate.row_height)

    def takes(self, event: QKeyEvent) -> bool:
        """Act on a key of the field, if it is one for the list; whether it was."""
        offer = self._offer
        if offer is None or self.isHidden() or event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            return False
        key = event.key()
        if key == Qt.Key.Key_Escape:
            self._is_dismissed = True
            self.hide()
            return True
        if not offer.is_choice:
            return False
        match key:
            case Qt.Key.Key_Up | Qt.Key.Key_Down:
                self._step(-1 if key == Qt.Key.Key_Up else 1)
                return True
            case Qt.Key.Key_Tab:
                return self._choose()
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                return (self._is_moved or not offer.is_whole) and self._choose()
            case _:
                return False

    def _step(self, direction: int) -> None:
        usable = [row for row, command in enumerate(self._commands.shown) if not command.problem]
        if not usable:
            return
        row = self.currentIndex().row()
        at = usable.index(row) if row in usable else (-1 if direction > 0 else 0)
        self.setCurrentIndex(self._commands.index(usable[(at + direction) % len(usable)]))
        self._is_moved = True

    def _choose(self) -> bool:
        row = self.currentIndex().row()
        if not 0 <= row < len(self._commands.shown) or self._commands.shown[row].problem:
            return False
        self.chosen.emit(self._commands.shown[row].name)
        return True

    def _on_clicked(self, index: QModelIndex) -> None:
        if self._offer is not None and self._offer.is_choice:
            self.setCurrentIndex(index)
            self._choose()

    def _on_entered(self, index: QModelIndex) -> None:
        if self._offer is not None and self._offer.is_choice and index.flags() & Qt.ItemFlag.ItemIsEnabled:
            self.setCurrentIndex(index)
            self._is_moved = True


class _Delegate(QStyledItemDelegate):
    """A row: the command and its arguments on the left, what it does on the right. A hint has two lines."""

    def __init__(self, theme: Theme, view: CommandPopup) -> None:
        super().__init__(view)
        self._theme = theme
        self.is_hint = False

    @property
    def row_height(self) -> int:
        return Height.LIST_ROW + (Height.SMALL_BUTTON - Space.XS if self.is_hint else 0)

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return QSize(0, self.row_height)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        model = index.model()
        assert isinstance(model, _Commands)
        command = model.shown[index.row()]
        area, state = option.rect, option.state
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        is_current = bool(state & QStyle.StateFlag.State_Selected) and not self.is_hint
        if is_current:
            draw_area(painter, self._theme, QRectF(area), is_selected=True)
        inner = area.adjusted(Space.S, 0, -Space.S, 0)
        first = QRect(inner.x(), inner.y(), inner.width(), Height.LIST_ROW)
        left = inner.width() if self.is_hint else min(int(inner.width() * 0.42), 300)
        painter.setFont(self._theme.code_font(TypeSize.CODE))
        name_colour = "faint" if command.problem else "accent_text" if is_current else "text"
        x = self._text(painter, QRect(first.x(), first.y(), left, first.height()), f"/{command.name}", name_colour)
        rest = QRect(x, first.y(), first.x() + left - x, first.height())
        self._text(painter, rest, f" {command.arguments}" if command.arguments else "", "muted")
        below = inner.adjusted(0, Height.LIST_ROW - Space.S, 0, -Space.XS)
        rest = below if self.is_hint else first.adjusted(left + Space.M, 0, 0, 0)
        painter.setFont(self._theme.text_font(TypeSize.SECONDARY))
        colour = "faint" if command.problem else "muted"
        if origin := model.origin(command):
            tag = painter.fontMetrics().horizontalAdvance(origin)
            self._text(painter, QRect(rest.right() - tag, rest.y(), tag + 1, rest.height()), origin, colour)
            rest.setWidth(rest.width() - tag - 12)
        self._text(painter, rest, model.effect(command), colour)
        painter.restore()

    def _text(self, painter: QPainter, area: QRect, text: str, colour: str) -> int:
        """Draw as much of `text` as fits and return where it ends."""
        painter.setPen(self._theme.colour(colour))
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, max(area.width(), 0))
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
        return area.x() + painter.fontMetrics().horizontalAdvance(shown)
