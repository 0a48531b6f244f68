"""The bar at the top: folder, branch, session title, inbox, and the menus."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QMenu,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol.model import WorktreeOrigin
from desktop_agent.core.system.git.repository import RepoStatus
from desktop_agent.ui import jobs_panel
from desktop_agent.ui.theme import Height, Space, Theme
from desktop_agent.ui.widgets.buttons import MenuButton, ShortcutButton
from desktop_agent.ui.widgets.icons import Icons
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label, restyle
from desktop_agent.ui.widgets.layouts import hbox, set_names
from desktop_agent.ui.window.actions import Actions
from desktop_agent.ui.wording import branch_words, plain_tooltip, short_path

_tr = partial(QCoreApplication.translate, "MainMenu")

_MOST = 99


class InboxButton(QToolButton):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("inboxButton")
        self.setProperty("variant", "flat")
        self.show_count(0, 0)

    def show_count(self, items: int, waiting: int) -> None:
        self.setText("" if not items else f"{_MOST}+" if items > _MOST else str(items))
        style = Qt.ToolButtonStyle.ToolButtonTextBesideIcon if items else Qt.ToolButtonStyle.ToolButtonIconOnly
        self.setToolButtonStyle(style)
        spoken = self._spoken(items, waiting)
        self.setAccessibleName(spoken)
        self.setToolTip(spoken)
        restyle(self, "variant", "warning" if waiting else "flat")

    def _spoken(self, items: int, waiting: int) -> str:
        if not items:
            return self.tr("Inbox, nothing waiting")
        if not waiting:
            return self.tr("Inbox, {0} new").format(items)
        if waiting == items:
            return self.tr("Inbox, {0} waiting for you").format(waiting)
        return self.tr("Inbox, {0} waiting for you, {1} new").format(waiting, items - waiting)


class FolderMenu(QMenu):
    folder_chosen = Signal(str)  # an absolute path

    def __init__(self, actions: Actions, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("folderMenu")
        self.setToolTipsVisible(True)
        self._first = self.addSeparator()
        self.addActions([actions.open_folder, actions.new_session, actions.new_window, actions.demo])
        self.folders: tuple[str, ...] = ()
        self.show_recent(())

    def show_recent(self, folders: Sequence[str]) -> None:
        """Show these folders above everything else in the menu."""
        self._first.setVisible(bool(folders))
        if tuple(folders) == self.folders:
            return
        self.folders = tuple(folders)
        for action in self.actions()[: self.actions().index(self._first)]:
            self.removeAction(action)
            action.deleteLater()
        for folder in folders:
            action = QAction(short_path(folder).replace("&", "&&"), self)
            action.setToolTip(plain_tooltip(folder))
            action.triggered.connect(partial(self.folder_chosen.emit, folder))
            self.insertAction(self._first, action)


def main_menu(actions: Actions, parent: QWidget) -> QMenu:
    menu = QMenu(parent)
    menu.setObjectName("mainMenu")
    menu.addActions([actions.command_palette, actions.settings, actions.usage])
    menu.addSeparator()
    session = (
        actions.new_session,
        actions.new_worktree,
        actions.next_session,
        actions.previous_session,
        actions.bring_back,
        actions.try_with,
        actions.variants,
        actions.worktrees,
        actions.new_window,
        actions.open_folder,
        actions.demo,
    )
    _add(menu, _tr("Session"), (*session, None, actions.import_session, actions.export_session))
    conversation = (actions.focus_composer, actions.quote, actions.choose_model, actions.stop, actions.rewind)
    planning = (actions.plan_first, actions.open_plan, actions.carry_out_plan, actions.carry_out_plan_apart)
    _add(menu, _tr("Conversation"), (*conversation, None, *planning, None, actions.inspect_context, actions.compact))
    going = (actions.choose_branch, actions.go_to_file, actions.filter_files, actions.find, actions.search)
    _add(menu, _tr("Go to"), (*going, None, actions.next_undecided, actions.previous_undecided))
    turns = (actions.undo_turn, actions.redo_turn)
    deciding = (actions.choose_changes, actions.keep_file, actions.undo_file, actions.keep_all)
    after = (actions.commit, actions.undo_commit, actions.send_comments)
    _add(menu, _tr("Changes"), (*turns, None, *deciding, None, *after))
    panels = (actions.toggle_side, actions.toggle_review, actions.enlarge_review, actions.toggle_jobs)
    showing = (*panels, actions.open_inbox)
    _add(menu, _tr("Show"), (*showing, None, actions.toggle_terminal, actions.attach_terminal))
    menu.addSeparator()
    menu.addActions([actions.shortcuts, actions.whats_new, actions.quit])
    return menu


def _add(menu: QMenu, title: str, actions: Iterable[QAction | None]) -> None:
    inner = menu.addMenu(title)
    for action in actions:
        if action is None:
            inner.addSeparator()
        else:
            inner.addAction(action)


_TITLE_CHARS = 120
_WIDEST_BRANCH = 200
B = TypeVar("B", bound=QAbstractButton)


class TopBar(QWidget):
    def __init__(self, theme: Theme, actions: Actions) -> None:
        super().__init__()
        self.setObjectName("topBar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(Height.TOP_BAR)
        self._theme = theme
        self._actions = actions
        self._folder = ""
        self.folder_menu = FolderMenu(actions, self)
        self.workspace_button = MenuButton(self)
        self.workspace_button.setObjectName("workspaceButton")
        self.workspace_button.setMenu(self.folder_menu)
        self.branch_button = MenuButton(self)
        self.branch_button.setObjectName("branchButton")
        self.branch_button.setProperty("variant", "flat")
        self.branch_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # the popup returns the focus to the widget before
        self.branch_button.setVisible(False)
        self.title_label = ElidedLabel(parent=self)
        self.title_label.setProperty("role", "strong")
        self.title_label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.title_label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.demo_label = make_label(self.tr("Demo"), role="tag", parent=self)
        self.demo_label.setToolTip(self.tr("A scripted model answers. Tools, changes and undo are real."))
        self.worktree_label = make_label(self.tr("Worktree"), role="secondary", parent=self)
        for label in (self.demo_label, self.worktree_label):
            label.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
            label.hide()
        self.search_button = self._build_shortcut_button(self.tr("Search"), actions.search)
        set_names(self.search_button, "searchButton", self.tr("Search all sessions"))
        self.palette_button = self._build_shortcut_button(self.tr("Commands"), actions.command_palette)
        set_names(self.palette_button, "paletteButton", self.tr("Command palette"))
        self.inbox_button = InboxButton(self)
        self.inbox_button.clicked.connect(actions.open_inbox.trigger)
        self.jobs_button = self._flat(QPushButton(self), actions.toggle_jobs, is_shown=False)
        self.jobs_button.setObjectName("jobsButton")
        self.jobs_button.setToolTip(actions.toggle_jobs.text())
        self.review_button = self._flat(QPushButton(self.tr("Review"), self), actions.toggle_review, is_shown=False)
        self.menu_button = MenuButton(self)
        self.menu_button.setProperty("variant", "flat")
        self.menu_button.setAccessibleName(self.tr("Menu"))
        self.menu_button.setToolTip(self.tr("Settings and more"))
        self.menu_button.setMenu(main_menu(actions, self.menu_button))
        self.side_button = self._flat(QToolButton(self), actions.toggle_side, is_shown=False)
        self.side_button.setAccessibleName(actions.toggle_side.text())
        self.side_button.setToolTip(actions.toggle_side.text())
        left = (self.side_button, self.workspace_button, self.branch_button, self.worktree_label, self.demo_label)
        right = (self.search_button, self.palette_button, self.jobs_button, self.review_button, self.inbox_button)
        parts = (*left, (self.title_label, 1), *right, self.menu_button)
        hbox(*parts, on=self, margins=(Space.M, 0, Space.M, 0), spacing=Space.S)
        self.set_workspace(None)
        self._take_fonts()
        theme.changed.connect(self._take_fonts)

    def attach_icons(self, icons: Icons) -> None:
        icons.attach(self.menu_button, "gear")
        icons.attach(self.side_button, "side")
        icons.attach(self.inbox_button, "inbox")

    def set_workspace(self, workspace: Path | None) -> None:
        name = (workspace.name or str(workspace)) if workspace else self.tr("Choose a folder")
        name = " ".join(name.split())  # a name may have line breaks; a button has one line
        self._folder = name if workspace else ""
        self._name_window()
        self.workspace_button.setText(f"{name} ▾")
        self.workspace_button.setAccessibleName(self.tr("Workspace folder: {0}").format(name))
        self.workspace_button.setAccessibleDescription(named(str(workspace)) if workspace else "")
        self.workspace_button.setToolTip(plain_tooltip(str(workspace)) if workspace else self.tr("Nothing is open yet"))

    def set_branch(self, status: RepoStatus | None) -> None:
        """Without a status, the folder is in no repository."""
        button = self.branch_button
        button.setVisible(status is not None and bool(status.branch or status.commit))
        if status is None:
            return
        signs = (f"↑{status.ahead}" if status.ahead else "", f"↓{status.behind}" if status.behind else "")
        name = status.branch or status.commit[:7]
        name = button.fontMetrics().elidedText(name, Qt.TextElideMode.ElideMiddle, _WIDEST_BRANCH)
        button.setText(" ".join(filter(None, ("⎇", name.replace("&", "&&"), *signs, "▾"))))
        button.setAccessibleName(self.tr("Branch {0}").format(status.branch or status.commit[:7]))
        button.setAccessibleDescription(branch_words(status))
        button.setToolTip(plain_tooltip(branch_words(status)))

    def set_worktree(self, worktree: WorktreeOrigin | None) -> None:
        """Show whether the session works in a worktree, whose branch and folder the bar shows."""
        self.worktree_label.setVisible(worktree is not None)
        if worktree is not None:
            words = self.tr("This session works in the worktree {0}.\nThe files in {1} stay as they are.")
            said = words.format(worktree.name, worktree.main)
            self.worktree_label.setToolTip(plain_tooltip(said))
            self.worktree_label.setAccessibleName(said)

    def set_title(self, title: str, *, is_demo: bool) -> None:
        self.title_label.setText(title[:_TITLE_CHARS] or self.tr("New session"))
        self.title_label.setToolTip(plain_tooltip(title))
        self.demo_label.setVisible(is_demo)
        self._name_window()

    def _name_window(self) -> None:
        """Name the window after its session and folder. Qt adds the program's name."""
        if self._folder:
            said = " — ".join(filter(None, (" ".join(self.title_label.text().split()), self._folder)))
            self.window().setWindowTitle(named(said).replace("[*]", "[*][*]"))  # Qt's sign for "changed"

    def set_jobs(self, *, running: int, total: int) -> None:
        self.jobs_button.setText(jobs_panel.count(running))
        self.jobs_button.setAccessibleName(self.tr("Background work, {0} running").format(running))
        self.jobs_button.setVisible(total > 0)

    def set_narrow(self, *, is_narrow: bool) -> None:
        self.side_button.setVisible(is_narrow)
        self.palette_button.setVisible(not is_narrow)
        self.search_button.show_keys(is_shown=not is_narrow)

    def _take_fonts(self) -> None:
        self.workspace_button.setFont(self._theme.strong_font())
        self.branch_button.setFont(self._theme.code_font())

    def _build_shortcut_button(self, text: str, action: QAction) -> ShortcutButton:
        button = ShortcutButton(self._theme, text, "", colour_role="muted", parent=self)
        self._actions.show_keys(action, button.set_keys)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # the opened widget returns the focus to the previous widget
        return self._flat(button, action)

    def _flat(self, button: B, action: QAction, *, is_shown: bool = True) -> B:
        button.setProperty("variant", "flat")
        button.setVisible(is_shown)
        button.clicked.connect(action.trigger)
        return button
