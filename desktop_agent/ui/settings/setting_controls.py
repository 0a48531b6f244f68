"""A control for each kind of setting. Controls emit the user's choice, but nothing while a value is shown."""

import math
from typing import cast

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyleOptionFrame,
    QWidget,
)

from desktop_agent.core.settings.values import Setting
from desktop_agent.core.system.session_bus import FileQuestion
from desktop_agent.ui.theme import Height, Space, Theme
from desktop_agent.ui.widgets.buttons import Picker, Switch, make_button, make_line
from desktop_agent.ui.widgets.file_chooser import choose_files
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, vbox
from desktop_agent.ui.wording import quoted

_SHOWN_ROWS = 5
_ENTRY = Qt.ItemDataRole.UserRole


class SettingControl(QWidget):
    changed = Signal(object)  # the value that the user wants

    def show_value(self, value: object) -> None:
        """Show a value. Emits no signal."""
        raise NotImplementedError

    def _hold(self, widget: QWidget, setting: Setting) -> None:
        widget.setAccessibleName(words(setting.about.title))
        widget.setAccessibleDescription(words(setting.about.text))
        self.setFocusProxy(widget)
        hbox(widget, on=self)


class TextsControl(SettingControl):
    def __init__(self, setting: Setting) -> None:
        super().__init__()
        has_folders = setting.about.holds == "folders"
        title, text = words(setting.about.title), words(setting.about.text)
        self._words = setting.about.words
        self._title = title
        self._list = QListWidget()
        self._list.setAccessibleName(title)
        self._list.setAccessibleDescription(text)
        self._list.setProperty("variant", "boxed")
        self._list.installEventFilter(self)
        self._entry = make_line(
            "",
            self.tr("New entry for {0}").format(title),
            self.tr("Add a folder") if has_folders else self.tr("Add an entry"),
        )
        add, remove = self.tr("Add to {0}").format(title), self.tr("Remove from {0}").format(title)
        choose = self.tr("Choose a folder for {0}").format(title)
        self._add = make_button(self.tr("Add"), accessible_name=add, clicked=self._on_add)
        self._remove = make_button(self.tr("Remove"), accessible_name=remove, clicked=self._on_remove)
        self._choose = make_button(self.tr("Choose…"), accessible_name=choose, clicked=self._on_choose)
        buttons = hbox(self._add, self._choose, self._remove, STRETCH, spacing=Space.S)
        vbox(self._list, self._entry, buttons, on=self, spacing=Space.XS)
        self._choose.setVisible(has_folders)
        self.setFocusProxy(self._entry)
        self._entry.returnPressed.connect(self._on_add)
        self._entry.textChanged.connect(self._update)
        self._list.currentRowChanged.connect(self._update)
        self.show_value(())

    @property
    def entries(self) -> tuple[str, ...]:
        return tuple(str(self._list.item(row).data(_ENTRY)) for row in range(self._list.count()))

    def show_value(self, value: object) -> None:
        entries = [str(item) for item in cast("tuple[object, ...]", value)] if isinstance(value, tuple) else []
        if self.entries != tuple(entries):
            row = self._list.currentRow()
            self._list.clear()
            for entry in entries:
                self._add_item(entry)
            self._list.setCurrentRow(min(row, len(entries) - 1))
        self._update()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        is_delete = isinstance(event, QKeyEvent) and event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace)
        if watched is self._list and event.type() is QEvent.Type.KeyPress and is_delete:
            self._on_remove()
            return True
        return super().eventFilter(watched, event)

    def _on_add(self) -> None:
        self._add_text(self._entry.text())
        self._entry.clear()

    def _add_text(self, text: str) -> None:
        text = text.strip()
        if text and text not in self.entries:
            self._add_item(text)
            self._tell()

    def _add_item(self, entry: str) -> None:
        QListWidgetItem(words(self._words.get(entry, entry)), self._list).setData(_ENTRY, entry)

    def _on_remove(self) -> None:
        if self._list.currentRow() >= 0:
            self._list.takeItem(self._list.currentRow())
            self._tell()

    def _on_choose(self) -> None:
        question = FileQuestion(kind="folder", title=self._title)
        choose_files(self, question, lambda chosen: self._add_text(chosen.paths[0]))

    def _tell(self) -> None:
        self._update()
        self.changed.emit(self.entries)

    def _update(self) -> None:
        self._add.setEnabled(bool(self._entry.text().strip()))
        self._remove.setEnabled(self._list.currentRow() >= 0)
        rows = min(max(self._list.count(), 1), _SHOWN_ROWS)
        for widget in (self._list, self._remove):
            widget.setVisible(self._list.count() > 0)
        self._list.setFixedHeight(rows * Height.LIST_ROW + 2 * Space.XS + 2)


