"""The completion lists above the message field: commands after a slash, mentions after an `@`.

The lists never take the focus; the field passes keys to them. Imported at the first slash or `@`.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from PySide6.QtCore import QEvent, QModelIndex, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import QListView, QStyle, QStyleOptionViewItem, QWidget

from desktop_agent.core.base.matching import Span
from desktop_agent.core.mentions.offers import MentionOffer, OfferKind
from desktop_agent.core.slash.declarations import Declaration, is_command
from desktop_agent.ui.theme import Height, Space, Theme, TypeSize
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.popup import ChoiceModel
from desktop_agent.ui.widgets.rows import (
    RIGHT,
    AnyIndex,
    ModelDelegate,
    draw_area,
    draw_emphasised,
    draw_ground,
    draw_line,
    set_up_list,
    spans_within,
)

MAX_ROWS = 8
FRAME = 5


class ListPopup(QListView):
    row_height = Height.LIST_ROW
    is_choice = True
    """Whether there is something to choose. Otherwise the list only says what can be written."""

    def __init__(self, theme: Theme, parent: QWidget, name: str, model: ChoiceModel[Any]) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.ring = set_up_list(self)
        self.viewport().setMouseTracking(True)  # the viewport was replaced
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setModel(model)
        self._theme = theme
        self._choices = model
        self._is_moved = False
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()
        self.clicked.connect(self._on_clicked)
        self.hide()

    def takes(self, event: QKeyEvent) -> bool:
        if self.isHidden() or event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            return False
        match event.key():
            case Qt.Key.Key_Escape:
                self._dismiss()
                return True
            case _ if not self.is_choice:
                return False
            case Qt.Key.Key_Up | Qt.Key.Key_Down as key:
                self._is_moved = True
                by = -1 if key == Qt.Key.Key_Up else 1
                self.setCurrentIndex(self._choices.step_from(self.currentIndex().row(), by))
                return True
            case Qt.Key.Key_Tab:
                return self._choose(goes_on=True)
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                return (self._is_moved or not self._enter_sends) and self._choose()
            case _:
                return False

    def _dismiss(self) -> None:
        raise NotImplementedError

    @property
    def _enter_sends(self) -> bool:
        """Whether Enter sends the message, as long as the user has not moved to another row."""
        raise NotImplementedError

    def _choose(self, *, goes_on: bool = False) -> bool:
        """Choose the current row if possible; return whether it was chosen. With `goes_on`, the user types more."""
        raise NotImplementedError

    def _on_clicked(self, index: QModelIndex) -> None:
        self.setCurrentIndex(index)
        self._choose()

    def _place_above(self, x: int, width: int, bottom: int) -> None:
        height = min(len(self._choices.rows), MAX_ROWS) * self.row_height + 2 * FRAME
        height = min(height, max(bottom - Space.S, self.row_height + 2 * FRAME))
        self.setGeometry(x, bottom - height, width, height)

    def _on_theme_changed(self) -> None:
        colours = self._theme.colours
        self.setStyleSheet(
            f"#{self.objectName()} {{ background: {colours.surface}; border: 1px solid {colours.border_strong};"
            f" border-radius: 8px; padding: {FRAME - 1}px; }}"
        )
        self.viewport().update()


class Offer(Struct, frozen=True):
    commands: tuple[Declaration, ...]
    is_choice: bool
    """Whether a command is still to be chosen; otherwise its arguments are being written."""
    is_whole: bool
    """Whether the text is already a command, so that Enter sends it."""


def offer(text: str, commands: Sequence[Declaration]) -> Offer | None:
    """Return the commands for `text`; `None` if it is not a command or nothing matches."""
    if not is_command(text):
        return None
    name, space, _ = text[1:].partition(" ")
    name = name.lower()
    if "\n" in name or "\t" in name:
        return None
    exact = [command for command in commands if command.name == name and not command.problem]
    if space:
        shown = tuple(command for command in exact if command.arguments)
        return Offer(shown[:1], is_choice=False, is_whole=True) if shown else None
    ranked = [(_rank(command, name), index) for index, command in enumerate(commands)]
    shown = tuple(commands[index] for rank, index in sorted(ranked) if rank < _NO_MATCH)
    if not shown or (len(shown) == 1 and exact and not exact[0].arguments):
        return None
    return Offer(shown, is_choice=True, is_whole=bool(exact))


_NO_MATCH = 100


def _rank(command: Declaration, typed: str) -> int:
    """Return how well a command matches: 0 is best, and unusable commands come last."""
    name = command.name
    if name == typed:
        rank = 0
    elif name.startswith(typed):
        rank = 1
    elif any(part.startswith(typed) for part in name.replace("-", ":").replace("_", ":").split(":")):
        rank = 2
    elif len(typed) > 1 and typed in name:
        rank = 3
    else:
        return _NO_MATCH
    return rank + 10 if command.problem else rank


class _Commands(ChoiceModel[Declaration]):
    def is_choice(self, row: Declaration) -> bool:
        return not row.problem

    def text(self, row: Declaration) -> str:
        return f"/{row.name} {row.arguments}".rstrip()

    def words(self, row: Declaration) -> list[str]:
        return [words for words in (self.text(row), self.effect(row), self.origin(row)) if words]

    def tooltip(self, row: Declaration) -> str:
        return ""

    def origin(self, command: Declaration) -> str:
        words = {
            "person": self.tr("yours"),
            "project": self.tr("project"),
            "skill": self.tr("skill"),
            "server": self.tr("server"),
        }
        return words.get(command.origin, "")

    def effect(self, command: Declaration) -> str:
        if command.problem:
            return self.tr("Cannot be used: {problem}").format(problem=command.problem)
        return command.summary if self.origin(command) else core_words(command.summary)


class CommandPopup(ListPopup):
    chosen = Signal(str)  # the name of the command

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        self._commands = _Commands()
        super().__init__(theme, parent, "commandPopup", self._commands)
        self.setAccessibleName(self.tr("Commands"))
        self._offer: Offer | None = None
        self._is_dismissed = False
        self._delegate = _CommandDelegate(self._commands, theme, self.ring, self)
        self.setItemDelegate(self._delegate)
        self.entered.connect(self._on_entered)

    def follow(self, text: str, commands: Sequence[Declaration]) -> None:
        shown = offer(text, commands)
        if shown == self._offer:
            return
        self._offer = shown
        self.is_choice = shown is not None and shown.is_choice
        self._is_moved = False
        if shown is None or self._is_dismissed:
            self.hide()
            return
        self._delegate.is_hint = not shown.is_choice
        self.row_height = self._delegate.row_height
        self._commands.show(shown.commands)
        if shown.is_choice:
            self.setCurrentIndex(self._commands.step_from(-1, 1))
        self.show()
        self.raise_()

    def place(self, area: QRect, bottom: int) -> None:
        self._place_above(area.x(), area.width(), bottom)

    def _dismiss(self) -> None:
        self._is_dismissed = True
        self.hide()

    @property
    def _enter_sends(self) -> bool:
        return self._offer is not None and self._offer.is_whole

    def _choose(self, *, goes_on: bool = False) -> bool:
        index = self.currentIndex()
        if not self.is_choice or not index.flags() & Qt.ItemFlag.ItemIsEnabled:
            return False
        self.chosen.emit(self._commands.rows[index.row()].name)
        return True

    def _on_entered(self, index: QModelIndex) -> None:
        if self.is_choice and index.flags() & Qt.ItemFlag.ItemIsEnabled:
            self.setCurrentIndex(index)
            self._is_moved = True


class _CommandDelegate(ModelDelegate[_Commands]):
    is_hint = False

    @property
    def row_height(self) -> int:
        return Height.LIST_ROW + (Height.SMALL_BUTTON - Space.XS if self.is_hint else 0)

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return QSize(0, self.row_height)

    def draw(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        model = self.model
        command = model.rows[index.row()]
        area, state = option.rect, option.state
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        is_current = bool(state & QStyle.StateFlag.State_Selected) and not self.is_hint
        if is_current:
            draw_area(painter, self.theme, QRectF(area), is_selected=True)
        inner = QRectF(area).adjusted(Space.S, 0, -Space.S, 0)
        left = inner.width() if self.is_hint else min(inner.width() * 0.42, 300)
        name = QRectF(inner.left(), inner.top(), left, Height.LIST_ROW)
        code, small = self.theme.code_font(TypeSize.CODE), self.theme.text_font(TypeSize.SECONDARY)
        colour = self.theme.colour("faint" if command.problem else "accent_text" if is_current else "text")
        used = draw_emphasised(painter, self.theme, name, f"/{command.name}", (), colour, code)
        draw_line(painter, name.adjusted(used, 0, 0, 0), f" {command.arguments}", code, self.theme.colour("muted"))
        below = inner.adjusted(0, Height.LIST_ROW - Space.S, 0, -Space.XS)
        rest = below if self.is_hint else inner.adjusted(left + Space.M, 0, 0, 0)
        colour = self.theme.colour("faint" if command.problem else "muted")
        if origin := model.origin(command):
            draw_line(painter, rest, origin, small, colour, RIGHT)
            rest.setRight(rest.right() - QFontMetricsF(small).horizontalAdvance(origin) - Space.M)
        draw_line(painter, rest, model.effect(command), small, colour)


_WIDTH = 460
_LEAST_WIDTH = 240


class _Offers(ChoiceModel[MentionOffer]):
    def add(self, offers: Sequence[MentionOffer]) -> None:
        if offers:
            self.beginInsertRows(QModelIndex(), len(self.rows), len(self.rows) + len(offers) - 1)
            self.rows = (*self.rows, *offers)
            self.endInsertRows()

    def text(self, row: MentionOffer) -> str:
        return row.label

    def words(self, row: MentionOffer) -> list[str]:
        return [words for words in (row.label, self.kind_words(row.kind), row.detail) if words]

    def tooltip(self, row: MentionOffer) -> str:
        return ""

    def kind_words(self, kind: OfferKind) -> str:
        words = {
            "file": self.tr("file"),
            "folder": self.tr("folder"),
            "session": self.tr("session"),
            "resource": self.tr("resource"),
            "template": self.tr("template"),
            "source": self.tr("source"),
            "function": self.tr("function"),
            "class": self.tr("class"),
            "type": self.tr("type"),
            "constant": self.tr("constant"),
            "module": self.tr("module"),
        }
        return words[kind]


class MentionPopup(ListPopup):
    dismissed = Signal()
    chosen = Signal(object, bool)  # a `MentionOffer`, and whether the user types on in it: Tab on a folder

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        self._offers = _Offers()
        super().__init__(theme, parent, "mentionPopup", self._offers)
        self.setAccessibleName(self.tr("Mentions"))
        self._window = parent
        self._typed = ""
        self._is_pointed_at = False
        self.setItemDelegate(_MentionDelegate(self._offers, theme, self.ring, self))

    @property
    def offers(self) -> tuple[MentionOffer, ...]:
        return self._offers.rows

    @property
    def is_in_use(self) -> bool:
        """Whether the user has moved in the list or points at it. If so, its rows must not move."""
        return self.isVisible() and (self._is_moved or self._is_pointed_at)

    def show_offers(self, offers: Sequence[MentionOffer], typed: str) -> None:
        """Show the offers. The first is preselected only if it is close, so that Enter after `@property` sends."""
        self._typed = typed
        self._is_moved = False
        self._offers.show(offers)
        if offers[0].is_close:
            self.setCurrentIndex(self._offers.index(0))
        self.show()
        self.raise_()

    def add_offers(self, offers: Sequence[MentionOffer]) -> None:
        shown = {(offer.label, offer.detail) for offer in self.offers}
        self._offers.add([offer for offer in offers if (offer.label, offer.detail) not in shown])

    def place(self, at: QPoint) -> None:
        room = self._window.width() - 2 * Space.S
        width = max(min(_WIDTH, room), min(_LEAST_WIDTH, room))
        x = max(Space.S, min(at.x() - Space.S, self._window.width() - width - Space.S))
        self._place_above(x, width, at.y())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._is_pointed_at = True  # a resting mouse below a new list points at nothing
        super().mouseMoveEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        self._is_pointed_at = False
        super().leaveEvent(event)

    def _dismiss(self) -> None:
        self.dismissed.emit()

    @property
    def _enter_sends(self) -> bool:
        return not self.offers[0].is_close or self.offers[0].written == self._typed

    def _choose(self, *, goes_on: bool = False) -> bool:
        self.chosen.emit(self.offers[max(self.currentIndex().row(), 0)], goes_on)
        return True


class _MentionDelegate(ModelDelegate[_Offers]):
    def draw(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        offer = self.model.rows[index.row()]
        colour = draw_ground(painter, self.theme, option, self.ring)
        area = QRectF(option.rect).adjusted(Space.S, 0, -Space.S, 0)
        small, muted = self.small_font, self.theme.colour("muted")
        if offer.kind not in ("file", "folder"):
            words = self.model.kind_words(offer.kind)
            draw_line(painter, area, words, small, muted, RIGHT)
            area.setRight(area.right() - QFontMetricsF(small).horizontalAdvance(words) - Space.M)
        name, spans, detail, detail_spans = _parts(offer)
        used = draw_emphasised(painter, self.theme, area, name, spans, colour, self.text_font)
        area.setLeft(area.left() + used + Space.S)
        metrics = QFontMetricsF(small)
        shown = metrics.elidedText(detail, Qt.TextElideMode.ElideMiddle, max(area.width(), 0))
        draw_emphasised(painter, self.theme, area, shown, detail_spans if shown == detail else (), muted, small)


def _parts(offer: MentionOffer) -> tuple[str, Sequence[Span], str, Sequence[Span]]:
    """Return the name with its spans, and the text after it with its spans. For a path, that text is the folder."""
    if offer.kind not in ("file", "folder"):
        return offer.label, offer.spans, offer.detail, ()
    at = offer.label.rstrip("/").rfind("/") + 1
    folder_end = max(at - 1, 0)
    name, folder = spans_within(offer.spans, at, len(offer.label)), spans_within(offer.spans, 0, folder_end)
    return offer.label[at:], name, offer.label[:folder_end], folder
