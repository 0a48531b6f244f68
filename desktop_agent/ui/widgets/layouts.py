"""Builds rows and columns from lists of widgets, limits window sizes, and sets up dialogs."""

from collections.abc import Sequence

from msgspec import Struct
from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QBoxLayout,
    QDialog,
    QFrame,
    QHBoxLayout,
    QLayout,
    QPushButton,
    QScrollArea,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.ui.runtime.painting import give_viewport
from desktop_agent.ui.theme import Space

Margins = tuple[int, int, int, int]
"""Left, top, right and bottom, in device-independent pixels."""


class Stretch(Struct, frozen=True):
    """Empty space that takes this share of the free space. With 0, it takes only space that no other part wants."""

    share: int = 0


STRETCH = Stretch()

Part = QWidget | QLayout | int | Stretch | tuple[QWidget | QLayout, int | Qt.AlignmentFlag]
"""A widget or layout, with its share of the free room or its alignment if needed; or a gap, in pixels."""


def hbox(*parts: Part, on: QWidget | None = None, margins: Margins = (0, 0, 0, 0), spacing: int = 0) -> QHBoxLayout:
    layout = QHBoxLayout(on) if on is not None else QHBoxLayout()
    layout.setContentsMargins(*margins)
    layout.setSpacing(spacing)
    add_parts(layout, *parts)
    return layout


def vbox(*parts: Part, on: QWidget | None = None, margins: Margins = (0, 0, 0, 0), spacing: int = 0) -> QVBoxLayout:
    layout = QVBoxLayout(on) if on is not None else QVBoxLayout()
    layout.setContentsMargins(*margins)
    layout.setSpacing(spacing)
    add_parts(layout, *parts)
    return layout


def stack(*pages: QWidget, on: QWidget) -> QStackedLayout:
    """Show one of these pages at a time. Add the layout to that of `on`."""
    layout = QStackedLayout()
    for page in pages:
        page.setParent(on)  # the layout shows its first page at once; without a parent, this would open a window
        layout.addWidget(page)
    return layout


def scroll_down(area: QScrollArea, content: QWidget) -> None:
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    scroll(area, content)


def scroll(area: QScrollArea, content: QWidget) -> None:
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    give_viewport(area).setAutoFillBackground(False)
    area.setWidget(content)
    content.setAutoFillBackground(False)  # Qt turns it on for what it scrolls


def hairline(*, is_vertical: bool = False) -> QFrame:
    line = QFrame()
    line.setProperty("role", "hairline")
    if is_vertical:
        line.setFixedWidth(1)
    else:
        line.setFixedHeight(1)
    return line


def add_parts(layout: QBoxLayout, *parts: Part) -> None:
    for part in parts:
        match part:
            case QWidget():
                layout.addWidget(part)
            case QLayout():
                layout.addLayout(part)
            case Stretch():
                layout.addStretch(part.share)
            case int():
                layout.addSpacing(part)
            case (QWidget() as widget, Qt.AlignmentFlag() as alignment):
                layout.addWidget(widget, 0, alignment)
            case (QWidget() as widget, share):
                layout.addWidget(widget, share)
            case (inner, share):
                layout.addLayout(inner, share)


def discard(widget: QWidget) -> None:
    widget.hide()
    widget.deleteLater()


def discard_all(layout: QLayout) -> None:
    while (item := layout.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            discard(widget)


def flow(widgets: Sequence[QWidget], area: QRect) -> int:
    x, y, row_height = area.left(), area.top(), 0
    for widget in widgets:
        size = widget.sizeHint()
        width = min(size.width(), area.width())
        if x > area.left() and x + width > area.left() + area.width():
            x, y, row_height = area.left(), y + row_height + Space.S, 0
        widget.setGeometry(x, y, width, size.height())
        x += width + Space.S
        row_height = max(row_height, size.height())
    return y + row_height - area.top()


FRAME = QSize(16, 40)
"""The size assumed for the frame that a window manager adds, because it is unknown before the window is shown."""


def screen_room(window: QWidget) -> QSize:
    parent = window.parentWidget()
    screen = (parent.window() if parent is not None else window).screen()
    return screen.availableGeometry().size() - FRAME


def resize_within_screen(window: QWidget, size: QSize, minimum: QSize | None = None) -> None:
    room = screen_room(window)
    if minimum is not None:
        window.setMinimumSize(minimum.boundedTo(room))
    window.resize(size.boundedTo(room))


def set_names(widget: QWidget, object_name: str, accessible_name: str) -> None:
    widget.setObjectName(object_name)
    widget.setAccessibleName(accessible_name)


DIALOG_MARGINS: Margins = (Space.XL, Space.XL, Space.XL, Space.L)


def set_up_dialog(dialog: QDialog, name: str, title: str) -> None:
    """Name a dialog, and delete it when it closes. Open it with `open()`."""
    dialog.setObjectName(name)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setWindowTitle(title)
    dialog.setAccessibleName(title)


def lay_out_dialog(dialog: QDialog, *parts: Part, answers: Sequence[QWidget], spacing: int = Space.S) -> None:
    buttons = hbox(STRETCH, *answers, spacing=Space.S)
    vbox(*parts, buttons, on=dialog, margins=DIALOG_MARGINS, spacing=spacing)


def answer_with_ctrl_enter(dialog: QDialog, button: QPushButton) -> None:
    button.setDefault(True)
    for keys in ("Ctrl+Return", "Ctrl+Enter"):
        QShortcut(QKeySequence(keys), dialog).activated.connect(button.click)
    button.setToolTip(QKeySequence("Ctrl+Return").toString(QKeySequence.SequenceFormat.NativeText))
