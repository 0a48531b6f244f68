"""A slash command and what it said: the line as it was written, and below it the answer."""

from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QPainter

from desktop_agent.core.protocol.events import CommandRun
from desktop_agent.ui.chat.entries.base import EntryPlace
from desktop_agent.ui.chat.entries.text import SPOKEN_CHARS, MarkdownWidget
from desktop_agent.ui.chat.markdown.inline import RichText
from desktop_agent.ui.chat.text.passage import TextPassage
from desktop_agent.ui.chat.text.styles import CODE_LINE
from desktop_agent.ui.theme import Space
from desktop_agent.ui.translation.core_words import answer_words

_INDENT = 14
_RULE = 2


class CommandWidget(MarkdownWidget):
    """The command in the code font beside a thin rule, quiet; what it said as markdown; what went wrong in red."""

    def __init__(self, place: EntryPlace) -> None:
        is_error = place.row.entry_as(CommandRun).is_error
        super().__init__(place, ink="danger_text" if is_error else "text")
        self._line: TextPassage | None = None
        self.refresh()

    def refresh(self) -> None:
        self.read()
        entry = self.row.entry_as(CommandRun)
        said = self.tr("Command {text} failed: {output}") if entry.is_error else self.tr("Command {text}: {output}")
        self.setAccessibleName(said.format(text=entry.text, output=answer_words(entry.output)[:SPOKEN_CHARS]))

    def set_width(self, width: int) -> None:
        inner = width - _INDENT
        text = RichText(self.row.entry_as(CommandRun).text)
        self._line = TextPassage(text, self.styles.code, (), width=inner, line_height=CODE_LINE, is_code=True)
        self.column_origin = QPoint(_INDENT, self._line.height + Space.XS)
        super().set_width(width)

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        role = "danger_text" if self.row.entry_as(CommandRun).is_error else "border_strong"
        painter.fillRect(QRect(0, 2, _RULE, self.height() - 4), self.styles.colour(role))
        if self._line is not None:
            painter.setPen(self.styles.colour("muted"))
            painter.translate(_INDENT, 0)
            self._line.draw(painter, ())
            painter.translate(-_INDENT, 0)
