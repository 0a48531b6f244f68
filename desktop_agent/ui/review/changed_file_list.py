"""The list of changed files: rows, painting, menu and keys."""

from collections.abc import Sequence
from functools import partial
from typing import Literal

from PySide6.QtCore import QItemSelectionModel, QObject, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import QListView, QMenu, QSizePolicy, QStyleOptionViewItem

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol.model import DiagnosticSeverity
from desktop_agent.ui.review.changed_files import ChangedFile, is_decided
from desktop_agent.ui.review.diff.diff_painter import PROBLEM_ROLES, PROBLEM_ROOM, draw_mark, draw_problem
from desktop_agent.ui.review.diff.diff_words import problem_counts
from desktop_agent.ui.theme import Height, Space, Theme, TypeSize
from desktop_agent.ui.translation import plural
from desktop_agent.ui.widgets.layouts import set_names
from desktop_agent.ui.widgets.popup import ChoiceModel
from desktop_agent.ui.widgets.rows import NO_PARENT, RIGHT, AnyIndex, ModelDelegate, draw_ground, draw_line, set_up_list

Tags = Literal["author", "kind"]
"""What is shown beside a path: who changed the file, or the kind of change."""


class ChangeModel(ChoiceModel[ChangedFile]):
    """One row for each changed file. Remaining rows keep their index, so that a selection survives an update."""

    def __init__(self, tags: Tags = "author", parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tags: Tags = tags

    def show(self, rows: Sequence[ChangedFile]) -> None:
        old, new = [file.path for file in self.rows], [file.path for file in rows]
        if new[: len(old)] != old:
            super().show(rows)
            return
        if len(new) > len(old):
            self.beginInsertRows(NO_PARENT, len(old), len(new) - 1)
            self.rows = (*self.rows, *rows[len(old) :])
            self.endInsertRows()
        self.rows = tuple(rows)
        if rows:
            self.dataChanged.emit(self.index(0), self.index(len(rows) - 1))

    def row_of(self, path: str) -> int | None:
        return next((row for row, file in enumerate(self.rows) if file.path == path), None)

    def text(self, row: ChangedFile) -> str:
        return named(row.path)

    def words(self, row: ChangedFile) -> list[str]:
        return [self._in_words(row)]

    def tag_words(self, file: ChangedFile) -> str:
        return self._author_words(file) if self._tags == "author" else self._kind_words(file)

    def aside_words(self, file: ChangedFile) -> str:
        """Return the text beside the line counts: the kind of file, or a change other than to its lines."""
        words = [self._special_words(file)]
        if self._tags == "author":
            words.insert(0, self._kind_words(file))
        return " ".join(filter(None, words))

    def _author_words(self, file: ChangedFile) -> str:
        names = {
            "agent": self.tr("agent"),
            "shell": self.tr("shell"),
            "mcp": self.tr("MCP"),
            "person": self.tr("you"),
            "unknown": self.tr("a server, or you"),
        }
        return ", ".join(names[author] for author in file.authors)

    def _kind_words(self, file: ChangedFile) -> str:
        return {"created": self.tr("new"), "deleted": self.tr("deleted")}.get(file.kind, "")

    def _special_words(self, file: ChangedFile) -> str:
        if file.special == "mode" and file.modes is not None:
            return "{:o} → {:o}".format(*(mode & 0o7777 for mode in file.modes))
        names = {"folder": self.tr("folder"), "symlink": self.tr("link"), "binary": self.tr("binary")}
        names |= {"fifo": self.tr("named pipe"), "socket": self.tr("socket")}
        return names.get(file.special, "")

    def _in_words(self, file: ChangedFile) -> str:
        added, removed = file.counts
        counts = "" if file.special else self.tr("{0} added, {1} removed").format(added, removed)
        renamed = self.tr("renamed from {0}").format(file.moved_from) if file.moved_from else ""
        author = self._author_words(file) if self._tags == "author" else ""
        state = self._state_words(file) if self._tags == "author" else ""
        problems = problem_counts(*file.problem_counts)
        parts = (file.path, renamed, self._kind_words(file), self._special_words(file), counts, problems, author, state)
        return ", ".join(filter(None, parts))

    def _state_words(self, file: ChangedFile) -> str:
        decided, total = file.decided
        if file.mark == "partly" and total:
            words = plural("ChangeModel", total, "{0} of %n change decided", "{0} of %n changes decided")
            return words.format(decided)
        return {
            "partly": self.tr("partly decided"),
            "kept": "" if file.is_by_user else self.tr("kept"),
            "undone": self.tr("undone"),
            "conflict": self.tr("in conflict"),
            "pending": self.tr("undecided"),
            "offered": self.tr("not brought back"),
        }[file.mark]


_MARK_CENTRE = 12
_PATH_LEFT = 24
_MIN_PATH_WIDTH = 90
_TAG_PADDING = 6


class ChangeDelegate(ModelDelegate[ChangeModel]):
    def draw(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        file, rect = self.model.rows[index.row()], QRectF(option.rect)
        draw_ground(painter, self.theme, option, self.ring)
        draw_mark(painter, QPointF(rect.left() + _MARK_CENTRE, rect.center().y()), file.mark, self.theme.colour)
        rest = rect.adjusted(_PATH_LEFT, 0, -Space.S, 0)
        code, (added, removed) = self.theme.code_font(TypeSize.HEAD), file.counts
        for text, role, font in (
            (f"−{removed}" if removed else "", "removed_text", code),
            (f"+{added}" if added else "", "added_text", code),
            (self.model.aside_words(file), "muted", self.small_font),
        ):
            if text:
                ink = self.theme.colour("faint" if file.mark == "undone" else role)
                draw_line(painter, rest, text, font, ink, RIGHT)
                rest.setRight(rest.right() - QFontMetricsF(font).horizontalAdvance(text) - Space.XS - 2)
        if file.mark != "undone":
            self._draw_problems(painter, rest, file)
        self._draw_path_and_tag(painter, rest.adjusted(0, 0, -Space.XS, 0), file)

    def _draw_problems(self, painter: QPainter, rest: QRectF, file: ChangedFile) -> None:
        """Draw how many errors and warnings the file has at the right of `rest`, which gets smaller."""
        errors, warnings = file.problem_counts
        counts: tuple[tuple[DiagnosticSeverity, int], ...] = (("warning", warnings), ("error", errors))
        for severity, count in counts:
            if count:
                colour = self.theme.colour(PROBLEM_ROLES[severity])
                draw_line(painter, rest, f"{count}", self.small_font, colour, RIGHT)
                rest.setRight(
                    rest.right() - QFontMetricsF(self.small_font).horizontalAdvance(f"{count}") - PROBLEM_ROOM
                )
                draw_problem(painter, QPointF(rest.right() + PROBLEM_ROOM / 2, rest.center().y()), severity, colour)
                rest.setRight(rest.right() - Space.XS)

    def _draw_path_and_tag(self, painter: QPainter, rect: QRectF, file: ChangedFile) -> None:
        tag, small = self.model.tag_words(file), QFontMetricsF(self.small_font)
        frame = QRectF(0, 0, small.horizontalAdvance(tag) + 2 * _TAG_PADDING, small.height() + 3)
        has_tag = bool(tag) and rect.width() - frame.width() - Space.S >= _MIN_PATH_WIDTH
        room = rect.width() - (frame.width() + Space.S if has_tag else 0)
        font, is_undone, (folder, name) = QFont(self.text_font), file.mark == "undone", _parts(file)
        font.setStrikeOut(is_undone)
        metrics = QFontMetricsF(font)
        name = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, room)
        folder = metrics.elidedText(folder, Qt.TextElideMode.ElideMiddle, room - metrics.horizontalAdvance(name))
        for text, role in ((folder, "muted"), (name, "muted" if is_undone else "text")):
            draw_line(painter, rect, text, font, self.theme.colour(role))
            rect.setLeft(rect.left() + metrics.horizontalAdvance(text))
        if has_tag:
            frame.moveTopLeft(QPointF(rect.left() + Space.S + 0.5, rect.center().y() - frame.height() / 2))
            painter.setPen(self.theme.colour("border"))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(frame, 4, 4)
            draw_line(painter, frame, tag, self.small_font, self.theme.colour("muted"), Qt.AlignmentFlag.AlignCenter)


def _parts(file: ChangedFile) -> tuple[str, str]:
    folder, slash, name = named(file.path).rpartition("/")
    if not file.moved_from:
        return folder + slash, name
    old_folder, _, old_name = file.moved_from.rpartition("/")
    if old_folder == folder:
        return folder + slash, f"{old_name} → {name}"
    return f"{file.moved_from} → {folder}{slash}", name


_ROW_GAP = 1


class FileList(QListView):
    current_changed = Signal()

    def __init__(self, theme: Theme, tags: Tags = "author") -> None:
        super().__init__()
        self._model = ChangeModel(tags, self)
        self._max_rows = 6
        self.setModel(self._model)
        self.setItemDelegate(ChangeDelegate(self._model, theme, set_up_list(self), self))
        self.setSpacing(_ROW_GAP)
        self.setUniformItemSizes(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.selectionModel().currentChanged.connect(self.current_changed)
        theme.changed.connect(self.viewport().update)

    @property
    def current_file(self) -> ChangedFile | None:
        row = self.currentIndex().row()
        return self.files[row] if 0 <= row < len(self.files) else None

    @property
    def files(self) -> Sequence[ChangedFile]:
        return self._model.rows

    def set_files(self, files: Sequence[ChangedFile]) -> None:
        path = self.current_file.path if self.current_file else ""
        self._model.show(files)
        row = self._model.row_of(path)
        self._make_current(0 if row is None else row)
        self.updateGeometry()

    def select(self, path: str) -> bool:
        return self._go_to(self._model.row_of(path))

    def select_next_undecided(self, *, backwards: bool = False) -> bool:
        files, here = self.files, self.currentIndex().row()
        order = [*range(here + 1, len(files)), *range(max(here, 0))]
        order = order[::-1] if backwards else order
        return self._go_to(next((row for row in order if not is_decided(files[row])), None))

    def set_max_rows(self, rows: int) -> None:
        if rows != self._max_rows:
            self._max_rows = rows
            self.updateGeometry()

    def sizeHint(self) -> QSize:
        rows = min(len(self.files), self._max_rows)
        return QSize(200, rows * (Height.LIST_ROW + 2 * _ROW_GAP) + Space.XS)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.sizeHint().height())

    def _go_to(self, row: int | None) -> bool:
        if row is not None:
            self._make_current(row)
            self.scrollTo(self._model.index(row))
        return row is not None

    def _make_current(self, row: int) -> None:
        index = self._model.index(row)
        if index.isValid():
            self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.ClearAndSelect)


