"""What must be said about a tool call besides its result: what was asked, what it destroyed, what it did not get."""

from PySide6.QtGui import QPainter

from desktop_agent.core.transcript import ToolEntry, explanation_of
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.markdown.inline import RichText
from desktop_agent.ui.chat.text.passage import TextPassage
from desktop_agent.ui.chat.text.styles import CODE_LINE, TextStyles
from desktop_agent.ui.theme import Space
from desktop_agent.ui.wording.model_words import explained


class CallNotes:
    """Lines of text at the lower end of a card."""

    def __init__(self, styles: TextStyles) -> None:
        self._styles = styles
        self._notes: list[tuple[TextPassage, str]] = []

    def read(self, entry: ToolEntry, width: int, *, says_answer: bool) -> None:
        """Show the entry in a card this wide; `says_answer` adds what it is for, and how it was allowed."""
        purpose = explained(explanation_of(entry.call))
        said = filter(None, (purpose, entry_words.asked(entry))) if says_answer else ()
        texts = [*((text, "muted") for text in said), *entry_words.notes(entry)]
        self._notes = [(self._passage(text, width - 2 * Space.M), role) for text, role in texts]

    def _passage(self, text: str, width: int) -> TextPassage:
        return TextPassage(RichText(text), self._styles.secondary, (), width=width, line_height=CODE_LINE)

    @property
    def height(self) -> int:
        """How high they are with the space around them; 0 without any."""
        return sum(note.height for note, _ in self._notes) + 2 * Space.S if self._notes else 0

    def paint(self, painter: QPainter, top: int) -> None:
        """Paint them below `top`."""
        y = top + Space.S - 1
        for note, role in self._notes:
            painter.save()
            painter.translate(Space.M, y)
            painter.setPen(self._styles.colour(role))
            note.draw(painter, ())
            painter.restore()
            y += note.height
