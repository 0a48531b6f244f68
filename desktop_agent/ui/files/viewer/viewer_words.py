"""Why a file is not shown, in words."""

from PySide6.QtCore import QCoreApplication

from desktop_agent.ui.files.viewer.content import MAX_SHOWN_BYTES, FileContent, Obstacle
from desktop_agent.ui.review.media.picture_decoding import problem_words, size_words


def obstacle_words(content: FileContent) -> str:
    """Return why nothing is shown of this file, and what can be done; empty when something is."""
    if content.picture is not None:
        return problem_words(content.picture.problem)
    words: dict[Obstacle, str] = {
        "": "",
        "gone": _tr("This file is no longer there. It was moved or deleted."),
        "outside": _tr("This file does not lie in the open folder, so it is not shown."),
        "no file": _tr("This is no file with content: a folder, a device or a pipe."),
        "unreadable": _tr("This file cannot be read: {detail}."),
        "too large": _tr("Too large to be shown here: {size}, and {most} is the most. Open it with its application."),
        "binary": _tr("This file is not text: {kind}, {size}. Open it with its application."),
        "long lines": _tr("Its lines are too long to be shown here: {size}. Open it with its application."),
    }
    size, most = size_words(content.size_bytes), size_words(MAX_SHOWN_BYTES)
    return words[content.obstacle].format(detail=content.detail, size=size, most=most, kind=content.type_name)


def _tr(text: str) -> str:
    return QCoreApplication.translate("Viewer", text)
