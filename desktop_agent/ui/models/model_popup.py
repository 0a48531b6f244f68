"""The model picker's popup: a search field, the list of models, and the list's age. Imported when first opened."""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Final

from PySide6.QtCore import QCoreApplication, QEvent, QModelIndex, QObject, QPoint, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QKeySequence, QMouseEvent, QPainter
from PySide6.QtWidgets import QListView, QPushButton, QStyle, QStyleOptionViewItem, QWidget

from desktop_agent.core.models.known_model import Rates, price_words, rate_words, size_words
from desktop_agent.core.protocol.model import AGENTS
from desktop_agent.ui.models.model_offers import AccountOffers, ChoiceRow, Choices, ModelKey, ModelOffer
from desktop_agent.ui.theme import Height, Space, Theme
from desktop_agent.ui.translation import plural
from desktop_agent.ui.widgets.buttons import compact_button
from desktop_agent.ui.widgets.icons import IconName, Icons
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, hbox, set_names, vbox
from desktop_agent.ui.widgets.popup import ChoiceModel, FilterPopup
from desktop_agent.ui.widgets.rows import (
    RIGHT,
    AnyIndex,
    FocusRing,
    ModelDelegate,
    draw_emphasised,
    draw_ground,
    draw_line,
)

_tr = partial(QCoreApplication.translate, "Models")


def window_words(tokens: int | None) -> str:
    """Return the size of a model's context window, as `200k` or `1M`; empty if unknown."""
    return size_words(tokens) if tokens else ""


def cost_words(price: Rates | None, account: AccountOffers | None) -> str:
    if account is not None and account.is_plan:
        return _tr("in your plan")
    if price is None:
        return _tr("price unknown")
    return _tr("free") if price.input == price.output == 0 else price_words(price)


def described(offer: ModelOffer, account: AccountOffers | None = None) -> list[str]:
    known = offer.known
    if offer.key.provider == AGENTS:
        return list(filter(None, (known.shown, _tr("An agent of another program"), offer.state)))
    lines = [known.shown] if known.shown == known.name else [known.shown, known.name]
    size = window_words(known.context_tokens)
    lines.append(_tr("Context of {0} tokens").format(size) if size else _tr("Context size not known"))
    lines.append(_price_sentence(known.price, is_plan=account is not None and account.is_plan))
    if known.takes_images is not None:
        lines.append(_tr("Sees images") if known.takes_images else _tr("Sees no images"))
    if known.thinks:
        lines.append(_tr("Thinks before it answers"))
    return lines


def _price_sentence(price: Rates | None, *, is_plan: bool) -> str:
    if is_plan:
        return _tr("Included in your plan")
    if price is None:
        return _tr("Price not known")
    if not price.input and not price.output:
        return _tr("Costs nothing")
    words = _tr("{0} per million input tokens, {1} per million output tokens")
    return words.format(rate_words(price.input), rate_words(price.output))


def age_words(account: AccountOffers, now: datetime) -> str:
    if not account.is_listing:
        return ""
    if account.is_refreshing:
        return _tr("Asking {0}…").format(account.label)
    if account.problem:
        return _tr("{0}: list could not be loaded").format(account.label)
    if account.listed_at is None:
        return _tr("{0}: list not loaded yet").format(account.label)
    days = (now.date() - account.listed_at.astimezone(now.tzinfo).date()).days
    if days <= 0:
        return _tr("{0}: list of today").format(account.label)
    if days == 1:
        return _tr("{0}: list from yesterday").format(account.label)
    return plural("Models", days, "{0}: list from %n day ago", "{0}: list from %n days ago").format(account.label)


