"""What came with a prompt, below its text: a button for each thing, with name and size, that shows what was sent.

A picture is seen small, once it is read. Its button is as large without it, so that nothing moves.
"""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QCoreApplication, QRect
from PySide6.QtWidgets import QAbstractButton, QWidget
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol.model import Attachment, AttachmentKind, BlobRef
from desktop_agent.ui.chat.cards.tool_body import CardLoader, CardSource
from desktop_agent.ui.chat.content_chip import THUMBNAIL, CardPicture, ContentChip, read_picture
from desktop_agent.ui.chat.entries.base import EntryPlace
from desktop_agent.ui.chat.entry_actions import EntryActions
from desktop_agent.ui.chat.entry_words import byte_count, picture_problem
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.layouts import flow
from desktop_agent.ui.wording.tooltips import plain_tooltip

_MOST_CHARS = 40
_MOST_SHOWN = 20


class PromptAttachments:
    """The buttons of one prompt."""

    def __init__(
        self, attachments: Sequence[Attachment], place: EntryPlace, loader: CardLoader | None, parent: QWidget
    ) -> None:
        self.buttons: list[QAbstractButton] = []
        self._row = place.row
        for attachment in attachments[:_MOST_SHOWN]:
            if attachment.images and (attachment.kind == "picture" or attachment.media_type.startswith("image/")):
                picture = _Picture(attachment, place, parent)
                self.buttons.append(picture)
                self._load(picture, attachment.images[0], loader)
            else:
                self.buttons.append(_button(attachment, place.actions, parent))

    def _load(self, picture: "_Picture", ref: BlobRef, loader: CardLoader | None) -> None:
        """Show a picture that is known, or have it read."""
        known = self._row.loaded.get(_key(ref))
        if isinstance(known, CardPicture):
            picture.show_picture(known)
        elif loader is not None:
            loader.spawn(self._read(picture, ref, loader.source))

    async def _read(self, picture: "_Picture", ref: BlobRef, source: CardSource) -> None:
        import asyncio

        try:
            read = await asyncio.to_thread(read_picture, await source.blob(ref), THUMBNAIL)
        except AgentError:
            return  # a click says why it cannot be had
        self._row.loaded[_key(ref)] = read
        if isValid(picture):
            picture.show_picture(read)

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


class _Picture(ContentChip):
    """A picture that came with the prompt."""

    def __init__(self, attachment: Attachment, place: EntryPlace, parent: QWidget) -> None:
        super().__init__(_name(attachment), byte_count(attachment.size), place.styles.colour, parent)
        self._attachment = attachment
        self.setObjectName("attachmentButton")
        self.clicked.connect(partial(place.actions.attachment_requested.emit, attachment))
        self.show_sign(is_picture=True)
        _describe(self, attachment, self.name, self.detail)

    def show_picture(self, picture: CardPicture) -> None:
        """Show the picture small, with its size, or say why it cannot be shown."""
        size = byte_count(self._attachment.size)
        if picture.problem:
            self.show_detail(" · ".join((_tr("Cannot be shown"), size)))
            _describe(self, self._attachment, self.name, self.detail, picture_problem(picture.problem))
            return
        self.show_thumbnail(picture.image)
        self.show_detail(f"{picture.size.width():,} × {picture.size.height():,} · {size}")
        _describe(self, self._attachment, self.name, self.detail)


def _button(attachment: Attachment, actions: EntryActions, parent: QWidget) -> QAbstractButton:
    name, size = _name(attachment), byte_count(attachment.size)
    button = make_button(
        f"{name} · {size}",
        object_name="attachmentButton",
        clicked=partial(actions.attachment_requested.emit, attachment),
        is_compact=True,
        parent=parent,
    )
    _describe(button, attachment, name, size)
    return button


def _describe(button: QAbstractButton, attachment: Attachment, name: str, size: str, problem: str = "") -> None:
    """Say where it is from, and what it is, to the mouse and to screen readers."""
    said = _tr("Came with the message: {name}, {kind}, {size}")
    button.setAccessibleName(said.format(name=name, kind=_kind(attachment.kind), size=size))
    where = named(f"{attachment.server}: {attachment.uri}" if attachment.server else attachment.uri)[:300]
    button.setToolTip(plain_tooltip("\n".join(filter(None, (where, problem, _tr("Show what was sent"))))))
    button.setAccessibleDescription(where)


def _key(ref: BlobRef) -> str:
    return f"thumbnail:{ref.blob}"


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
