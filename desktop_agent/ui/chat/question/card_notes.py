"""What a question says besides its command: the files, why it asks, what could go wrong, how it would run."""

from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol.model import ApprovalRequest
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.markdown.inline import LINE_BREAK
from desktop_agent.ui.chat.text.passage import Paragraph
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.theme import Space
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.wording.mode_words import escalation_words
from desktop_agent.ui.wording.model_words import hidden_text_risks, visible

_SHOWN_FILES = 6


class CardNotes:
    """The paragraphs of one question, from top to bottom. Its parent places them."""

    def __init__(self, request: ApprovalRequest, command: str, styles: TextStyles, parent: QWidget) -> None:
        """`command` is the text as it is now."""
        self._styles = styles
        self._parent = parent
        files = [self._say(_file_list(request), "text", is_code=True)] if request.changes else []
        reasons = [self._say(shown_lines(core_words(request.reason)), "warning_text")] if request.reason else []
        risks = (*map(core_words, request.risks), *hidden_text_risks(command))
        reasons += [self._say(shown_lines(f"⚠ {risk}"), "warning_text") for risk in risks]
        self.confinement = escalation_words() if request.is_escalation else core_words(request.confinement)
        role = "danger_text" if request.is_escalation else "muted"
        confined = [self._say(self.confinement, role)] if self.confinement else []
        safety = [
            self._say(shown_lines(text if at == 0 else f"⚠ {text}"), "muted" if at == 0 else "warning_text")
            for at, text in enumerate(request.safety)
        ]
        notes = [*confined, *reasons] if request.is_escalation else [*reasons, *confined]
        self._paragraphs = [*files, *notes, *safety]
        self.spoken = " ".join(filter(None, (core_words(request.reason), *risks, self.confinement, *request.safety)))

    def _say(self, text: str, role: str, *, is_code: bool = False) -> Paragraph:
        font = self._styles.code if is_code else self._styles.body
        paragraph = Paragraph(text, self._styles, self._parent, role=role, font=font)
        paragraph.show()
        return paragraph

    def place(self, x: int, y: int, width: int) -> int:
        """Stand below each other from `y`; return how high that is."""
        top = y
        for paragraph in self._paragraphs:
            y += paragraph.place(x, y, width) + Space.XS // 2
        return y - top

    def drop(self) -> None:
        """Delete the paragraphs; the card makes new notes in their place."""
        for paragraph in self._paragraphs:
            paragraph.hide()
            paragraph.deleteLater()


def shown_lines(text: str) -> str:
    """Return `text` with nothing hidden in it, ready for a paragraph."""
    return visible(text).replace("\n", LINE_BREAK)


def _file_list(request: ApprovalRequest) -> str:
    from desktop_agent.core.changes.net import net_of_call

    changes = net_of_call(request.changes)
    names = [
        visible(f"{change.moved_from} → {change.path}" if change.moved_from else change.path).replace("\n", "␊")
        for change in changes
    ]
    lines = [
        f"{name}  +{change.added} {entry_words.MINUS}{change.removed}"
        for name, change in zip(names[:_SHOWN_FILES], changes, strict=False)
    ]
    if len(changes) > _SHOWN_FILES:
        more = len(changes) - _SHOWN_FILES
        lines.append(entry_words.counted(more, "and %n file more", "and %n files more"))
    return LINE_BREAK.join(lines)
