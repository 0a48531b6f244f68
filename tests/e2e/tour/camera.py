"""Takes pictures of a window, with its open menus and lists."""

import asyncio

from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication, QProxyStyle, QStyle, QStyleHintReturn, QStyleOption, QWidget

_LOOK_EVERY_S = 0.03
_SAME_LOOKS = 6
_MOST_LOOKS = 100


class StillStyle(QProxyStyle):
    """Fusion without animations: pictures of the same state are equal."""

    def __init__(self) -> None:
        super().__init__("fusion")

    def styleHint(  # noqa: N802 - the name of the method it overrides
        self,
        hint: QStyle.StyleHint,
        option: QStyleOption | None = None,
        widget: QWidget | None = None,
        returnData: QStyleHintReturn | None = None,  # noqa: N803
    ) -> int:
        if hint == QStyle.StyleHint.SH_Widget_Animation_Duration:
            return 0
        return super().styleHint(hint, option, widget, returnData)


def photograph(window: QWidget) -> QImage:
    image = window.grab().toImage()
    painter = QPainter(image)
    popups = [
        each
        for each in QApplication.topLevelWidgets()
        if each is not window and each.isVisible() and each.windowType() == Qt.WindowType.Popup
    ]
    for popup in sorted(popups, key=lambda each: each is QApplication.activePopupWidget()):  # it lies above the others
        painter.drawPixmap(popup.pos() - window.pos(), popup.grab())
    painter.end()
    return image.convertToFormat(QImage.Format.Format_RGB32)


async def photograph_settled(window: QWidget) -> QImage:
    """Return a picture of the window once nothing changes there any more.

    Taking a picture forces painting, so wait until the window has painted by itself.
    """
    await asyncio.sleep(_LOOK_EVERY_S)
    image, same = photograph(window), 0
    for _ in range(_MOST_LOOKS):
        await asyncio.sleep(_LOOK_EVERY_S)
        now = photograph(window)
        same = same + 1 if now == image else 0
        image = now
        if same == _SAME_LOOKS:
            return image
    raise AssertionError(f"{window.objectName()} never comes to rest")