class ModelRows(ChoiceModel[ChoiceRow]):
    current: ModelKey | None = None
    favourites: AbstractSet[ModelKey] = frozenset()

    def first_choice(self, key: ModelKey | None = None) -> QModelIndex:
        """Return the row of this model, else of this model in another account, else the first choice."""
        places = [place for place, row in enumerate(self.rows) if row.is_choice]
        keys = {place: offer.key for place in places if (offer := self.rows[place].offer) is not None}
        same = (place for place, found in keys.items() if found == key)
        model = (key.provider, key.model) if key is not None else None
        alike = (place for place, found in keys.items() if (found.provider, found.model) == model)
        place = next(chain(same, alike, places), None)
        return self.index(place) if place is not None else QModelIndex()

    def is_current(self, row: ChoiceRow) -> bool:
        return row.kind == "model" and row.offer is not None and row.offer.key == self.current

    def is_favourite(self, row: ChoiceRow) -> bool:
        return row.offer is not None and row.offer.key in self.favourites

    def is_choice(self, row: ChoiceRow) -> bool:
        return row.is_choice

    def text(self, row: ChoiceRow) -> str:
        return row.text

    def words(self, row: ChoiceRow) -> list[str]:
        if row.kind != "model" or row.offer is None:
            return [row.text]
        words = described(row.offer, row.account)
        if row.account is not None and not row.account.is_fixed:
            words.insert(1, row.account.label)
        if self.is_current(row):
            words.append(self.tr("In use"))
        if self.is_favourite(row):
            words.append(self.tr("Favourite"))
        return words


_TICK: Final = 20.0
"""Space for the tick left of a name, in device-independent pixels, like all sizes here."""
_STAR: Final = 28.0
_SIGN: Final = 16.0
_PRICE: Final = 96.0
_SIZE: Final = 44.0
_TO_THE_RIGHT: Final = RIGHT.value
"""An alignment as a number, because converting a Python enumeration takes as long as drawing a word."""
_NEAR: Final = QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver


def star_area(row: QRect) -> QRect:
    return QRect(row.right() - int(_STAR) + 1, row.top(), int(_STAR), row.height())


