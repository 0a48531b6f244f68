from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget


class Widths(QObject):
    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.given: list[int] = []
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if isinstance(event, QResizeEvent):
            self.given.append(event.size().width())
        return super().eventFilter(watched, event)
