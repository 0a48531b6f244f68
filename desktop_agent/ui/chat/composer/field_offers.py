"""Completions in the message field: commands after a slash, mentions after an `@`. Also marks mentions."""

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from PySide6.QtCore import QObject, QPoint, QRect, Qt, Signal
from PySide6.QtGui import QKeyEvent, QTextCursor
from PySide6.QtWidgets import QWidget

from desktop_agent.core.mentions.mention_grammar import (
    TypedMention,
    mentions_in,
    paths_in,
    typed_before,
    written,
    written_path,
)
from desktop_agent.core.slash.declarations import Declaration
from desktop_agent.ui.chat.composer.message_edit import MessageEdit
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.layouts import discard
from desktop_agent.ui.wording import index_of, utf16_length

if TYPE_CHECKING:
    from desktop_agent.core.mentions.offers import MentionOffer
    from desktop_agent.ui.chat.composer.offer_popups import CommandPopup, ListPopup, MentionPopup

PASTED = "pasted"
"""The source in a mention of pasted content. A mention's source is what comes before its colon."""

_LONGEST_TEXT = 50_000
"""The longest text, in characters, whose mentions are marked: it is read again at every key press."""

_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp")


def marks_in(text: str, is_path: Callable[[str], bool], sources: Collection[str]) -> tuple[tuple[int, int], ...]:
    """Return where mentions are in the text. `sources` are the names allowed before a colon."""
    if "@" not in text or len(text) > _LONGEST_TEXT:
        return ()
    spans = {
        path.start: path.start + len(path.written) for path in paths_in(text) if path.is_certain or is_path(path.path)
    }
    for mention in mentions_in(text):
        if mention.source in sources:
            spans[mention.start] = mention.start + len(mention.written)
    return tuple(sorted(spans.items()))


class MentionedContent(NamedTuple):
    is_pasted: bool
    """Whether it is pasted content stored for messages; otherwise it is a file of the folder."""
    name: str

    @property
    def is_picture(self) -> bool:
        return self.name.lower().endswith(_PICTURES)


def contents_in(text: str) -> dict[MentionedContent, list[tuple[int, int]]]:
    """Return the pictures and pasted contents in the order of the text, each with the ranges of its mentions."""
    lower = text.lower() if "@" in text and len(text) <= _LONGEST_TEXT else ""
    found: dict[MentionedContent, list[tuple[int, int]]] = {}
    if PASTED not in lower and not any(ending in lower for ending in _PICTURES):
        return found
    pasted = [each for each in mentions_in(text) if each.source == PASTED]
    paths = [each for each in paths_in(text) if each.path.lower().endswith(_PICTURES) and not each.first]
    starts = {each.start for each in pasted}
    spans = [(each.start, each.written, MentionedContent(True, each.target)) for each in pasted]
    spans += [
        (each.start, each.written, MentionedContent(False, each.path)) for each in paths if each.start not in starts
    ]
    for start, mention, content in sorted(spans):
        found.setdefault(content, []).append((start, start + len(mention)))
    return found


_OWN_SOURCES = frozenset({"symbol", "session", PASTED})

Popup = TypeVar("Popup", bound="ListPopup")


class FieldOffers(QObject, Generic[Popup]):
    def __init__(self, edit: MessageEdit, theme: Theme, composer: QWidget) -> None:
        super().__init__(composer)
        self._edit = edit
        self._theme = theme
        self._composer = composer
        self._area = QRect()
        self._popup: Popup | None = None
        edit.key_takers.append(self._takes_key)
        edit.escape_takers.append(self._takes_escape)

    def _close(self) -> None:
        if self._popup is not None:
            discard(self._popup)
            self._popup = None

    def _takes_key(self, event: QKeyEvent) -> bool:
        return self._popup is not None and self._popup.takes(event)

    def _takes_escape(self) -> bool:
        return self._popup is not None and self._popup.isVisible()


class CommandOffers(FieldOffers["CommandPopup"]):
    wanted = Signal()  # a slash was typed: the owner passes the commands to `show`

    def __init__(self, edit: MessageEdit, theme: Theme, composer: QWidget) -> None:
        super().__init__(edit, theme, composer)
        self._commands: Sequence[Declaration] = ()
        edit.textChanged.connect(self._follow)
        edit.focus_changed.connect(self._on_focus_changed)

    def show(self, commands: Sequence[Declaration]) -> None:
        self._commands = commands
        self._follow()

    def place(self, area: QRect) -> None:
        self._area = area
        if self._popup is not None:
            field = QRect(self._composer.mapTo(self._composer.window(), area.topLeft()), area.size())
            self._popup.place(field, field.top() - Space.XS)

    def _follow(self) -> None:
        text = self._edit.toPlainText()
        if not text.startswith("/"):
            self._close()
            return
        popup = self._popup or self._make_popup()
        can_show = self._edit.hasFocus() and not self._edit.history.is_showing(text)
        popup.follow(text if can_show else "", self._commands)
        self.place(self._area)

    def _make_popup(self) -> "CommandPopup":
        from desktop_agent.ui.chat.composer.offer_popups import CommandPopup  # with the first slash

        popup = self._popup = CommandPopup(self._theme, self._composer.window())
        popup.chosen.connect(self._on_chosen)
        self.wanted.emit()
        return popup

    def _on_focus_changed(self) -> None:
        if self._edit.hasFocus():
            self._follow()
        else:
            self._close()

    def _on_chosen(self, name: str) -> None:
        has_arguments = any(command.arguments for command in self._commands if command.name == name)
        self._edit.replace_text(f"/{name} " if has_arguments else f"/{name}")