def words(text: str) -> str:
    return quoted(QCoreApplication.translate("Settings", text))


def title_of(setting: Setting) -> str:
    """Return the title of a setting in the user's language. For a setting with keys, return its action's title."""
    title = setting.about.title
    if setting.about.holds != "keys":
        return words(title)
    if setting.section != "keys":
        return QCoreApplication.translate("Palette", title)  # from a part of the window, as in the palette
    return QCoreApplication.translate("Actions", title)


class ChoiceControl(SettingControl):
    def __init__(self, setting: Setting) -> None:
        super().__init__()
        choices = [(words(setting.about.words.get(choice, choice)), choice) for choice in setting.choices]
        self._box = Picker(choices=choices, fills=True)
        self._box.currentIndexChanged.connect(self._on_chosen)
        self._hold(self._box, setting)

    def show_value(self, value: object) -> None:
        self._box.pick(value)

    def _on_chosen(self) -> None:
        self.changed.emit(self._box.currentData())


class SwitchControl(SettingControl):
    def __init__(self, setting: Setting, theme: Theme) -> None:
        super().__init__()
        self._switch = Switch(theme)
        self._switch.clicked.connect(self._on_clicked)
        self._hold(self._switch, setting)

    def show_value(self, value: object) -> None:
        self._switch.setChecked(bool(value))

    def _on_clicked(self) -> None:
        self.changed.emit(self._switch.isChecked())


class UnitLine(QLineEdit):
    """A line that shows a unit after its text."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def paintEvent(self, arg__1: QPaintEvent) -> None:
        super().paintEvent(arg__1)
        if not self.text():
            return
        option = QStyleOptionFrame()
        self.initStyleOption(option)
        area = self.style().subElementRect(QStyle.SubElement.SE_LineEditContents, option, self)
        left = area.left() + self.fontMetrics().horizontalAdvance(f"{self.text()} ") + _TEXT_MARGIN
        with QPainter(self) as painter:
            painter.setPen(self.palette().placeholderText().color())
            painter.drawText(area.adjusted(left - area.left(), 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, self._unit)


_TEXT_MARGIN = 2
"""The pixels that `QLineEdit` leaves at both sides of its text."""


class TextControl(SettingControl):
    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self._setting = setting
        self._shown = ""
        self._line = UnitLine(words(setting.about.unit))
        self._line.setPlaceholderText(words(setting.about.unset))
        self._line.editingFinished.connect(self._on_finished)
        self._hold(self._line, setting)

    def show_value(self, value: object) -> None:
        self._shown = self._text_of(value)
        self._line.setText(self._shown)

    def _on_finished(self) -> None:
        # Qt says that editing has finished at Enter, and again when the field loses the focus.
        text = self._line.text().strip()
        if text != self._shown:
            self._shown = text
            self.changed.emit(self._value_of(text))

    def _text_of(self, value: object) -> str:
        return str(value)

    def _value_of(self, text: str) -> object:
        return text


class NumberControl(TextControl):
    """A number with its unit. Emits `None` for an empty field if that is allowed, and invalid text as typed."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        about = setting.about
        if about.unit:
            self._line.setAccessibleName(f"{words(about.title)}, {words(about.unit)}")
        self._line.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
            direction = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}.get(Qt.Key(event.key()), 0)
            number, is_number = self.locale().toDouble(self._line.text())
            if direction and is_number and number > 0:
                is_broken = self._setting.kind == "number" or self._setting.about.per_unit > 1
                step = max(10.0 ** (math.floor(math.log10(number)) - 1), 0.5 if is_broken else 1.0)
                self._line.setText(self._plain(max(number + direction * step, step)))
                return True
        return super().eventFilter(watched, event)

    def _plain(self, number: float) -> str:
        places = next(places for places in range(4) if places == 3 or round(number, places) == number)
        return self.locale().toString(float(number), "f", places)

    def _text_of(self, value: object) -> str:
        return "" if value is None else self._plain(cast("float", value) / self._setting.about.per_unit)

    def _value_of(self, text: str) -> object:
        if not text and self._setting.is_optional:
            return None
        number, is_number = self.locale().toDouble(text)
        value = number * self._setting.about.per_unit
        if not is_number:
            return text
        return int(value) if self._setting.kind == "whole" and value.is_integer() else value


def control_for(setting: Setting, theme: Theme) -> SettingControl:
    match setting.kind:
        case "choice":
            return ChoiceControl(setting)
        case "switch":
            return SwitchControl(setting, theme)
        case "whole" | "number":
            return NumberControl(setting)
        case "text":
            return TextControl(setting)
        case "texts":
            return TextsControl(setting)
