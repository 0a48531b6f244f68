"""A file whose clash can only be settled as a whole: what its three versions are."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from desktop_agent.core.merge.three_way import Source
from desktop_agent.ui.review.conflict.resolution import Purpose
from desktop_agent.ui.review.conflict.versions import Versions
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.media.binary_facts import version_words
from desktop_agent.ui.theme import Space, Theme, TypeSize
from desktop_agent.ui.widgets.hairline import hairline


class WholePage(QWidget):
    """A small table: one row for each version, with its kind, size and digest. Below it, two texts side by side."""

    def __init__(
        self,
        theme: Theme,
        versions: Versions,
        purpose: Purpose,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        note = QLabel(self.tr("These versions cannot be brought together line by line. Choose one of them as a whole."))
        note.setWordWrap(True)
        after = self.tr("After undo") if purpose == "undo" else self.tr("After redo")
        grid = QGridLayout()
        grid.setHorizontalSpacing(Space.XL)
        grid.setVerticalSpacing(Space.S)
        grid.setColumnStretch(4, 1)
        titles = (self.tr("Agent's version"), after, self.tr("Yours (on disk)"))
        for row, (title, version) in enumerate(zip(titles, versions.facts, strict=True)):
            name = QLabel(title)
            name.setProperty("role", "strong")
            grid.addWidget(name, row, 0)
            for column, text in enumerate(version_words(version)):
                label = _value(text)
                if column == 2:
                    label.setFont(theme.code_font(TypeSize.CODE))
                grid.addWidget(label, row, column + 1)
        head = QVBoxLayout()
        head.setContentsMargins(Space.XL, Space.L, Space.XL, Space.L)
        head.setSpacing(Space.L)
        head.addWidget(note)
        head.addLayout(grid)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(head)
        if versions.pair is None:
            layout.addStretch()
            return
        names: dict[Source, str] = {"base": titles[0], "wanted": titles[1], "yours": titles[2]}
        layout.addWidget(hairline())
        layout.addWidget(_titles(names[versions.pair.old], names[versions.pair.new]))
        layout.addWidget(hairline())
        self._view = DiffView(theme)
        self._view.setObjectName("clashDiffView")
        self._view.set_mode("side_by_side")
        self._view.show_diff(versions.pair.diff)
        layout.addWidget(self._view, 1)


def _titles(old: str, new: str) -> QWidget:
    """Name the two texts, with the signs that their lines have when both are in one column."""
    row = QHBoxLayout()
    row.setContentsMargins(Space.M, Space.XS, Space.M, Space.XS)
    for words in (f"\N{MINUS SIGN} {old}", f"+ {new}"):
        label = QLabel(words)
        label.setProperty("role", "heading")
        row.addWidget(label, 1)
    area = QWidget()
    area.setLayout(row)
    return area


def _value(text: str) -> QLabel:
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    return label
