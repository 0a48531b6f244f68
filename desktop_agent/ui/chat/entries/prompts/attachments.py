"""What came with a prompt, below its text: a button for each thing, with name and size, that shows what was sent."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QCoreApplication, QRect
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.base.hidden_text import named
from desktop_agent.core.protocol.model import Attachment, AttachmentKind
from desktop_agent.ui.chat.entry_actions import EntryActions
from desktop_agent.ui.chat.entry_words import byte_count
from desktop_agent.ui.chat.flow import flow
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.wording.tooltips import plain_tooltip

_MOST_CHARS = 40
_MOST_SHOWN = 20


class PromptAttachments:
    """The buttons of one prompt."""

    def __init__(self, attachments: Sequence[Attachment], actions: EntryActions, parent: QWidget) -> None:
        self.buttons = [_button(each, actions, parent) for each in attachments[:_MOST_SHOWN]]

    @property
    def natural_width(self) -> int:
        """How wide they are side by side."""
        return sum(button.sizeHint().width() + Space.S for button in self.buttons) - Space.S if self.buttons else 0

    def place(self, left: int, top: int, width: int) -> int:
        """Stand in rows from there; return how high they are, with the space above."""
        if not self.buttons:
            return 0
        return flow(self.buttons, QRect(left, top + Space.S, width, 0)) + Space.S

    def show(self, *, is_shown: bool) -> None:
        """Be there, or not while the prompt is edited."""
        for button in self.buttons:
            button.setVisible(is_shown)


def _button(attachment: Attachment, actions: EntryActions, parent: QWidget) -> QPushButton:
    name, size = _name(attachment), byte_count(attachment.size)
    button = make_button(
        f"{name} · {size}",
        object_name="attachmentButton",
        accessible_name=_tr("Came with the message: {name}, {kind}, {size}").format(
            name=name, kind=_kind(attachment.kind), size=size
        ),
        clicked=partial(actions.attachment_requested.emit, attachment),
        is_compact=True,
        parent=parent,
    )
    where = f"{attachment.server}: {attachment.uri}" if attachment.server else attachment.uri
    button.setToolTip(plain_tooltip(f"{named(where)[:300]}\n{_tr('Show what was sent')}"))
    button.setAccessibleDescription(named(where)[:300])
    return button


def _name(attachment: Attachment) -> str:
    """Return the last part of a path, or the name, as short as a button needs it."""
    whole = named(attachment.name or attachment.uri)
    is_path = attachment.kind in ("file", "picture", "folder")
    name = (whole.rstrip("/").rpartition("/")[2] or whole) if is_path else whole
    if attachment.kind == "folder":
        name += "/"
    shown = name if len(name) <= _MOST_CHARS else f"{name[: _MOST_CHARS - 1]}…"
    return f"{shown}:{attachment.lines}" if attachment.lines else shown


def _kind(kind: AttachmentKind) -> str:
    words = {
        "resource": _tr("resource"),
        "file": _tr("file"),
        "picture": _tr("picture"),
        "folder": _tr("folder"),
        "session": _tr("session"),
    }
    return words[kind]


def _tr(text: str) -> str:
    return QCoreApplication.translate("PromptAttachments", text)
