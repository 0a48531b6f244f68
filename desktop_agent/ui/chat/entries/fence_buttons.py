"""The buttons above a block of code in an answer: copy it, or apply it to a file."""

from collections.abc import Sequence
from typing import Literal

from PySide6.QtCore import QCoreApplication, QObject, QPoint, QRect, QTimer, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.ui.chat.text.styles import CODE_HEADER
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button

FenceAct = Literal["copy", "apply"]
_COPIED_MS = 1_500


class FenceButtons(QObject):
    """Buttons for the fences of one entry, each at the right of the line with the language.

    Signals:
        wanted: the user wants this done (`FenceAct`) with the fence that begins with this block.
        changed: a button has another width now; the buttons want to be placed again.
    """

    wanted = Signal(str, int)
    changed = Signal()

    def __init__(self, entry: QWidget) -> None:
        super().__init__(entry)
        self._entry = entry
        self._shown: dict[tuple[FenceAct, int], QPushButton] = {}
        self._spare: dict[FenceAct, list[QPushButton]] = {"copy": [], "apply": []}
        self._timer = QTimer(self, interval=_COPIED_MS, singleShot=True)
        self._timer.timeout.connect(self._on_copied_seen)

    def place(self, origin: QPoint, fences: Sequence[tuple[int, QRect, bool]]) -> None:
        """Put the buttons above these fences: first block, frame, and whether it can be applied to a file."""
        wanted: dict[tuple[FenceAct, int], QRect] = {}
        for index, frame, is_for_file in fences:
            wanted["copy", index] = frame
            if is_for_file:
                wanted["apply", index] = frame
        for act, index in [key for key in self._shown if key not in wanted]:
            button = self._shown.pop((act, index))
            button.hide()
            self._spare[act].append(button)
        for (act, index), frame in wanted.items():
            button = self._shown.get((act, index)) or self._take(act, index)
            size = button.sizeHint()
            right = frame.right() - Space.XS
            if act == "apply":
                right -= self._shown["copy", index].width() + Space.XS
            at = origin + QPoint(right - size.width(), frame.top() + (CODE_HEADER - size.height()) // 2)
            button.setGeometry(QRect(at, size))

    def say_copied(self, index: int) -> None:
        """Say for a moment that a fence was copied."""
        if (button := self._shown.get(("copy", index))) is not None:
            button.setText(_tr("Copied"))
            self._timer.start()
            self.changed.emit()

    def in_order(self) -> list[QPushButton]:
        """Return the buttons from top to bottom."""
        return [self._shown[key] for key in sorted(self._shown, key=lambda key: (key[1], key[0] != "apply"))]

    def stop(self) -> None:
        """Forget what would be shown for a moment only."""
        self._timer.stop()

    def _take(self, act: FenceAct, index: int) -> QPushButton:
        button = self._spare[act].pop() if self._spare[act] else self._make(act)
        self._shown[act, index] = button
        button.show()
        return button

    def _make(self, act: FenceAct) -> QPushButton:
        if act == "copy":
            button = make_button(_tr("Copy"), object_name="copyCodeButton", accessible_name=_tr("Copy code"))
        else:
            name = _tr("Apply code to a file")
            button = make_button(_tr("Apply…"), object_name="applyCodeButton", accessible_name=name)
        button.setProperty("variant", "flat")
        button.setProperty("compact", True)
        button.setParent(self._entry)
        button.clicked.connect(self._on_clicked)
        return button

    def _on_clicked(self) -> None:
        act, index = next(key for key, button in self._shown.items() if button is self.sender())
        self.wanted.emit(act, index)

    def _on_copied_seen(self) -> None:
        for (act, _), button in self._shown.items():
            if act == "copy":
                button.setText(_tr("Copy"))
        for button in self._spare["copy"]:
            button.setText(_tr("Copy"))
        self.changed.emit()


def _tr(text: str) -> str:
    return QCoreApplication.translate("FenceButtons", text)
