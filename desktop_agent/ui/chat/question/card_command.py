"""Text in question on a card: shown exactly as it is, and edited in place once the user wants to."""

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QTextOption
from PySide6.QtWidgets import QFrame, QWidget

from desktop_agent.ui.chat.text.passage import count_lines
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.widgets.exact.exact_field import ExactField
from desktop_agent.ui.widgets.exact.fold_bar import FoldBar

_FRAME = 14
"""Height of border and padding together."""
_SIDES = 22
"""Width of border, padding and margins together."""


class CardCommand(ExactField):
    """A field as high as its text, up to a limit, and read-only at first. `fold` stands below it."""

    def __init__(self, text: str, styles: TextStyles, parent: QWidget, name: str) -> None:
        """`name` is the accessible name, which screen readers read out."""
        super().__init__(styles.theme, text, parent)
        self.setFont(styles.code)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setTabChangesFocus(True)
        self.setReadOnly(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(name)
        self.document().setDocumentMargin(2)
        self.fold = FoldBar(self, parent)

    def set_editable(self, *, is_editable: bool) -> None:
        """Let the user change the text, or not."""
        self.setReadOnly(not is_editable)

    def place(self, area: QRect, reserved: int) -> int:
        """Stand at the top of `area`, keeping `reserved` pixels free on the right; return the height of it all."""
        self.setViewportMargins(0, 0, reserved, 0)
        lines = count_lines(self.toPlainText(), self.font(), area.width() - reserved - _SIDES, self.most_lines)
        is_long = lines == self.most_lines
        policy = Qt.ScrollBarPolicy.ScrollBarAsNeeded if is_long else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(policy)
        height = lines * self.fontMetrics().lineSpacing() + _FRAME + 4
        self.setGeometry(area.x(), area.y(), area.width(), height)
        if not self.fold.isHidden():
            bar = self.fold.sizeHint().height()
            self.fold.setGeometry(area.x(), area.y() + height + 2, area.width(), bar)
            height += bar + 2
        return height
