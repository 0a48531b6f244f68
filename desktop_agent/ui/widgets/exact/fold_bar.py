"""Says which part of a text was not in sight yet, and scrolls to it: the user allows only what was in sight."""

from functools import cached_property

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QPushButton, QSizePolicy, QWidget

from desktop_agent.ui.theme import Space
from desktop_agent.ui.translation.plurals import plural
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.exact.exact_field import ExactField, Unseen
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hbox


def unseen_words(unseen: Unseen) -> str:
    """Say what is below the fold: `292 more lines`, `1 line goes on for 6,044 characters`."""
    parts: list[str] = []
    if unseen.characters:
        one, many = "1 line goes on for %n character", "1 line goes on for %n characters"
        parts.append(plural("FoldBar", unseen.characters, one, many))
    if unseen.lines:
        parts.append(plural("FoldBar", unseen.lines, "%n more line", "%n more lines"))
    return " · ".join(parts)


class FoldBar(QWidget):
    """Stands below a field that shows only some of its text. Not there at all below one that shows everything.

    Signals:
        resize_wanted: the field wants to be higher, or this came or went.
        changed: another part of the text was seen.
    """

    resize_wanted = Signal()
    changed = Signal()

    def __init__(self, field: ExactField, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("approvalFoldBar")
        self._field = field
        self._was_folded = False
        self.hide()
        field.seen.connect(self._on_seen)

    @cached_property
    def _parts(self) -> tuple[QLabel, QPushButton]:
        """What it says, and the button that shows more: made when something is not in sight, which is rare."""
        words = make_label(role="warning", parent=self)
        # Its words give way in a narrow window: they never widen it.
        words.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        more = make_button(
            self.tr("Show more"),
            object_name="approvalShowMoreButton",
            clicked=self._on_more,
            is_compact=True,
            parent=self,
        )
        hbox((words, 1), more, on=self, spacing=Space.S)
        return words, more

    @property
    def is_all_seen(self) -> bool:
        """Whether all of the text was in sight."""
        return self._field.unseen().is_nothing

    @property
    def obstacle(self) -> str:
        """Why it cannot be allowed, or not yet; empty once all of it was in sight."""
        if self._field.is_cut:
            return self.tr("This is too long to be shown whole, so it can only be denied")
        return "" if self.is_all_seen else self.tr("Scroll through all of it to enable Allow")

    def stay_away(self) -> None:
        """Say nothing below a text that may be left unseen."""
        self._field.seen.disconnect(self._on_seen)
        self.hide()

    def text(self) -> str:
        """Return what it says."""
        return self._parts[0].text()

    def _on_seen(self) -> None:
        unseen = self._field.unseen()
        self._was_folded |= not unseen.is_nothing
        if self._was_folded:
            self._say(unseen)
            if self.isHidden():
                self.show()
                self.resize_wanted.emit()
        self.changed.emit()

    def _say(self, unseen: Unseen) -> None:
        words, more = self._parts
        said = self.tr("You have seen all of it")
        if not unseen.is_nothing:
            said = self.obstacle if self._field.is_cut else f"{unseen_words(unseen)} · {self.obstacle}"
        words.setText(said)
        words.setAccessibleName(said)
        words.setToolTip(said)
        words.setProperty("role", "secondary" if unseen.is_nothing else "warning")
        words.style().polish(words)
        more.setVisible(not unseen.is_nothing)

    def _on_more(self) -> None:
        if self._field.show_more():
            self.resize_wanted.emit()