class ChoiceDelegate(ModelDelegate[ModelRows]):
    def __init__(self, model: ModelRows, theme: Theme, icons: Icons, ring: FocusRing, parent: QObject) -> None:
        super().__init__(model, theme, ring, parent)
        self._icons = icons

    def draw(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        row = self.model.rows[index.row()]
        rect = QRectF(option.rect)
        if row.is_choice:
            colour = draw_ground(painter, self.theme, option, self.ring)
            rect = rect.adjusted(_TICK + Space.XS, 0, 0, 0)
            if row.kind == "model":
                offer = row.offer
                assert offer is not None
                if self.model.is_current(row):
                    self._icons.paint(
                        painter, "tick", QPointF(rect.left() - _TICK / 2 - 1, rect.center().y()), "accent"
                    )
                is_favourite = self.model.is_favourite(row)
                at = QPointF(rect.right() - _STAR / 2, rect.center().y())
                if is_favourite:
                    self._icons.paint(painter, "favourite", at, "accent")
                elif bool(option.state & _NEAR):
                    self._icons.paint(painter, "no favourite", at, "muted")
                muted = self.theme.colour("muted")
                right = rect.right() - _STAR
                price = QRectF(right - _PRICE, rect.top(), _PRICE, rect.height())
                painter.setFont(self.small_font)
                painter.setPen(muted)
                size = QRectF(price.left() - _SIZE, rect.top(), _SIZE, rect.height())
                is_agent = offer.key.provider == AGENTS
                words = offer.state if is_agent else cost_words(offer.known.price, row.account)
                painter.drawText(price.united(size) if is_agent else price, _TO_THE_RIGHT, words)
                painter.drawText(size, _TO_THE_RIGHT, window_words(offer.known.context_tokens))
                right = self._draw_signs(painter, size, row) - Space.S
                room = QRectF(rect.left(), rect.top(), right - rect.left(), rect.height())
                used = draw_emphasised(painter, self.theme, room, row.text, row.spans, colour, self.text_font)
                if row.tells_account and row.account is not None and not row.account.is_fixed:
                    label = row.account.label
                    room.setLeft(room.left() + used + Space.S)
                    if room.width() > QFontMetricsF(self.small_font).horizontalAdvance(label[:4]):
                        draw_line(painter, room, label, self.small_font, muted)
            else:
                colour = colour if row.kind == "named" else self.theme.colour("muted")
                draw_line(painter, rect.adjusted(0, 0, -Space.S, 0), row.text, self.text_font, colour)
        else:
            self._draw_words(painter, rect, row)

    def _draw_words(self, painter: QPainter, rect: QRectF, row: ChoiceRow) -> None:
        if row.kind == "heading":
            at = rect.adjusted(Space.S, Space.XS, -Space.S, 0)
            draw_line(painter, at, row.text, self.small_strong_font, self.theme.colour("muted"))
            return
        is_problem = row.account is not None and bool(row.account.models)  # otherwise it may be a server that never ran
        colour = self.theme.colour("warning_text" if is_problem else "muted")
        draw_line(painter, rect.adjusted(_TICK + Space.XS, 0, -Space.S, 0), row.text, self.small_font, colour)

    def _draw_signs(self, painter: QPainter, before: QRectF, row: ChoiceRow) -> float:
        """Return where the signs begin."""
        assert row.offer is not None
        left = before.left()
        signs: tuple[tuple[IconName, bool | None], ...] = (
            ("thinking", row.offer.known.thinks),
            ("images", row.offer.known.takes_images),
        )
        for name, is_there in signs:
            left -= _SIGN + Space.XS
            if is_there:
                self._icons.paint(painter, name, QPointF(left + _SIGN / 2, before.center().y()), "muted")
        return left


class ModelList(QListView):
    """The list of models. It never takes the focus: the field above passes its keys on."""

    chosen = Signal(QModelIndex)  # by a click
    starred = Signal(QModelIndex)  # by a click on the star

    def __init__(self) -> None:
        super().__init__()
        set_names(self, "modelList", self.tr("Models"))

    def mouseReleaseEvent(self, e: QMouseEvent) -> None:
        index = self.indexAt(e.position().toPoint())
        super().mouseReleaseEvent(e)
        if e.button() != Qt.MouseButton.LeftButton or not index.flags() & Qt.ItemFlag.ItemIsEnabled:
            return
        rows = self.model()
        assert isinstance(rows, ModelRows)
        is_star = star_area(self.visualRect(index)).contains(e.position().toPoint())
        if is_star and rows.rows[index.row()].kind == "model":
            self.starred.emit(index)
        else:
            self.chosen.emit(index)


class EffortChoice(QWidget):
    chosen = Signal(str)  # the level; empty is the model's default

    def __init__(self) -> None:
        super().__init__()
        set_names(self, "effortChoice", self.tr("Effort"))
        self._levels: tuple[str, ...] = ()
        self._buttons: list[QPushButton] = []
        self._none = make_label(role="secondary")
        self._row = hbox(spacing=Space.XS)
        label = make_label(self.tr("Effort"), role="secondary")
        hbox(label, self._row, self._none, STRETCH, on=self, margins=(Space.S, 0, 0, 0), spacing=Space.S)
        self.setFixedHeight(Height.SMALL_BUTTON)

    def show_levels(self, levels: Sequence[str], level: str, why_none: str = "") -> None:
        """`levels` come lowest first; an empty `level` is the default. Without levels, show `why_none`."""
        if tuple(levels) != self._levels:
            self._levels = tuple(levels)
            for button in self._buttons:
                self._row.removeWidget(button)
                button.deleteLater()
            self._buttons = [self._segment(level) for level in ("", *self._levels)] if self._levels else []
            for button in self._buttons:
                self._row.addWidget(button)
        self._none.setText("" if levels else why_none)
        for button in self._buttons:
            button.setChecked(button.property("level") == level)
        self._set_tab_stop(next((button for button in self._buttons if button.isChecked()), None))

    def _set_tab_stop(self, stop: QPushButton | None) -> None:
        for button in self._buttons:
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus if button is stop else Qt.FocusPolicy.ClickFocus)

    def _segment(self, level: str) -> QPushButton:
        words = self.tr("{0} effort").format(level) if level else self.tr("The model decides")
        button = compact_button(
            level or self.tr("default"),
            accessible_name=words,
            tooltip=words,
            clicked=self._on_clicked,
            is_checkable=True,
            parent=self,
        )
        button.installEventFilter(self)
        button.setProperty("level", level)
        return button

    def _on_clicked(self) -> None:
        button = self.sender()
        assert isinstance(button, QPushButton)
        button.setChecked(True)  # a second click does not uncheck it
        self.chosen.emit(button.property("level"))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.KeyPress or not isinstance(event, QKeyEvent) or watched not in self._buttons:
            return super().eventFilter(watched, event)
        at = next(place for place, button in enumerate(self._buttons) if button is watched)
        match event.key():
            case Qt.Key.Key_Left | Qt.Key.Key_Right as key:
                to = self._buttons[(at + (1 if key == Qt.Key.Key_Right else -1)) % len(self._buttons)]
                to.setFocus(Qt.FocusReason.TabFocusReason)
                self._set_tab_stop(to)
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self._buttons[at].click()
            case _:
                return super().eventFilter(watched, event)
        return True


