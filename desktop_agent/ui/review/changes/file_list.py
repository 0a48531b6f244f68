"""A list of changed files, one of which is current."""

from collections.abc import Sequence

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QListView, QSizePolicy

from desktop_agent.ui.review.changed_files import ChangedFile
from desktop_agent.ui.review.changes.change_delegate import ChangeDelegate
from desktop_agent.ui.review.changes.change_model import ChangeModel, Tags
from desktop_agent.ui.review.changes.verdicts import is_decided
from desktop_agent.ui.theme import Height, Space, Theme

_ROW_GAP = 1


class FileList(QListView):
    """Lists changed files. As high as its rows, up to a limit.

    Signals:
        current_changed: another file is current now.
    """

    current_changed = Signal()

    def __init__(self, theme: Theme, tags: Tags = "author") -> None:
        super().__init__()
        self._model = ChangeModel(tags, self)
        self._max_rows = 6
        self.setModel(self._model)
        self.setItemDelegate(ChangeDelegate(theme, self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setSpacing(_ROW_GAP)
        self.setUniformItemSizes(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.selectionModel().currentChanged.connect(self._on_current_changed)
        theme.changed.connect(self.viewport().update)

    @property
    def current_file(self) -> ChangedFile | None:
        """The file that is current."""
        row = self.currentIndex().row()
        return self._model.files[row] if 0 <= row < len(self._model.files) else None

    @property
    def files(self) -> Sequence[ChangedFile]:
        """What is listed, from top to bottom."""
        return self._model.files

    def set_files(self, files: Sequence[ChangedFile]) -> None:
        """List these files; the current one stays current, and if it is gone, the first one is."""
        path = self.current_file.path if self.current_file else ""
        self._model.set_files(files)
        row = self._model.row_of(path)
        self._make_current(0 if row is None else row)
        self.updateGeometry()

    def select(self, path: str) -> bool:
        """Make this file current; whether it is listed."""
        return self._go_to(self._model.row_of(path))

    def select_next_undecided(self, *, backwards: bool = False) -> bool:
        """Make the next file current that is not decided, round the end; whether there is one."""
        files, here = self._model.files, self.currentIndex().row()
        order = [*range(here + 1, len(files)), *range(max(here, 0))]
        order = order[::-1] if backwards else order
        return self._go_to(next((row for row in order if not is_decided(files[row])), None))

    def set_max_rows(self, rows: int) -> None:
        """Scroll when there are more rows than this."""
        if rows != self._max_rows:
            self._max_rows = rows
            self.updateGeometry()

    def sizeHint(self) -> QSize:
        rows = min(len(self._model.files), self._max_rows)
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

    def _on_current_changed(self, _current: QModelIndex, _previous: QModelIndex) -> None:
        self.current_changed.emit()
