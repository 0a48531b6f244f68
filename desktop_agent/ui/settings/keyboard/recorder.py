"""Takes new keys for an action: names what is wrong with them, and who has them, before they are taken."""

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QFrame

from desktop_agent.core.settings.keyboard import ANY, group_of, written_key
from desktop_agent.ui.settings.controls import title_of
from desktop_agent.ui.settings.keyboard.key_field import ShortcutField
from desktop_agent.ui.settings.keyboard.key_table import KeyTable, fixed_elsewhere, is_for_writing, key_settings
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hbox, vbox
from desktop_agent.ui.widgets.note import Note
from desktop_agent.ui.wording.place_keys import can_send, native_keys, place_text, place_title

_FIELD_WIDTH = 180
_MOST_FOLLOWING = 3
"""Keys behind the first: as many as Qt can tell apart."""


class ShortcutRecorder(QFrame):
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
        self._before = ""
        """What is pressed before the next key."""
        self._keys = ""
        self._title = make_label(role="strong", wraps=True)
        self.field = ShortcutField()
        """Takes the keys."""
        self.field.setObjectName("newKeysField")
        self.field.setFixedWidth(_FIELD_WIDTH)
        self._note = Note(object_name="newKeysNote")
        self._more = make_button(self.tr("Then another key…"), object_name="moreKeysButton", clicked=self._on_more)
        self._use = make_button(
            self.tr("Use them"), object_name="useKeysButton", clicked=self._on_use, variant="primary"
        )
        cancel = make_button(self.tr("Cancel"), object_name="cancelKeysButton", clicked=self.ended)
        row = hbox(self.field, self._more, self._use, cancel, spacing=Space.S)
        row.addStretch()
        vbox(self._title, row, self._note, on=self, spacing=Space.S)
        self.field.keys_pressed.connect(self._on_pressed)
        self.field.confirmed.connect(self._on_use)
        self.field.left.connect(self.ended)

    def begin(self, action: str, table: KeyTable, *, is_more: bool) -> None:
        """Ask for keys of this action, besides those that it has or instead of them."""
        self.action, self._table, self._before = action, table, ""
        text = self.tr("More keys for “{0}”") if is_more else self.tr("New keys for “{0}”")
        self._title.setText(text.format(title_of(key_settings()[action])))
        self.field.setAccessibleName(self._title.text())
        self.field.clear()
        self._offer("")
        self._note.say(self.tr("Enter uses them, Esc leaves everything as it is."))
        self.show()
        self.field.setFocus()

    def _on_pressed(self, pressed: str) -> None:
        """Say what is to be said about these keys, and offer them if they can be used."""
        typed = f"{self._before}, {pressed}" if self._before else pressed
        self.field.setText(native_keys(typed))
        try:
            keys = written_key(typed, self._plain)
        except ValueError:
            keys = ""
            text = self.tr("{0} is used for writing. Hold Ctrl, Alt or Meta with it, or take a function key.")
            self._note.say(text.format(native_keys(typed)), "error")
        else:
            self._note.say(*self._judged(keys))
        self._offer(keys)

    def _on_more(self) -> None:
        """Have another key follow those that were pressed."""
        self._before = self._keys
        self._offer("")
        self._note.say(self.tr("Press the key that is to follow {0}.").format(native_keys(self._before)))
        self.field.setFocus()

    @property
    def _plain(self) -> tuple[str, ...]:
        return key_settings()[self.action].about.plain_keys

    def _offer(self, keys: str) -> None:
        """Offer to use these keys; no keys are none yet."""
        self._keys = keys
        takes_enter = self._plain == ANY or "Enter" in self._plain or bool(self._before)
        self.field.takes_enter = takes_enter and not keys
        is_taken = bool(keys) and bool(self._table.owners_of(keys, beside=self.action))
        self._use.setText(self.tr("Take them from there") if is_taken else self.tr("Use them"))
        self._use.setEnabled(bool(keys) and can_send(self.action, keys))
        self._more.setEnabled(bool(keys) and keys.count(", ") < _MOST_FOLLOWING)

    def _judged(self, keys: str) -> tuple[str, str]:
        if not can_send(self.action, keys):
            text = self.tr("{0} answers the agent's questions, so it cannot send a message.")
            return text.format(native_keys(keys)), "warning"
        if owners := self._table.owners_of(keys, beside=self.action):
            words = (_clash_words(keys, owner, other) for owner, others in owners.items() for other in others)
            return " ".join(words), "warning"
        shown, group = native_keys(keys), group_of(self.action)
        uses = [_use_words(action) for action in self._table.elsewhere(keys, beside=self.action)]
        if group and uses:
            text = self.tr("{0} does something else everywhere: {1}. In this part of the window, this comes first.")
            return text.format(shown, "; ".join(uses)), "warning"
        uses += [] if group else [f"{place_title(each.place)}: {place_text(each)}" for each in fixed_elsewhere(keys)]
        if uses:
            text = self.tr("{0} does something else in one part of the window, where that comes first: {1}.")
            return text.format(shown, "; ".join(uses)), "warning"
        if is_for_writing(keys) and group in ("", "viewer"):
            text = self.tr("{0} does something else wherever you write, which comes first there.")
            return text.format(shown), "warning"
        return self.tr("{0} is free.").format(shown), "secondary"

    def _on_use(self) -> None:
        if self._keys:
            self.chosen.emit(self._keys)


def _clash_words(keys: str, owner: str, other: str) -> str:
    """Say why `other` of the action `owner` cannot be had together with these keys."""
    shown, title, others = native_keys(keys), title_of(key_settings()[owner]), native_keys(other)
    if keys.count(", ") == other.count(", "):
        return _tr("{0} belongs to “{1}”, which would have it no longer.").format(shown, title)
    if len(keys) > len(other):
        text = _tr("{0} begins with {1}, which belongs to “{2}” and would be taken from it.")
        return text.format(shown, others, title)
    return _tr("{0} of “{1}” begins with {2} and would be taken from it.").format(others, title, shown)


def _use_words(action: str) -> str:
    """Say what an action is, and where."""
    title, place = title_of(key_settings()[action]), group_of(action)
    return f"{place_title(place)}: {title}" if place else f"“{title}”"


def _tr(text: str) -> str:
    return QCoreApplication.translate("ShortcutRecorder", text)