class MentionOffers(FieldOffers["MentionPopup"]):
    wanted = Signal(object)  # a `TypedMention`; the owner passes matches to `show` and `show_symbols`
    left = Signal()  # the user has stopped typing a mention

    def __init__(self, edit: MessageEdit, theme: Theme, composer: QWidget) -> None:
        super().__init__(edit, theme, composer)
        self.typed: TypedMention | None = None
        self._dismissed_at = -1
        """The start of the mention whose list the user closed."""
        self._offers: tuple[MentionOffer, ...] | None = None
        """The matches for what is being typed, without symbols; None until they are known."""
        self._symbols: tuple[MentionOffer, ...] = ()
        self._is_path: Callable[[str], bool] = lambda _path: False
        self._sources = _OWN_SOURCES
        edit.textChanged.connect(self._on_text_changed)
        edit.cursorPositionChanged.connect(self._on_cursor_moved)
        edit.composing_changed.connect(self._follow)
        edit.focus_changed.connect(self._on_cursor_moved)
        theme.changed.connect(self._mark)

    def show(self, typed: TypedMention, offers: Sequence["MentionOffer"]) -> None:
        if typed == self.typed and self._edit.hasFocus():
            self._offers = tuple(offers)
            self._show_all(typed)

    def show_symbols(self, typed: TypedMention, symbols: Sequence["MentionOffer"]) -> None:
        if typed == self.typed and self._edit.hasFocus() and self._symbols != tuple(symbols):
            self._symbols = tuple(symbols)
            if self._offers is not None:
                self._show_all(typed, is_more=True)

    def set_known(self, is_path: Callable[[str], bool], sources: frozenset[str]) -> None:
        self._is_path, self._sources = is_path, sources | _OWN_SOURCES
        self._mark()

    def insert(self, path: str) -> None:
        self._edit.insert_word(written_path(path))
        self._edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def insert_pasted(self, name: str) -> None:
        self._edit.insert_word(written(PASTED, name))

    def place(self, area: QRect) -> None:
        self._area = area
        if self._popup is None or self.typed is None:
            return
        cursor = self._edit.textCursor()
        start = utf16_length(self._edit.toPlainText()[: self.typed.start])
        cursor.setPosition(min(start, self._edit.document().characterCount() - 1))
        left = self._edit.viewport().mapTo(self._composer.window(), self._edit.cursorRect(cursor).topLeft()).x()
        top = self._composer.mapTo(self._composer.window(), area.topLeft()).y()
        self._popup.place(QPoint(left, top - Space.XS))

    def _on_text_changed(self) -> None:
        self._mark()
        self._follow()

    def _on_cursor_moved(self) -> None:
        """Close the list once the cursor leaves its mention or the field loses the focus. Only a key opens the list."""
        if self.typed is not None:
            self._follow()

    def _follow(self) -> None:
        typed = self._being_typed()
        if typed == self.typed:
            return
        self.typed = typed
        self._offers, self._symbols = None, ()
        if typed is None:
            self._close()
            self.left.emit()
            return
        if typed.start != self._dismissed_at:
            self._dismissed_at = -1
            self.wanted.emit(typed)

    def _being_typed(self) -> TypedMention | None:
        edit, cursor = self._edit, self._edit.textCursor()
        if not edit.hasFocus() or edit.is_composing or cursor.hasSelection():
            return None
        text = edit.toPlainText()
        if "@" not in text or edit.history.is_showing(text):
            return None
        return typed_before(text, index_of(text, cursor.position()))

    def _show_all(self, typed: TypedMention, *, is_more: bool = False) -> None:
        """Show the current offers. While the user is choosing, new offers are added at the end."""
        from desktop_agent.core.mentions.offers import with_symbols

        popup = self._popup
        if is_more and popup is not None and popup.is_in_use:
            popup.add_offers(self._symbols)
        elif offers := with_symbols(self._offers or (), self._symbols):
            popup = popup or self._make_popup()
            text = self._edit.toPlainText()
            popup.show_offers(offers, text[typed.start : index_of(text, self._edit.textCursor().position())])
        else:
            self._close()
            return
        self.place(self._area)

    def _make_popup(self) -> "MentionPopup":
        from desktop_agent.ui.chat.composer.offer_popups import MentionPopup  # with the first mention

        popup = self._popup = MentionPopup(self._theme, self._composer.window())
        popup.chosen.connect(self._on_chosen)
        popup.dismissed.connect(self._on_dismissed)
        return popup

    def _on_dismissed(self) -> None:
        self._dismissed_at = self.typed.start if self.typed is not None else -1
        self._close()

    def _on_chosen(self, offer: "MentionOffer", goes_on: bool) -> None:
        if self.typed is None:
            return
        is_over = offer.is_whole and not (goes_on and offer.kind == "folder")
        cursor = self._edit.textCursor()
        text, end = self._edit.toPlainText(), cursor.position()
        at = index_of(text, end)
        followed_by = text[at : at + 1]
        written = offer.written if is_over else offer.written.removesuffix('"')
        cursor.setPosition(utf16_length(text[: self.typed.start]))
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(written + (" " if is_over and not followed_by.isspace() else ""))
        if is_over and followed_by.isspace():
            cursor.movePosition(QTextCursor.MoveOperation.NextCharacter)
        self._edit.setTextCursor(cursor)

    def _mark(self) -> None:
        text = self._edit.toPlainText()
        marks = marks_in(text, self._is_path, self._sources)
        if not marks and not self._edit.marks.spans:
            return
        spans = tuple((utf16_length(text[:start]), utf16_length(text[:end])) for start, end in marks)
        self._edit.marks.show(spans, self._theme.colour("accent_weak"), self._theme.colour("accent_text"))