_foot_tr = partial(QCoreApplication.translate, "PickerFoot")

_WIDTH = 600
_MOST_ROWS = 14
_LEAST_ROWS = 6
_MARGIN = 8
_STAR_KEYS = QKeySequence("Ctrl+D")


class ModelPopup(FilterPopup[ChoiceRow]):
    chosen = Signal(object, object)  # a `ModelKey`, and the effort level; None keeps the default
    connect_requested = Signal(object)  # the `AccountOffers` without a credential
    refresh_requested = Signal()
    favourite_toggled = Signal(object)  # a `ModelKey`
    closing = Signal()  # the focus should move elsewhere

    def __init__(
        self, theme: Theme, icons: Icons, over: QWidget, anchor: QWidget, *, now: Callable[[], datetime]
    ) -> None:
        self._rows = ModelRows()
        models = ModelList()
        super().__init__(theme, over, anchor, self._rows, models, page_rows=8)
        set_names(self, "modelPopup", self.tr("Choose a model"))
        self._anchor = anchor
        self._now = now
        self._choices = Choices()
        self._all: tuple[ChoiceRow, ...] = ()
        self._find: Callable[[str], tuple[ChoiceRow, ...]] | None = None
        set_names(self._field, "modelSearch", self.tr("Search models"))
        self._field.setPlaceholderText(self.tr("Search models, or type the name of another one"))
        models.setItemDelegate(ChoiceDelegate(self._rows, theme, icons, self._ring, models))
        models.chosen.connect(self._choose)
        models.starred.connect(self._toggle_star)
        self._effort = EffortChoice()
        self._effort.chosen.connect(self._on_effort)
        self._foot = QWidget()
        self._age = ElidedLabel(role="secondary", object_name="modelListAge")
        self._refresh = compact_button(
            object_name="refreshModelsButton", clicked=self.refresh_requested, variant="flat"
        )
        hbox(self._age, STRETCH, self._refresh, on=self._foot, margins=(Space.S, 0, 0, 0), spacing=Space.S)
        parts = (self._field, (models, 1), hairline(), self._effort, self._foot)
        vbox(*parts, on=self, margins=(Space.S, Space.S, Space.S, Space.S), spacing=Space.S)

    def show_choices(self, choices: Choices) -> None:
        self._choices = choices
        self._effort.setVisible(choices.has_efforts)
        self._all = choices.all_rows()
        self._find = None
        row = self._current_row
        key = row.offer.key if row is not None and row.offer is not None else None
        self._rows.current, self._rows.favourites = choices.current, frozenset(choices.favourites)
        at = self._list.verticalScrollBar().value()
        self._show_rows(key)
        self._list.verticalScrollBar().setValue(at)
        if self.isVisible():
            self._place()

    def open_popup(self) -> None:
        self._type("")
        self._show_rows(self._choices.current)
        super().open_popup()
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def close_popup(self) -> None:
        if self.is_open:
            self.closing.emit()
        super().close_popup()

    def _on_text(self) -> None:
        self._show_rows(None)

    def _show_rows(self, key: ModelKey | None) -> None:
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

    def _on_current(self, index: QModelIndex) -> None:
        super()._on_current(index)
        self._show_effort()
        self._show_foot()

    def _show_effort(self) -> None:
        row = self._current_row
        offer = row.offer if row is not None else None
        levels = (offer.known.efforts or ()) if offer is not None else ()
        level = self._choices.effort_of(offer) if offer is not None else ""
        is_agent = offer is not None and offer.key.provider == AGENTS
        why_none = self.tr("the agent decides") if is_agent else self.tr("the model decides")
        why_none = why_none if offer is not None else ""
        self._effort.show_levels(levels, level, why_none)

    def _show_foot(self) -> None:
        row = self._current_row
        account = row.account if row is not None else None
        age = age_words(account, self._now()) if account is not None and account.is_connected else ""
        hint = self.tr("{0} marks a favourite").format(_STAR_KEYS.toString(QKeySequence.SequenceFormat.NativeText))
        asked = [account for account in self._choices.accounts if account.is_connected and account.is_listing]
        done = sum(not account.is_refreshing for account in asked)
        progress = _foot_tr("Refreshing… {0} of {1}").format(done, len(asked))
        self._age.setText(age or hint)
        self._refresh.setText(progress if done < len(asked) else _foot_tr("Refresh list"))
        self._refresh.setVisible(bool(asked))
        self._refresh.setEnabled(done == len(asked))

    def _choose(self, index: QModelIndex) -> None:
        if not index.flags() & Qt.ItemFlag.ItemIsEnabled:
            return
        row = self._rows.rows[index.row()]
        self.close_popup()
        if row.kind == "connect":
            self.connect_requested.emit(row.account)
        elif row.offer is not None:
            self.chosen.emit(row.offer.key, None)

    def _on_effort(self, level: str) -> None:
        row = self._current_row
        if row is not None and row.offer is not None:
            self.close_popup()
            self.chosen.emit(row.offer.key, level)

    def _toggle_star(self, index: QModelIndex) -> None:
        row = self._rows.rows[index.row()] if index.isValid() else None
        if row is not None and row.kind == "model" and row.offer is not None:
            self.favourite_toggled.emit(row.offer.key)

    def _take_key(self, event: QKeyEvent) -> bool:
        if QKeySequence(event.keyCombination()) == _STAR_KEYS:
            self._toggle_star(self._list.currentIndex())
            return True
        return super()._take_key(event)

    def _place(self) -> None:
        corner = self._anchor.mapTo(self._over, QPoint(0, 0))
        rows = max(_LEAST_ROWS, min(self._rows.rowCount(), _MOST_ROWS))
        parts = [self._field, self._foot, *([self._effort] if self._effort.isVisibleTo(self) else [])]
        chrome = sum(part.sizeHint().height() + Space.S for part in parts) + 1 + 3 * Space.S
        bottom = corner.y() - Space.XS
        height = min(max(self.height() if self.isVisible() else 0, rows * Height.LIST_ROW + chrome), bottom - _MARGIN)
        width = min(_WIDTH, self._over.width() - 2 * _MARGIN)
        left = max(_MARGIN, min(corner.x(), self._over.width() - width - _MARGIN))
        self.setGeometry(QRect(left, bottom - height, width, height))
