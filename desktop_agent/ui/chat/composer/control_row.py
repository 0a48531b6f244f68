"""The row below the message field: pickers on the left; cost, how full the context is and buttons on the right."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, QRect, Qt, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol.model import CacheMiss, ContextUse, Usage
from desktop_agent.ui.chat.composer.cost_label import CostLabel
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import PickerButton, make_button
from desktop_agent.ui.widgets.context_meter import ContextMeter
from desktop_agent.ui.widgets.layouts import flow


class ControlRow(QObject):
    """Gives every control its words while there is room; what is only read gives way first.

    Signals:
        changed: something else is in it, or says something else: it is to be placed anew.
    """

    changed = Signal()

    def __init__(self, theme: Theme, composer: QWidget, *, tab_from: QWidget) -> None:
        """To the first control, Tab comes from `tab_from`."""
        super().__init__(composer)
        self._composer = composer
        self._tab_from = tab_from
        self._controls: list[QWidget] = []
        self.cost = CostLabel(composer)
        self.meter = ContextMeter(theme, composer)
        self.stop = make_button(
            self.tr("Stop"),
            object_name="stopButton",
            variant="destructive",
            accessible_name=self.tr("Stop this turn"),
            parent=composer,
        )
        self.stop.hide()
        self.send = make_button(self.tr("Send"), object_name="sendButton", variant="primary", parent=composer)
        self.send.setEnabled(False)
        for button in (self.stop, self.send):
            # A click leaves the keyboard where it is: the button goes, or is disabled.
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def show_context(self, use: ContextUse | None) -> None:
        """Show how full the model's context is; nothing while that is not known."""
        self.meter.show_use(use)
        self.changed.emit()

    def show_cost(self, session: Usage, turn: Usage, missed: CacheMiss | None = None) -> None:
        """Show what the session and its last turn cost, and what no cache had; nothing while that is not known."""
        self.cost.show_usage(session, turn, missed)
        self.changed.emit()

    def show_sending(self, *, is_working: bool, blocked: str, at_once: str) -> None:
        """Say what sending does while a turn runs or not, or why nothing can be sent; it can be stopped, too.

        `at_once` are the keys that send into the running turn.
        """
        self.stop.setVisible(is_working and not blocked)
        self.send.setText(self.tr("Queue") if is_working else self.tr("Send"))
        self.send.setToolTip(blocked or (self._waiting_words(at_once) if is_working else ""))

    def _waiting_words(self, at_once: str) -> str:
        if not at_once:
            return self.tr("It starts when the turn has ended.")
        return self.tr(
            "It starts when the turn has ended. {keys} sends it into the turn, which has it at its next step."
        ).format(keys=at_once)

    def add(self, control: QWidget) -> None:
        """Put a picker or a button behind those that are there."""
        control.setParent(self._composer)
        QWidget.setTabOrder(self._controls[-1] if self._controls else self._tab_from, control)
        self._controls.append(control)
        control.show()
        self.changed.emit()

    def set_enabled(self, *, is_enabled: bool) -> None:
        """Let the pickers be used, or not."""
        for control in self._controls:
            control.setEnabled(is_enabled)

    def place(self, area: QRect) -> int:
        """Place the controls on the left and status and buttons on the right; return where they end."""
        controls = [control for control in self._controls if not control.isHidden()]
        buttons = [button for button in (self.stop, self.send) if not button.isHidden()]
        pickers = [control for control in controls if isinstance(control, PickerButton)]
        others = [control.sizeHint().width() for control in controls if control not in pickers]
        room = area.width() - sum(others) - Space.S * len(controls) - _width_of(buttons)
        _fit_pickers(pickers, room)
        height = flow(controls, area)
        last = controls[-1].geometry() if controls else QRect(area.x(), area.y(), 0, 0)
        room = area.x() + area.width() - (last.right() + Space.S if controls else area.x())
        right = self._fit_status(buttons, room)
        y, right_width = last.y(), _width_of(right)
        if right_width > room:
            y = area.y() + height + Space.S
        x = area.x() + area.width() - right_width
        row_height = max(widget.sizeHint().height() for widget in right)
        middle = last.center().y() + 1 if controls and y == last.y() else y + row_height // 2
        for widget in right:
            size = widget.sizeHint()
            widget.setGeometry(x, middle - size.height() // 2, size.width(), size.height())
            x += size.width() + Space.S
        return max(area.y() + height, middle + row_height // 2)

    def _fit_status(self, buttons: Sequence[QWidget], room: int) -> Sequence[QWidget]:
        """Return what stands on the right: status gives way, so that nothing moves when a turn begins.

        First the words of the meter go, then the cost, then the meter.
        """
        status = [widget for widget in (self.cost, self.meter) if widget.text()]
        fits = _width_of(buttons) <= room
        self.meter.set_short(False)
        self.meter.set_short(fits and _width_of([*status, *buttons]) > room)
        while status and fits and _width_of([*status, *buttons]) > room:
            status.pop(0)
        for widget in (self.cost, self.meter):
            widget.setVisible(widget in status)
        return [*status, *buttons]


def _fit_pickers(pickers: Sequence[PickerButton], room: int) -> None:
    """Give the pickers fewer words where there is no room for all; the longest of them gives way further."""
    is_tight = sum(picker.width_with(is_short=False) for picker in pickers) > room
    widths = {picker: picker.width_with(is_short=is_tight) for picker in pickers}
    longest = max(pickers, key=widths.__getitem__, default=None)
    for picker in pickers:
        picker.set_short(is_short=is_tight, less=sum(widths.values()) - room if picker is longest and is_tight else 0)


def _width_of(widgets: Sequence[QWidget]) -> int:
    """How wide they are side by side."""
    return sum(widget.sizeHint().width() for widget in widgets) + Space.S * (len(widgets) - 1)
