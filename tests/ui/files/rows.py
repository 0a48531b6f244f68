"""Where a path is in the tree."""

from desktop_agent.ui.files.file_tree_model import FileOutline


def row_of(outline: FileOutline, path: str) -> int:
    """Return the row of a path, -1 if it is not visible."""
    return next((row for row in range(len(outline)) if outline.place(row).path == path), -1)
