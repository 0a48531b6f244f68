"""A file whose clash can only be settled as a whole: what its three versions are."""

from PySide6.QtWidgets import QGridLayout, QWidget

from desktop_agent.core.merge.three_way import Source
from desktop_agent.ui.review.conflict.clash_words import Names
from desktop_agent.ui.review.conflict.versions import Versions
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.media.binary_view import version_words
from desktop_agent.ui.theme import Space, Theme, TypeSize
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, hbox, vbox


class WholePage(QWidget):
    """A small table: one row for each version, with its kind, size and digest. Below it, two texts side by side."""

    def __init__(self, theme: Theme, versions: Versions, names: Names) -> None:
        super().__init__()
        why = self.tr("These versions cannot be brought together line by line. Choose one of them as a whole.")
        grid = QGridLayout()
        grid.setHorizontalSpacing(Space.XL)
        grid.setVerticalSpacing(Space.S)
        grid.setColumnStretch(4, 1)
        titles = (names.base, names.wanted, names.there)
        for number, (title, version) in enumerate(zip(titles, versions.facts, strict=True)):
            grid.addWidget(make_label(title, role="strong"), number, 0)
            for place, text in enumerate(version_words(version)):
                value = make_label(text, is_plain=True, is_selectable=True)
                if place == 2:
                    value.setFont(theme.code_font(TypeSize.CODE))
                grid.addWidget(value, number, place + 1)
        head = vbox(make_label(why, wraps=True), grid, margins=(Space.XL, Space.L, Space.XL, Space.L), spacing=Space.L)
        if versions.pair is None:
            vbox(head, STRETCH, on=self)
            return
        heads_of: dict[Source, str] = {"base": names.base, "wanted": names.wanted, "yours": names.there}
        heads = _titles(heads_of[versions.pair.old], heads_of[versions.pair.new])
        self._view = DiffView(theme)
        self._view.setObjectName("clashDiffView")
        self._view.set_mode("side_by_side")
        self._view.show_diff(versions.pair.diff)
        vbox(head, hairline(), heads, hairline(), (self._view, 1), on=self)


def _titles(old: str, new: str) -> QWidget:
    """Name the two texts, with the signs that their lines have when both are in one column."""
    area = QWidget()
    hbox(
        (make_label(f"\N{MINUS SIGN} {old}", role="heading"), 1),
        (make_label(f"+ {new}", role="heading"), 1),
        on=area,
        margins=(Space.M, Space.XS, Space.M, Space.XS),
        spacing=Space.XS + 2,
    )
    return area
