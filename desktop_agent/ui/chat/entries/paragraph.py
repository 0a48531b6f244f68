"""A few lines of text among widgets, wrapped, with inline code. No other markup: the words may be untrusted."""

from PySide6.QtGui import QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.chat.markdown.inline import InlineSpan, RichText
from desktop_agent.ui.chat.markdown.marks import CODE
from desktop_agent.ui.chat.text.passage import TextPassage
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.terminal.formats import format_ranges
from desktop_agent.ui.wording.visible_text import utf16_length


class Paragraph(QWidget):
    """Shows `text`; what stands between backticks is set in the code font."""

    def __init__(self, text: str, styles: TextStyles, parent: QWidget, *, role: str = "text", font: QFont) -> None:
        super().__init__(parent)
        self._rich = read_code_spans(text)
        self._styles = styles
        self._font = font
        self._role = role
        self._passage: TextPassage | None = None
        self.setAccessibleName(self._rich.text)

    def place(self, x: int, y: int, width: int) -> int:
        """Stand at this point with this width; return the height."""
        formats = [(span.start, span.length, self._styles.format(span.style)) for span in self._rich.spans]
        height = self._styles.text_line
        self._passage = TextPassage(self._rich, self._font, format_ranges(formats), width=width, line_height=height)
        self.setGeometry(x, y, width, self._passage.height)
        return self._passage.height

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._passage is not None:
            painter = QPainter(self)
            painter.setPen(self._styles.colour(self._role))
            self._passage.draw(painter, ())
            painter.end()


def read_code_spans(text: str) -> RichText:
    """Return `text` with the parts between backticks as code."""
    parts = text.split("`")
    if len(parts) < 3 or len(parts) % 2 == 0:
        return RichText(text)
    spans: list[InlineSpan] = []
    at = 0
    for index, part in enumerate(parts):
        length = utf16_length(part)
        if index % 2 and length:
            spans.append(InlineSpan(at, length, CODE))
        at += length
    return RichText("".join(parts), tuple(spans))
