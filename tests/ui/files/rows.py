from desktop_agent.ui.files.file_tree_model import FileTreeModel


def row_of(tree: FileTreeModel, path: str) -> int:
    """Return the row of a path, -1 if it is not visible."""
    return next((row for row in range(tree.rowCount()) if tree.place(row).path == path), -1)
