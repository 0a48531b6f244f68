"""A text of any length: put in piece by piece, so that the window never waits for it."""

from PySide6.QtCore import QTimer
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPlainTextEdit

_PIECE = 24_000
"""Characters that are put in at once: a few milliseconds."""
_LONGEST_LINE = 8_000
"""A longer line is broken: Qt lays a line out as a whole, which would take long."""


class LongText(QPlainTextEdit):
    """Shows a text, and stays where the user reads when the text has only grown since."""

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self._text = ""
        self._done = 0
        """How much of the text is in."""
        self._line = 0
        """How long the last line is."""
        self._timer = QTimer(self, interval=0, singleShot=True)
        self._timer.timeout.connect(self._put_next)

    @property
    def is_complete(self) -> bool:
        """Whether all of the text is in."""
        return self._done == len(self._text)

    def show_text(self, text: str, *, is_editable: bool = False) -> None:
        """Show `text` instead of what was shown. One that can be edited is put in at once, as it is."""
        is_changed = self.document().isModified()
        if text == self._text and is_editable != self.isReadOnly() and not is_changed:
            return
        if is_editable or is_changed or not self.isReadOnly() or not text.startswith(self._text) or not self._text:
            self._timer.stop()
            self.setReadOnly(not is_editable)
            self.setUndoRedoEnabled(is_editable)
            self.setPlainText(text if is_editable else "")
            self._done = len(text) if is_editable else 0
            self._line = 0
        self._text = text
        self._put_next()

    def _put_next(self) -> None:
        """Put the next piece in at the end; the cursor and what is selected stay."""
        piece = self._text[self._done : self._done + _PIECE]
        if piece:
            self._done += len(piece)
            end = QTextCursor(self.document())
            end.movePosition(QTextCursor.MoveOperation.End)
            end.insertText(self._broken(piece))
            self.document().setModified(False)
        if not self.is_complete:
            self._timer.start()

    def _broken(self, piece: str) -> str:
        """Return `piece` with its long lines broken; the first of them goes on from the piece before."""
        lines: list[str] = []
        for number, line in enumerate(piece.split("\n")):
            begun = self._line if number == 0 else 0
            cuts = [0, *range(_LONGEST_LINE - begun, len(line), _LONGEST_LINE)] if line else [0]
            parts = [line[first:last] for first, last in zip(cuts, [*cuts[1:], None], strict=True)]
            lines.append("\n".join(parts))
            self._line = len(parts[-1]) + (begun if len(parts) == 1 else 0)
        return "\n".join(lines)
