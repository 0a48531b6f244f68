"""What the file tree says in words and letters: for tooltips, screen readers and the right edge of a row."""

from collections.abc import Mapping
from typing import Final

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.system.git.repository import FileState, NoStatus
from desktop_agent.core.system.workspace import FolderMark
from desktop_agent.ui.files.marks import FileMark

LETTERS: Final[Mapping[FileState, str]] = {
    "modified": "M",
    "added": "A",
    "deleted": "D",
    "renamed": "R",
    "untracked": "U",
    "conflicted": "C",
}
"""What a changed file carries. No letter for ignored ones: they are dimmed."""

COLOUR_OF_STATE: Final[Mapping[FileState | FolderMark, str]] = {
    "modified": "syntax_number",  # the brown of the drawn target; amber would say that something waits for the user
    "added": "added_text",
    "deleted": "removed_text",
    "renamed": "syntax_function",
    "untracked": "added_text",
    "conflicted": "danger_text",
}
"""The palette's role for a letter."""


def describe_mark(mark: FileMark) -> list[str]:
    """Return what a mark means, one short phrase each; nothing for a file that is as committed."""
    phrases: list[str] = []
    match mark.state:
        case "modified":
            phrases.append(_tr("modified"))
        case "added":
            phrases.append(_tr("added"))
        case "deleted":
            phrases.append(_tr("deleted"))
        case "renamed":
            phrases.append(_tr("renamed from {0}").format(displayed(mark.renamed_from)))
        case "untracked":
            phrases.append(_tr("new, not in git yet"))
        case "conflicted":
            phrases.append(_tr("has merge conflicts"))
        case "ignored":
            phrases.append(_tr("ignored by git"))
        case None:
            phrases.extend(_below(mark))
    if mark.is_touched:
        phrases.append(_tr("changed by the agent"))
    return phrases


def why_no_marks(answer: NoStatus) -> str:
    """Return why no file has a mark; empty in a folder that is no repository."""
    match answer.reason:
        case "not_a_repository":
            return ""
        case "git_missing":
            return _tr("No marks: git is not installed.")
        case "too_slow":
            return _tr("No marks: git took too long.")
        case "replaced":
            return _tr("No marks: another git repository has taken the place of this folder's.")
        case "failed":
            return _tr("No marks: git says “{0}”").format(answer.detail)


def displayed(name: str) -> str:
    """Return a name as it can be shown on one line without misleading: what cannot be seen is named."""
    return named(name)


def _below(mark: FileMark) -> list[str]:
    match mark.below:
        case "modified":
            return [_tr("contains changes")]
        case "added":
            return [_tr("contains new files")]
        case "conflicted":
            return [_tr("contains merge conflicts")]
        case None:
            return []


def _tr(text: str) -> str:
    return QCoreApplication.translate("FileTree", text)