FileAction = Literal["open", "call", "keep", "reopen", "undo", "undo_with_word", "redo"]


class ChangedFileList(FileList):
    requested = Signal(str)  # a `FileAction` for the current file

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        set_names(self, "changeList", self.tr("Changed files"))
        self.can_revert = True
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._open_menu)
        self.activated.connect(partial(self.requested.emit, "open"))

    def _open_menu(self, at: QPoint) -> None:
        file = self.current_file
        if file is None:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        is_open = file.mark != "undone" and not (file.is_only_offered or file.is_by_user)
        can_revert, can_undo = self.can_revert, is_open and self.can_revert
        redo = self.tr("Bring this file back") if file.is_offered else self.tr("Redo this file")
        actions: tuple[tuple[FileAction, str, bool], ...] = (
            ("open", self.tr("Open file"), file.kind != "deleted"),
            ("call", self.tr("Show the call"), any(record.call_id for record in file.standing)),
            ("keep", self.tr("Keep this file"), is_open and file.mark != "kept"),
            ("reopen", self.tr("Decide again"), is_open and file.mark in ("kept", "partly")),
            ("undo", self.tr("Undo this file"), can_undo),
            ("undo_with_word", self.tr("Undo this file with a message to the agent…"), can_undo and not file.is_git),
            ("redo", redo, can_revert and file.state != "stands" and not file.is_git),
        )
        for action, text, is_offered in actions:
            if action == "keep":
                menu.addSeparator()
            menu.addAction(text, partial(self.requested.emit, action)).setEnabled(is_offered)
        menu.popup(self.viewport().mapToGlobal(at))
