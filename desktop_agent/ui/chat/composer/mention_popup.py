"""The list of what can be mentioned, at the `@` that is being typed. Imported with the first one."""

from collections.abc import Sequence

from PySide6.QtCore import QAbstractListModel, QEvent, QModelIndex, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from desktop_agent.core.base.matching import Span
from desktop_agent.core.mentions.offers import MentionOffer, OfferKind
from desktop_agent.ui.chat.composer.list_popup import ListPopup
from desktop_agent.ui.theme import Height, Space, Theme, TypeSize
from desktop_agent.ui.widgets.emphasis import draw_emphasised
from desktop_agent.ui.widgets.rows import RIGHT, AnyIndex, draw_area, draw_line

_WIDTH = 460
_LEAST_WIDTH = 240


class _Offers(QAbstractListModel):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.shown: tuple[MentionOffer, ...] = ()

    def show(self, offers: Sequence[MentionOffer]) -> None:
        self.beginResetModel()
        self.shown = tuple(offers)
        self.endResetModel()

    def add(self, offers: Sequence[MentionOffer]) -> None:
        if offers:
            self.beginInsertRows(QModelIndex(), len(self.shown), len(self.shown) + len(offers) - 1)
            self.shown = (*self.shown, *offers)
            self.endInsertRows()

    def rowCount(self, parent: AnyIndex | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.shown)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        offer = self.shown[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return offer.label
            case Qt.ItemDataRole.AccessibleTextRole:
                return ", ".join(filter(None, (offer.label, self.kind_words(offer.kind), offer.detail)))
            case _:
                return None

    def kind_words(self, kind: OfferKind) -> str:
        """Say what an offer is."""
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
    """Shows what fits, and which of it is chosen.

    Signals:
        chosen: this `MentionOffer` shall stand in the field; with Tab, so that a folder is gone on with.
    """

    chosen = Signal(object, bool)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent, "mentionPopup")
        self.setAccessibleName(self.tr("Mentions"))
        self._window = parent
        self._offers = _Offers(self)
        self._typed = ""
        self._is_moved = False
        self._is_pointed_at = False
        self._delegate = _Delegate(theme, self)
        self.setModel(self._offers)
        self.setItemDelegate(self._delegate)
        self.clicked.connect(self._on_clicked)

    @property
    def offers(self) -> tuple[MentionOffer, ...]:
        """What is shown."""
        return self._offers.shown

    @property
    def is_in_use(self) -> bool:
        """Whether the user has chosen among what is shown, or points at it: then it must not move."""
        return self.isVisible() and (self._is_moved or self._is_pointed_at)

    def show_offers(self, offers: Sequence[MentionOffer], typed: str) -> None:
        """Show these, of which there is at least one, for what is typed. The first one is chosen if it fits closely.

        So `@property` at the end of a message is sent by Enter, and does not become some file with these letters.
        """
        self._typed = typed
        self._is_moved = False
        self._offers.show(offers)
        if offers[0].is_close:
            self.setCurrentIndex(self._offers.index(0))
        self.show()
        self.raise_()

    def add_offers(self, offers: Sequence[MentionOffer]) -> None:
        """Show those of these that are not there yet below the others, which stay as they are."""
        shown = {(offer.label, offer.detail) for offer in self.offers}
        self._offers.add([offer for offer in offers if (offer.label, offer.detail) not in shown])

    def place(self, at: QPoint) -> None:
        """Stand above this place of the window, moved to the left where there is no room."""
        room = self._window.width() - 2 * Space.S
        width = max(min(_WIDTH, room), min(_LEAST_WIDTH, room))
        x = max(Space.S, min(at.x() - Space.S, self._window.width() - width - Space.S))
        self.place_above(x, width, at.y(), len(self.offers), Height.LIST_ROW)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._is_pointed_at = True  # one that only happens to be there when the list opens points at nothing
        super().mouseMoveEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        self._is_pointed_at = False
        super().leaveEvent(event)

    def takes(self, event: QKeyEvent) -> bool:
        """Act on a key of the field, if it is one for the list; whether it was."""
        if self.isHidden() or event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            return False
        match event.key():
            case Qt.Key.Key_Up:
                self._step(-1)
            case Qt.Key.Key_Down:
                self._step(1)
            case Qt.Key.Key_Tab:
                self._choose(goes_on=True)
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                if not self._is_moved and (not self.offers[0].is_close or self.offers[0].written == self._typed):
                    return False  # Enter sends the message
                self._choose(goes_on=False)
            case _:
                return False
        return True

    def _step(self, direction: int) -> None:
        self._is_moved = True
        row = self.currentIndex().row()
        row = (row + direction) % len(self.offers) if row >= 0 or direction > 0 else len(self.offers) - 1
        self.setCurrentIndex(self._offers.index(row))

    def _choose(self, *, goes_on: bool) -> None:
        self.chosen.emit(self.offers[max(self.currentIndex().row(), 0)], goes_on)

    def _on_clicked(self, index: QModelIndex) -> None:
        self.chosen.emit(self.offers[index.row()], False)


class _Delegate(QStyledItemDelegate):
    """A row: the name with what fitted, then where it is, and on the right what it is."""

    def __init__(self, theme: Theme, view: MentionPopup) -> None:
        super().__init__(view)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return QSize(0, Height.LIST_ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        model = index.model()
        assert isinstance(model, _Offers)
        offer = model.shown[index.row()]
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        is_current = bool(option.state & QStyle.StateFlag.State_Selected)
        is_under_mouse = bool(option.state & QStyle.StateFlag.State_MouseOver)
        if is_current or is_under_mouse:
            draw_area(painter, self._theme, QRectF(option.rect), is_selected=is_current)
        area = QRectF(option.rect).adjusted(Space.S, 0, -Space.S, 0)
        small = self._theme.text_font(TypeSize.HEAD)
        if offer.kind not in ("file", "folder"):
            words = model.kind_words(offer.kind)
            draw_line(painter, area, words, small, self._theme.colour("muted"), RIGHT)
            area.setRight(area.right() - QFontMetricsF(small).horizontalAdvance(words) - Space.M)
        name, spans, detail, detail_spans = _parts(offer)
        colour = self._theme.colour("accent_text" if is_current else "text")
        used = draw_emphasised(painter, self._theme, area, name, spans, colour, self._theme.text_font(TypeSize.BODY))
        area.setLeft(area.left() + used + Space.S)
        metrics = QFontMetricsF(small)
        shown = metrics.elidedText(detail, Qt.TextElideMode.ElideMiddle, max(area.width(), 0))
        muted = self._theme.colour("muted")
        draw_emphasised(painter, self._theme, area, shown, detail_spans if shown == detail else (), muted, small)
        painter.restore()


def _parts(offer: MentionOffer) -> tuple[str, Sequence[Span], str, Sequence[Span]]:
    """Return the name with its spans, and what stands behind it with its own: of a path the folder."""
    if offer.kind not in ("file", "folder"):
        return offer.label, offer.spans, offer.detail, ()
    at = offer.label.rstrip("/").rfind("/") + 1
    name = [(max(start, at) - at, end - at) for start, end in offer.spans if end > at]
    folder = [(start, min(end, at - 1)) for start, end in offer.spans if start < at - 1]
    return offer.label[at:], name, offer.label[: max(at - 1, 0)], folder
