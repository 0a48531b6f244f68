"""The menu at the right end of the bar: every action of the window, in menus by what it is about."""

from collections.abc import Iterable

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from desktop_agent.ui.window.actions import Actions


def main_menu(actions: Actions, parent: QWidget) -> QMenu:
    """Return the menu. What is looked for most often stands in it, the rest in menus of its own."""
    menu = QMenu(parent)
    menu.setObjectName("mainMenu")
    menu.addActions([actions.command_palette, actions.settings, actions.usage])
    menu.addSeparator()
    session = (actions.new_session, actions.new_window, actions.open_folder, actions.demo)
    _add(menu, _tr("Session"), (*session, None, actions.import_session, actions.export_session))
    conversation = (actions.focus_composer, actions.quote, actions.choose_model, actions.stop, actions.rewind)
    _add(menu, _tr("Conversation"), (*conversation, None, actions.inspect_context, actions.compact))
    going = (actions.go_to_file, actions.filter_files, actions.find, actions.search)
    _add(menu, _tr("Go to"), (*going, None, actions.next_undecided, actions.previous_undecided))
    deciding = (actions.keep_file, actions.undo_file, actions.keep_all, actions.send_comments)
    _add(menu, _tr("Changes"), (actions.undo_turn, actions.redo_turn, None, actions.choose_changes, *deciding))
    showing = (actions.toggle_side, actions.toggle_review, actions.toggle_jobs, actions.open_inbox)
    _add(menu, _tr("Show"), (*showing, None, actions.toggle_terminal, actions.attach_terminal))
    menu.addSeparator()
    menu.addActions([actions.shortcuts, actions.whats_new, actions.quit])
    return menu


def _add(menu: QMenu, title: str, actions: Iterable[QAction | None]) -> None:
    """Add a menu; None stands for a line between two groups."""
    inner = menu.addMenu(title)
    for action in actions:
        if action is None:
            inner.addSeparator()
        else:
            inner.addAction(action)


def _tr(text: str) -> str:
    return QCoreApplication.translate("MainMenu", text)
