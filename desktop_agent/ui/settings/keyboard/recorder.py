"""Takes new keys for an action: names what is wrong with them, and who has them, before they are taken."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame

from desktop_agent.core.settings.keyboard.written_keys import written_key
from desktop_agent.ui.settings.controls import title_of
from desktop_agent.ui.settings.keyboard.key_field import KeyField
from desktop_agent.ui.settings.keyboard.key_table import KeyTable, elsewhere, is_for_writing, key_settings
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hbox, vbox
from desktop_agent.ui.widgets.note import Note
from desktop_agent.ui.wording.place_keys import native_keys, place_text, place_title

_FIELD_WIDTH = 180


class Recorder(QFrame):
    """A field for the keys, what is to be said about them, and the two ways out.

    Signals:
        chosen: these keys are to be the action's, and nobody else's.
        ended: nothing is to be changed any more.
    """

    chosen = Signal(str)
    ended = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._table = KeyTable({}, {})
        self.action = ""
        """The action whose keys they are to be."""
        self._keys = ""
        self._title = make_label(role="strong", wraps=True)
        self.field = KeyField()
        """Takes the keys."""
        self.field.setObjectName("newKeysField")
        self.field.setFixedWidth(_FIELD_WIDTH)
        self._note = Note(object_name="newKeysNote")
        self._use = make_button(
            self.tr("Use them"), object_name="useKeysButton", clicked=self._on_use, variant="primary"
        )
        cancel = make_button(self.tr("Cancel"), object_name="cancelKeysButton", clicked=self.ended)
        row = hbox(self.field, self._use, cancel, spacing=Space.S)
        row.addStretch()
        vbox(self._title, row, self._note, on=self, spacing=Space.S)
        self.field.keys_pressed.connect(self._on_pressed)
        self.field.confirmed.connect(self._on_use)
        self.field.left.connect(self.ended)

    def begin(self, action: str, table: KeyTable, *, is_more: bool) -> None:
        """Ask for keys of this action, besides those that it has or instead of them."""
        self.action, self._table, self._keys = action, table, ""
        title = title_of(key_settings()[action])
        text = self.tr("More keys for “{0}”") if is_more else self.tr("New keys for “{0}”")
        self._title.setText(text.format(title))
        self.field.setAccessibleName(self._title.text())
        self.field.clear()
        self._use.setEnabled(False)
        self._note.say(self.tr("Enter uses them, Esc leaves everything as it is."))
        self.show()
        self.field.setFocus()

    def _on_pressed(self, pressed: str) -> None:
        """Say what is to be said about these keys, and offer them if they can be used."""
        try:
            self._keys = written_key(pressed)
        except ValueError:
            self._keys = ""
            text = self.tr("{0} is used for writing. Hold Ctrl, Alt or Meta with it, or take a function key.")
            self._note.say(text.format(native_keys(pressed)), "error")
        else:
            self._note.say(*self._judged(self._keys))
        owner = self._table.owner_of(self._keys) if self._keys else ""
        is_taken = bool(owner) and owner != self.action
        self._use.setText(self.tr("Take them from there") if is_taken else self.tr("Use them"))
        self._use.setEnabled(bool(self._keys))

    def _judged(self, keys: str) -> tuple[str, str]:
        shown, owner = native_keys(keys), self._table.owner_of(keys)
        if owner and owner != self.action:
            title = title_of(key_settings()[owner])
            return self.tr("{0} belongs to “{1}”, which would have it no longer.").format(shown, title), "warning"
        if places := elsewhere(keys):
            text = self.tr("{0} does something else in one part of the window, where that comes first: {1}.")
            uses = "; ".join(f"{place_title(each.place)}: {place_text(each)}" for each in places)
            return text.format(shown, uses), "warning"
        if is_for_writing(keys):
            return self.tr("{0} does something else wherever you write, which comes first there.").format(
                shown
            ), "warning"
        return self.tr("{0} is free.").format(shown), "secondary"

    def _on_use(self) -> None:
        if self._keys:
            self.chosen.emit(self._keys)
