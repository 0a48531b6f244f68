"""The comments of a diff and the one that is being written: how much room they need, and where they are."""

import secrets
from typing import NamedTuple

from msgspec.structs import replace
from PySide6.QtCore import QObject, QRect, Signal
from PySide6.QtWidgets import QWidget

from desktop_agent.core.diff.rows import DiffRows
from desktop_agent.core.protocol.model import LineComment
from desktop_agent.ui.review.comments.comment_anchor import CommentAnchor, quote_of, row_of
from desktop_agent.ui.review.comments.comment_card import CommentCard, card_height
from desktop_agent.ui.review.comments.comment_editor import CommentEditor
from desktop_agent.ui.review.diff.diff_layout import Geometry
from desktop_agent.ui.review.diff.diff_words import comment_label
from desktop_agent.ui.theme import Theme

_MARGIN = 6
_RIGHT = 12
_MAX_WIDTH = 720
_MAX_HEIGHTS_KEPT = 1_000


class _Block(NamedTuple):
    """One comment below a row; the editor stands where the comment does that it edits."""

    row: int
    offset: int
    height: int
    comment: LineComment
    is_editor: bool


class CommentBlocks(QObject):
    """Draws comments as cards between the rows and lets the user write one. Only visible cards are widgets.

    What was written and not saved is kept for as long as the same file is shown.

    Signals:
        added: the user wrote or changed a comment; carries a `LineComment`.
        removed: the user took back the comment with this id.
        resized: the blocks need other heights.
        closed: nothing is being written any more.
    """

    added = Signal(object)
    removed = Signal(str)
    resized = Signal()
    closed = Signal()

    def __init__(self, theme: Theme, viewport: QWidget) -> None:
        super().__init__(viewport)
        self._theme = theme
        self._viewport = viewport
        self._path = ""
        self._comments: tuple[LineComment, ...] = ()
        self._written: LineComment | None = None
        """What the editor is for: a comment that is there, or a new one."""
        self._drafts: dict[tuple[str, CommentAnchor], str] = {}
        self._editor: CommentEditor | None = None
        self._blocks: list[_Block] = []
        self._cards: dict[str, CommentCard] = {}
        self._heights: dict[tuple[str, int], int] = {}
        """Of cards by text and width: wrapping text costs more than all else here."""

    @property
    def is_empty(self) -> bool:
        """Whether there is no comment and none is being written."""
        return not self._comments and self._written is None

    def show_file(self, path: str) -> None:
        """Show the comments of this file. With another file, what was not saved is forgotten."""
        if path != self._path:
            self._path = path
            self._drafts.clear()
            self._written = None
            if self._editor:
                self._editor.hide()

    def set_comments(self, comments: tuple[LineComment, ...]) -> bool:
        """Show these, as far as they are about the file; whether they are other ones than before."""
        shown = tuple(comment for comment in comments if comment.path == self._path)
        if shown == self._comments:
            return False
        self._comments = shown
        return True

    def words_at(self, row: int) -> str:
        """Return the comments below a row, to be read out."""
        found = (block.comment for block in self._blocks if block.row == row and not block.is_editor)
        return ". ".join(f"{comment_label(comment)}: {comment.text}" for comment in found)

    def last_row(self) -> int | None:
        """Return the row that the editor is below."""
        return next((block.row for block in self._blocks if block.is_editor), None)

    def write(self, rows: DiffRows, spot: CommentAnchor) -> None:
        """Let the user write a comment on these lines."""
        quote = quote_of(rows, spot)
        comment = LineComment(
            id=f"m-{secrets.token_hex(4)}",
            path=self._path,
            side=spot.side,
            start=spot.start,
            end=spot.end,
            quote=quote,
            text="",
        )
        self._open(comment, is_new=True)

    # -- room --

    def heights(self, rows: DiffRows, left: int, width: int) -> dict[int, int]:
        """Return the heights of the blocks by row, for a view of this width."""
        found: dict[int, int] = {}
        self._blocks.clear()
        if self.is_empty or not len(rows):
            return found
        inner = _rect(left, width, 0, 0).width()
        for comment, is_editor in self._shown():
            row = row_of(rows, comment)
            height = self._editor.wanted_height() if is_editor and self._editor else 0
            height = height or self._card_height(comment.text, inner)
            offset = found.get(row, _MARGIN)
            self._blocks.append(_Block(row, offset, height, comment, is_editor))
            found[row] = offset + height + _MARGIN
        return found

    def place(self, geometry: Geometry, scroll_y: int, left: int) -> None:
        """Put cards and editor where they belong; those out of sight are taken away."""
        visible: set[str] = set()
        for block in self._blocks:
            top = geometry.block_top(block.row) + block.offset - scroll_y
            rect = _rect(left, self._viewport.width(), top, block.height)
            if block.is_editor and self._editor:
                self._editor.setGeometry(rect)
                self._editor.show()
            elif rect.intersects(self._viewport.rect()):
                visible.add(block.comment.id)
                self._card(block.comment).setGeometry(rect)
        for comment_id in [known for known in self._cards if known not in visible]:
            card = self._cards.pop(comment_id)
            card.hide()
            card.deleteLater()

    # -- what the user does --

    def _card_height(self, text: str, width: int) -> int:
        if (text, width) not in self._heights:
            if len(self._heights) > _MAX_HEIGHTS_KEPT:
                self._heights.clear()
            self._heights[text, width] = card_height(text, self._theme, width)
        return self._heights[text, width]

    def _shown(self) -> list[tuple[LineComment, bool]]:
        written = self._written
        shown = [(comment, written is not None and comment.id == written.id) for comment in self._comments]
        if written and not any(is_editor for _, is_editor in shown):
            shown.append((written, True))
        return shown

    def _card(self, comment: LineComment) -> CommentCard:
        card = self._cards.get(comment.id)
        if card and card.comment != comment:
            card.hide()
            card.deleteLater()
            card = None
        if card is None:
            card = CommentCard(comment, self._theme, self._viewport)
            card.edit_clicked.connect(self._on_edit)
            card.remove_clicked.connect(self._on_remove)
            card.show()
            self._cards[comment.id] = card
        return card

    def _open(self, comment: LineComment, *, is_new: bool) -> None:
        self._keep_draft()
        if self._editor is None:
            self._editor = CommentEditor(self._theme, self._viewport)
            self._editor.setObjectName("commentEditor")
            self._editor.saved.connect(self._on_saved)
            self._editor.cancelled.connect(self._on_cancelled)
            self._editor.height_changed.connect(self.resized)
        self._written = None  # its field is filled in silence
        key = _draft_key(comment, is_new=is_new)
        self._editor.edit(comment_label(comment), self._drafts.get(key, comment.text), is_new=is_new)
        self._written = comment
        self.resized.emit()
        self._editor.focus_field()

    def _on_edit(self) -> None:
        card = self.sender()
        if isinstance(card, CommentCard):
            self._open(card.comment, is_new=False)

    def _on_remove(self) -> None:
        card = self.sender()
        if isinstance(card, CommentCard):
            self.removed.emit(card.comment.id)
            self.closed.emit()

    def _on_saved(self) -> None:
        if self._written and self._editor:
            comment = replace(self._written, text=self._editor.text)
            self._drafts.pop(self._key_of_written(), None)
            self._close()
            self.added.emit(comment)

    def _on_cancelled(self) -> None:
        self._keep_draft()
        self._close()

    def _close(self) -> None:
        self._written = None
        if self._editor:
            self._editor.hide()
        self.resized.emit()
        self.closed.emit()

    def _keep_draft(self) -> None:
        if self._written and self._editor:
            self._drafts[self._key_of_written()] = self._editor.text

    def _key_of_written(self) -> tuple[str, CommentAnchor]:
        assert self._written is not None
        return _draft_key(self._written, is_new=not self._written.text)


def _draft_key(comment: LineComment, *, is_new: bool) -> tuple[str, CommentAnchor]:
    """A new comment is known by its lines, one that is there by its id."""
    return "" if is_new else comment.id, CommentAnchor(comment.side, comment.start, comment.end)


def _rect(left: int, width: int, top: int, height: int) -> QRect:
    return QRect(left, top, max(120, min(_MAX_WIDTH, width - left - _RIGHT)), height)
