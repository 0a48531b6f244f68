"""The section about keys: all of them, searched by what they do or by pressing them, changed and reset."""

from collections.abc import Iterator

from PySide6.QtWidgets import QWidget

from desktop_agent.core.settings.keyboard import clash
from desktop_agent.ui.settings.actions import SettingsActions
from desktop_agent.ui.settings.keyboard.key_list import KeyList, KeySearch
from desktop_agent.ui.settings.keyboard.key_table import KeyTable, key_settings
from desktop_agent.ui.settings.keyboard.recorder import ShortcutRecorder
from desktop_agent.ui.settings.keyboard.reset_question import ResetQuestion
from desktop_agent.ui.settings.parts import Page, note
from desktop_agent.ui.settings.sections import section_title
from desktop_agent.ui.settings.state import SettingsView
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.layouts import STRETCH, hbox


class KeysPage(Page):
    """Says what the user wants of the keys; shows what came of it."""

    def __init__(self, actions: SettingsActions) -> None:
        super().__init__(section_title("keyboard"))
        self._actions = actions
        self._view: SettingsView | None = None
        self._table = KeyTable({}, {})
        self._is_more = False
        self._list: KeyList | None = None

    def show_view(self, view: SettingsView) -> None:
        self._view = view
        if self._is_built and self._list is not None:
            self._table = KeyTable.of(view.values)
            self._list.show_table(self._table)
            self._problems.setText("\n".join(filter(None, (view.problem_of(key) for key in _dotted()))))
            self._problems.setVisible(bool(self._problems.text()))
            self._update()

    # --- building -------------------------------------------------------------------------------------------------

    def _build(self) -> Iterator[None]:
        self._search = KeySearch()
        yield
        self._list = KeyList()
        yield
        self._problems = note("", "warning")
        self._empty = note(self.tr("No key matches."))
        self._empty.hide()
        self._recorder = ShortcutRecorder()
        self._recorder.hide()
        self._question = ResetQuestion()
        self._question.hide()
        self._buttons = self._build_buttons()
        self.column.addWidget(self._search)
        self.column.addWidget(self._problems)
        self.column.addWidget(self._empty)
        self.column.addWidget(self._list, 1)
        self.column.addWidget(self._buttons)
        self.column.addWidget(self._question)
        self.column.addWidget(self._recorder)
        self._connect(self._list)

    def _on_built(self) -> None:
        if self._view is not None:
            self.show_view(self._view)

    def _build_buttons(self) -> QWidget:
        row = QWidget()
        self._change = make_button(self.tr("Change…"), object_name="changeKeysButton", clicked=self._on_change)
        self._add = make_button(self.tr("Add…"), object_name="addKeysButton", clicked=self._on_add)
        self._clear = make_button(self.tr("Clear"), object_name="clearKeysButton", clicked=self._on_clear)
        self._reset = make_button(self.tr("Reset"), object_name="resetKeysButton", clicked=self._on_reset)
        self._reset_all = make_button(
            self.tr("Reset all"), object_name="resetAllKeysButton", clicked=self._on_reset_all
        )
        parts = (self._change, self._add, self._clear, self._reset)
        hbox(*parts, STRETCH, self._reset_all, on=row, spacing=Space.S)
        return row

    def _connect(self, rows: KeyList) -> None:
        self._search.changed.connect(self._on_search)
        rows.itemSelectionChanged.connect(self._update)
        rows.opened.connect(self._on_change)
        self._recorder.chosen.connect(self._on_chosen)
        self._recorder.ended.connect(self._end)
        self._question.confirmed.connect(self._reset_all_keys)
        self._question.refused.connect(self._end)
        self.setFocusProxy(self._search)

    # --- searching ------------------------------------------------------------------------------------------------

    def _on_search(self) -> None:
        assert self._list is not None
        count = self._list.search(self._search.text, self._search.keys)
        self._empty.setVisible(count == 0)
        self._update()

    # --- changing -------------------------------------------------------------------------------------------------

    @property
    def _chosen(self) -> str:
        return self._list.action if self._list is not None else ""

    def _update(self) -> None:
        action = self._chosen
        has_keys = bool(action) and bool(self._table.in_force.get(action))
        self._change.setEnabled(bool(action))
        self._add.setEnabled(has_keys)
        self._clear.setEnabled(has_keys)
        self._reset.setEnabled(bool(action) and self._table.is_changed(action))
        self._reset_all.setEnabled(bool(self._table.changed))

    def _on_change(self) -> None:
        self._begin(is_more=False)

    def _on_add(self) -> None:
        self._begin(is_more=True)

    def _begin(self, *, is_more: bool) -> None:
        self._is_more = is_more
        self._buttons.hide()
        self._recorder.begin(self._chosen, self._table, is_more=is_more)

    def _end(self) -> None:
        self._recorder.hide()
        self._question.hide()
        self._buttons.show()
        if self._list is not None:
            self._list.setFocus()

    def _on_chosen(self, keys: str) -> None:
        """Give the keys to the action; who had them has them no longer, and says so in the file."""
        action = self._recorder.action
        self._end()
        for owner, taken in self._table.owners_of(keys, beside=action).items():
            self._give(owner, tuple(each for each in self._table.in_force[owner] if each not in taken))
        kept = self._table.in_force[action] if self._is_more else ()
        self._give(action, (*(each for each in kept if not clash(each, keys)), keys))

    def _on_clear(self) -> None:
        self._give(self._chosen, ())

    def _on_reset(self) -> None:
        self._actions.reset(key_settings()[self._chosen].key)

    def _on_reset_all(self) -> None:
        self._buttons.hide()
        self._question.ask(len(self._table.changed))

    def _reset_all_keys(self) -> None:
        self._end()
        for action in self._table.changed:
            self._actions.reset(key_settings()[action].key)

    def _give(self, action: str, keys: tuple[str, ...]) -> None:
        setting = key_settings()[action]
        if keys == setting.default:
            self._actions.reset(setting.key)
        else:
            self._actions.change(setting.key, keys)


def _dotted() -> tuple[str, ...]:
    return tuple(setting.key for setting in key_settings().values())
