"""The list of models: rows of one height, of which the mouse chooses one or marks it."""

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QListView

from desktop_agent.ui.models.drawing import ModelDelegate, star_area
from desktop_agent.ui.models.list_model import ModelRows
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.icons import Icons
from desktop_agent.ui.widgets.rows import set_up_list


class ModelList(QListView):
    """Never takes the focus: the field above it hands it the keys that it understands.

    Signals:
        chosen: this row was clicked.
        starred: the star of this row was clicked.
    """

    chosen = Signal(QModelIndex)
    starred = Signal(QModelIndex)

    def __init__(self, rows: ModelRows, theme: Theme, icons: Icons) -> None:
        super().__init__()
        self.setObjectName("modelList")
        self.setAccessibleName(self.tr("Models"))
        self.setModel(rows)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setUniformItemSizes(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        ring = set_up_list(self)
        self.setItemDelegate(ModelDelegate(rows, theme, icons, ring, self))
        theme.changed.connect(self.viewport().update)

    def mouseReleaseEvent(self, e: QMouseEvent) -> None:
        index = self.indexAt(e.position().toPoint())
        super().mouseReleaseEvent(e)
        if e.button() != Qt.MouseButton.LeftButton or not index.flags() & Qt.ItemFlag.ItemIsEnabled:
            return
        rows = self.model()
        assert isinstance(rows, ModelRows)
        is_star = star_area(self.visualRect(index)).contains(e.position().toPoint())
        if is_star and rows.row_at(index.row()).kind == "model":
            self.starred.emit(index)
        else:
            self.chosen.emit(index)
