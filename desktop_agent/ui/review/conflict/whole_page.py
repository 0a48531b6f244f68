"""A file whose clash can only be settled as a whole: what its three versions are."""

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QVBoxLayout, QWidget

from desktop_agent.ui.review.media.binary_facts import VersionFacts, version_words
from desktop_agent.ui.theme import Space, TypeSize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from desktop_agent.ui.review.conflict.resolution import Purpose
    from desktop_agent.ui.theme import Theme


class WholePage(QWidget):
    """A small table: one row for each version, with its kind, size and digest."""

    def __init__(
        self,
        theme: "Theme",
        versions: "Sequence[VersionFacts | None]",
        purpose: "Purpose",
        parent: QWidget | None = None,
    ) -> None:
        """`versions` are base, wanted and yours."""
        super().__init__(parent)
        note = QLabel(self.tr("These versions cannot be brought together line by line. Choose one of them as a whole."))
        note.setWordWrap(True)
        after = self.tr("After undo") if purpose == "undo" else self.tr("After redo")
        grid = QGridLayout()
        grid.setHorizontalSpacing(Space.XL)
        grid.setVerticalSpacing(Space.S)
        grid.setColumnStretch(4, 1)
        titles = (self.tr("Agent's version"), after, self.tr("Yours (on disk)"))
        for row, (title, version) in enumerate(zip(titles, versions, strict=True)):
            name = QLabel(title)
            name.setProperty("role", "strong")
            grid.addWidget(name, row, 0)
            for column, text in enumerate(version_words(version)):
                label = _value(text)
                if column == 2:
                    label.setFont(theme.code_font(TypeSize.CODE))
                grid.addWidget(label, row, column + 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(Space.XL, Space.L, Space.XL, Space.L)
        layout.setSpacing(Space.L)
        layout.addWidget(note)
        layout.addLayout(grid)
        layout.addStretch()


def _value(text: str) -> QLabel:
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    return label
