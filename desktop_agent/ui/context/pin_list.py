"""The pins: each with when it goes, a button that removes it, and a line that adds another."""

from collections.abc import Sequence

from PySide6.QtCore import QDateTime, QLocale, Signal
from PySide6.QtWidgets import QLineEdit, QScrollArea, QSizePolicy, QWidget

from desktop_agent.core.protocol.model import Pin
from desktop_agent.ui.theme import Height, Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label
from desktop_agent.ui.widgets.layouts import hbox, scroll_down, vbox
from desktop_agent.ui.widgets.picker import Picker
from desktop_agent.ui.wording.tooltips import plain_tooltip

_SHOWN_ROWS = 4
"""More of them are scrolled, so that the list leaves room for what it stands below."""
_TOOLTIP_CHARS = 2_000
_TIMES_S: tuple[float | None, ...] = (None, 3_600, 86_400, 7 * 86_400)


class PinList(QWidget):
    """What is pinned.

    Signals:
        added: pin this text (str) for so many seconds (float) or until it is removed (None).
        removed: remove the pin of this id.
    """

    added = Signal(str, object)
    removed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("pinList")
        listed = QWidget(self)
        self._rows = vbox(on=listed, spacing=Space.XS)
        self._area = QScrollArea(self)
        scroll_down(self._area, listed)
        self._field = QLineEdit(self)
        self._field.setObjectName("pinEdit")
        self._field.setPlaceholderText(self.tr("Pin text for the agent…"))
        self._field.setAccessibleName(self.tr("Text to pin"))
        self._field.returnPressed.connect(self._add)
        self._field.textChanged.connect(self._on_text)
        self._time = Picker(self)
        self._time.setObjectName("pinTime")
        self._time.setAccessibleName(self.tr("How long"))
        self._time.addItems(
            [self.tr("Until removed"), self.tr("For an hour"), self.tr("For a day"), self.tr("For a week")]
        )
        self._time.fit()
        self._button = make_button(self.tr("Pin"), object_name="pinButton", clicked=self._add)
        self._button.setEnabled(False)
        line = hbox((self._field, 1), self._time, self._button, spacing=Space.S)
        vbox(self._area, line, on=self, spacing=Space.S)

    def show_pins(self, pins: Sequence[Pin]) -> None:
        """List these."""
        while (item := self._rows.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        for pin in pins:
            self._rows.addWidget(self._row(pin))
        rows = min(len(pins), _SHOWN_ROWS)
        self._area.setFixedHeight(rows * (Height.SMALL_BUTTON + Space.XS))
        self._area.setVisible(bool(pins))

    def _row(self, pin: Pin) -> QWidget:
        line = QWidget(self)
        text = ElidedLabel()
        text.setText(" ".join(pin.text[:_TOOLTIP_CHARS].split()))
        text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        text.setToolTip(plain_tooltip(pin.text[:_TOOLTIP_CHARS]))
        until = make_label(_until(pin, self.tr("until {0}")), role="secondary")
        unpin = make_button(self.tr("Unpin"), object_name=f"unpin-{pin.id}", clicked=self._remove, is_compact=True)
        unpin.setAccessibleName(self.tr("Unpin “{0}”").format(pin.text[:60]))
        unpin.setProperty("pin", pin.id)
        hbox((text, 1), until, unpin, on=line, spacing=Space.S)
        return line

    def _on_text(self, text: str) -> None:
        self._button.setEnabled(bool(text.strip()))

    def _add(self) -> None:
        text = self._field.text().strip()
        if text:
            self._field.clear()
            self.added.emit(text, _TIMES_S[self._time.currentIndex()])

    def _remove(self) -> None:
        self.removed.emit(str(self.sender().property("pin")))


def _until(pin: Pin, pattern: str) -> str:
    if pin.expires_at is None:
        return ""
    moment = QDateTime.fromSecsSinceEpoch(round(pin.expires_at.timestamp()))
    return pattern.format(QLocale().toString(moment, QLocale.FormatType.ShortFormat))
