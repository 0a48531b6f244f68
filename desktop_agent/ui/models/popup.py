"""The picker itself: a field to search in, the list of models, how old that is. Imported when it is opened first."""

from collections.abc import Callable
from datetime import datetime

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, QRect, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QLineEdit, QWidget

from desktop_agent.ui.models.choices import ChoiceRow, Choices
from desktop_agent.ui.models.effort_choice import EffortChoice
from desktop_agent.ui.models.foot import PickerFoot
from desktop_agent.ui.models.list_model import ModelRows
from desktop_agent.ui.models.list_view import ModelList
from desktop_agent.ui.models.offers import ModelKey
from desktop_agent.ui.models.words import age_words
from desktop_agent.ui.theme import Height, Space, Theme
from desktop_agent.ui.widgets.icons import Icons
from desktop_agent.ui.widgets.layouts import hairline, vbox
from desktop_agent.ui.widgets.overlay.press_beside import PressBeside
from desktop_agent.ui.widgets.overlay.raised_frame import RaisedFrame

_WIDTH = 600
_MOST_ROWS = 14
_LEAST_ROWS = 6
_PAGE = 8
_MARGIN = 8
_STAR_KEYS = QKeySequence("Ctrl+D")


class ModelPopup(RaisedFrame):
    """Lies over `over`, above the button that opens it. Asks for a model; the session decides.

    Signals:
        chosen: the user wants this model (a `ModelKey`), and this level of effort; None leaves that open.
        connect_requested: they want to use this account (an `AccountOffers`), which has no credential.
        refresh_requested: the lists shall be asked for.
        favourite_toggled: the user marked this model (a `ModelKey`), or no longer.
        closing: it goes away, and the keyboard should be elsewhere.
    """

    chosen = Signal(object, object)
    connect_requested = Signal(object)
    refresh_requested = Signal()
    favourite_toggled = Signal(object)
    closing = Signal()

    def __init__(
        self, theme: Theme, icons: Icons, over: QWidget, anchor: QWidget, *, now: Callable[[], datetime]
    ) -> None:
        super().__init__(theme, over)
        self.setObjectName("modelPopup")
        self.setAccessibleName(self.tr("Choose a model"))
        self._over = over
        self._anchor = anchor
        self._now = now
        self._choices = Choices()
        self._all: tuple[ChoiceRow, ...] = ()
        """The rows while nothing is typed."""
        self._find: Callable[[str], tuple[ChoiceRow, ...]] | None = None
        """Made when the first letter is typed."""
        self._rows = ModelRows(self)
        self._presses = PressBeside(self, anchor)
        self._presses.pressed.connect(self.close_popup)
        over.installEventFilter(self)
        self._field = self._build_field()
        self._field.installEventFilter(self)
        self._list = ModelList(self._rows, theme, icons)
        self._list.chosen.connect(self._choose)
        self._list.starred.connect(self._toggle_star)
        self._list.selectionModel().currentChanged.connect(self._on_current)
        self._effort = EffortChoice()
        self._effort.chosen.connect(self._on_effort)
        self._foot = PickerFoot()
        self._foot.refresh_requested.connect(self.refresh_requested)
        parts = (self._field, (self._list, 1), hairline(), self._effort, self._foot)
        vbox(*parts, on=self, margins=(Space.S, Space.S, Space.S, Space.S), spacing=Space.S)
        self.hide()

    def show_choices(self, choices: Choices) -> None:
        """Show these instead of the present ones; what is typed and chosen so far stays."""
        self._choices = choices
        self._effort.setVisible(choices.has_efforts)
        self._all = choices.all_rows()
        self._find = None
        row = self._current_row()
        key = row.offer.key if row is not None and row.offer is not None else None
        self._rows.current, self._rows.favourites = choices.current, frozenset(choices.favourites)
        at = self._list.verticalScrollBar().value()
        self._show_rows(key)
        self._list.verticalScrollBar().setValue(at)
        if self.isVisible():
            self._place()

    def open_popup(self) -> None:
        """Show it with nothing typed, at the model that answers now."""
        self._presses.start()
        self._field.blockSignals(True)
        self._field.clear()
        self._field.blockSignals(False)
        self._show_rows(self._choices.current)
        self._place()
        self.show()
        self.raise_()
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def close_popup(self) -> None:
        """Go back to what lies below."""
        if self.isVisible():
            self._presses.stop()
            self.closing.emit()
            self.hide()

    # --- the rows ---------------------------------------------------------------------------------------------------

    def _build_field(self) -> QLineEdit:
        field = QLineEdit()
        field.setObjectName("modelSearch")
        field.setAccessibleName(self.tr("Search models"))
        field.setPlaceholderText(self.tr("Search models, or type the name of another one"))
        field.textChanged.connect(self._on_text)
        return field

    def _on_text(self) -> None:
        self._show_rows(None)

    def _show_rows(self, key: ModelKey | None) -> None:
        """Show what fits what is typed, with the row of this model as the current one."""
        query = self._field.text()
        if query.strip():
            if self._find is None:
                self._find = self._choices.finder()
            self._rows.show(self._find(query))
        else:
            self._rows.show(self._all)
        self._list.setCurrentIndex(self._rows.first_choice(key))
        self._show_effort()
        self._show_foot()

    def _current_row(self) -> ChoiceRow | None:
        index = self._list.currentIndex()
        return self._rows.row_at(index.row()) if index.isValid() else None

    def _on_current(self, index: QModelIndex) -> None:
        words = str(index.data(Qt.ItemDataRole.AccessibleTextRole) or "")
        self._field.setAccessibleDescription(words)  # the keyboard stays in the field: this is what its reader hears
        self._show_effort()
        self._show_foot()

    def _show_effort(self) -> None:
        row = self._current_row()
        offer = row.offer if row is not None else None
        levels = (offer.known.efforts or ()) if offer is not None else ()
        level = self._choices.effort_of(offer) if offer is not None else ""
        why_none = self.tr("as much as the model thinks right") if offer is not None else ""
        self._effort.show_levels(levels, level, why_none)

    def _show_foot(self) -> None:
        row = self._current_row()
        account = row.account if row is not None else None
        age = age_words(account, self._now()) if account is not None and account.is_connected else ""
        hint = self.tr("{0} marks a favourite").format(_STAR_KEYS.toString(QKeySequence.SequenceFormat.NativeText))
        asked = [account for account in self._choices.accounts if account.is_connected and account.is_listing]
        done = sum(not account.is_refreshing for account in asked)
        self._foot.show_state(age or hint, asked=len(asked), done=done)

    # --- what the user does -----------------------------------------------------------------------------------------

    def _choose(self, index: QModelIndex) -> None:
        if not index.flags() & Qt.ItemFlag.ItemIsEnabled:
            return
        row = self._rows.row_at(index.row())
        self.close_popup()
        if row.kind == "connect":
            self.connect_requested.emit(row.account)
        elif row.offer is not None:
            self.chosen.emit(row.offer.key, None)

    def _on_effort(self, level: str) -> None:
        """Choose the highlighted model with this level."""
        row = self._current_row()
        if row is not None and row.offer is not None:
            self.close_popup()
            self.chosen.emit(row.offer.key, level)

    def _toggle_star(self, index: QModelIndex) -> None:
        row = self._rows.row_at(index.row()) if index.isValid() else None
        if row is not None and row.kind == "model" and row.offer is not None:
            self.favourite_toggled.emit(row.offer.key)

    def _take_key(self, event: QKeyEvent) -> bool:
        """Act on a key of the field, if it is one for the list; whether it was."""
        current = self._list.currentIndex()
        if QKeySequence(event.keyCombination()) == _STAR_KEYS:
            self._toggle_star(current)
            return True
        steps = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: _PAGE, Qt.Key.Key_PageUp: -_PAGE}
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self._choose(current)
            case Qt.Key.Key_Down | Qt.Key.Key_Up | Qt.Key.Key_PageDown | Qt.Key.Key_PageUp as key:
                self._list.setCurrentIndex(self._rows.step_from(current.row(), steps[key]))
            case _:
                return False
        return True

    # --- Qt -----------------------------------------------------------------------------------------------------------

    def _place(self) -> None:
        """Stand above the button, as high as the list needs and as there is room for."""
        corner = self._anchor.mapTo(self._over, QPoint(0, 0))
        rows = max(_LEAST_ROWS, min(self._rows.rowCount(), _MOST_ROWS))
        parts = [self._field, self._foot, *([self._effort] if self._effort.isVisibleTo(self) else [])]
        chrome = sum(part.sizeHint().height() + Space.S for part in parts) + 1 + 3 * Space.S
        bottom = corner.y() - Space.XS
        height = min(max(self.height() if self.isVisible() else 0, rows * Height.LIST_ROW + chrome), bottom - _MARGIN)
        width = min(_WIDTH, self._over.width() - 2 * _MARGIN)
        left = max(_MARGIN, min(corner.x(), self._over.width() - width - _MARGIN))
        self.setGeometry(QRect(left, bottom - height, width, height))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and watched is self._field and isinstance(event, QKeyEvent):
            if self._take_key(event):
                return True
        elif event.type() == QEvent.Type.Resize and watched is self._over and self.isVisible():
            self._place()
        return super().eventFilter(watched, event)

    def focusNextPrevChild(self, next: bool) -> bool:  # noqa: A002 - Qt's name
        """Keep Tab inside: what lies below is out of reach until this is closed."""
        places = [self._field, self._effort.tab_stop, *self._foot.findChildren(QWidget)]
        usable = [place for place in places if place is not None and _takes_tab(place)]
        if not usable:
            return super().focusNextPrevChild(next)
        now = self.focusWidget()
        if self._effort.isAncestorOf(now):
            now = self._effort.tab_stop
        at = usable.index(now) if now in usable else -1
        usable[(at + (1 if next else -1)) % len(usable)].setFocus(Qt.FocusReason.TabFocusReason)
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_popup()
        else:
            super().keyPressEvent(event)


def _takes_tab(widget: QWidget) -> bool:
    return widget.isVisible() and widget.isEnabled() and bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
