"""How high the dialog is: as high as its question, within its window and the screen."""

from PySide6.QtCore import QObject, QSize
from PySide6.QtWidgets import QDialog, QWidget

_WIDTH = 800
_MAX_HEIGHT = 700
_MARGIN_OF_WINDOW = 24
"""How much of the window's height stays free, above and below together."""


class DialogHeight(QObject):
    """Fits a dialog to its body, which may scroll, and to its foot, which is always whole."""

    def __init__(self, dialog: QDialog, body: QWidget, foot: QWidget) -> None:
        super().__init__(dialog)
        self._dialog = dialog
        self._body = body
        self._foot = foot

    def fit(self) -> None:
        """Be high enough for what is shown now; never smaller than the user made it."""
        dialog, wanted = self._dialog, self.fitting_size().height()
        if wanted > dialog.height():
            dialog.resize(dialog.width(), wanted)
            self._stay_in_sight()

    def fitting_size(self) -> QSize:
        """Return the size that shows all of it, as far as there is room."""
        layout = self._body.layout()
        assert layout is not None
        layout.activate()
        width = max(self._dialog.width(), _WIDTH) if self._dialog.isVisible() else _WIDTH
        body = layout.heightForWidth(width) if layout.hasHeightForWidth() else layout.sizeHint().height()
        parent: QWidget | None = self._dialog.parentWidget()
        limit = min(_MAX_HEIGHT, parent.window().height() - _MARGIN_OF_WINDOW) if parent else _MAX_HEIGHT
        return QSize(width, min(limit, body + self._foot.sizeHint().height() + 1))

    def _stay_in_sight(self) -> None:
        """Move up by what would be below the screen: the answers are at the bottom."""
        dialog, screen = self._dialog, self._dialog.screen().availableGeometry()
        below = dialog.geometry().bottom() - screen.bottom()
        if below > 0:
            dialog.move(dialog.x(), max(screen.top(), dialog.y() - below))
