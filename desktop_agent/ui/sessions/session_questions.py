"""Questions asked before an action on a session."""

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QCoreApplication, QLocale
from PySide6.QtWidgets import QWidget

from desktop_agent.core.base.plain_text import named, shortened
from desktop_agent.core.protocol.model import SessionSummary
from desktop_agent.ui.translation.core_words import plural
from desktop_agent.ui.widgets.question import Question

_delete_tr = partial(QCoreApplication.translate, "DeleteQuestion")
_import_tr = partial(QCoreApplication.translate, "ImportedAlreadyQuestion")
_MAX_TITLE = 80


def ask_to_delete(
    sessions: Sequence[SessionSummary], size_bytes: int, parent: QWidget, delete: Callable[[], object]
) -> None:
    titles = [shortened(named(session.title or _delete_tr("New session")), _MAX_TITLE) for session in sessions]
    if len(sessions) == 1:
        title, text = _delete_tr("Delete session"), _delete_tr("Delete “{0}”?").format(titles[0])
        lost = _delete_tr("The conversation ({0}) and the undo history of its changes are deleted permanently.")
        stays = _delete_tr("The files in {0} stay as they are.").format(named(sessions[0].home))
        if (worktree := sessions[0].worktree) is not None:
            stays = _delete_tr("Its worktree {0} stays, with its files and its branch.").format(worktree.name)
    else:
        title = _delete_tr("Delete sessions")
        text = plural("DeleteQuestion", len(sessions), "Delete %n session?", "Delete %n sessions?")
        lost = _delete_tr("The conversations ({0}) and the undo history of their changes are deleted permanently.")
        stays = _delete_tr("The files in their folders stay as they are.")
    more = f"{lost.format(QLocale().formattedDataSize(size_bytes))}\n\n{stays}"
    question = Question(parent, "deleteSessionDialog", title, text, more)
    question.setDetailedText("\n".join(titles) if len(sessions) > 1 else "")
    question.add_answer(_delete_tr("Delete"), "deleteSessionButton", delete, takes_most=True)
    question.ask()


def ask_to_import_again(parent: QWidget, show: Callable[[], object], import_again: Callable[[], object]) -> None:
    text = _import_tr("This conversation was imported already.")
    more = _import_tr("Importing it again makes a second session; the first one stays.")
    question = Question(parent, "importedAlreadyDialog", _import_tr("Import a conversation"), text, more)
    show_it = question.add_answer(_import_tr("Open it"), "", show)
    question.add_answer(_import_tr("Import again"), "", import_again)
    question.ask(show_it)
