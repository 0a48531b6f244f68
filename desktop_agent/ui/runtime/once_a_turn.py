"""Does something once in a turn of the loop, however often it is asked for: what comes in bursts costs once."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, Signal


class OnceATurn(QObject):
    """Calls `action` in this turn of the loop, behind what goes on now and before anything is painted."""

    _asked = Signal()

    def __init__(self, action: Callable[[], object], parent: QObject) -> None:
        super().__init__(parent)
        self._action = action
        self._is_asked = False
        self._asked.connect(self._act, Qt.ConnectionType.QueuedConnection)  # paint events wait behind all others

    def ask(self) -> None:
        """Have it done."""
        if not self._is_asked:
            self._is_asked = True
            self._asked.emit()

    def _act(self) -> None:
        self._is_asked = False
        self._action()
