"""What keys the actions have, as the page asks: which they are, who has some already, what they do elsewhere."""

from collections.abc import Mapping
from functools import cache

from msgspec import Struct
from PySide6.QtGui import QKeySequence

from desktop_agent.core.settings import Setting, declared_settings
from desktop_agent.core.settings.keyboard import KEYS_SECTION, clash, group_of, keys_in_force, keys_of
from desktop_agent.ui.wording.place_keys import PLACE_KEYS, PlaceKey

_STANDARD = QKeySequence.StandardKey
_WRITING = (_STANDARD.Copy, _STANDARD.Cut, _STANDARD.Paste, _STANDARD.Undo, _STANDARD.SelectAll)


@cache
def key_settings() -> Mapping[str, Setting]:
    """Return what is declared of the keys of each action, by its name."""
    return {
        key.removeprefix(f"{KEYS_SECTION}."): setting
        for key, setting in declared_settings().items()
        if setting.about.holds == "keys"
    }


@cache
def default_keys() -> Mapping[str, tuple[str, ...]]:
    """Return the keys that the actions have by default."""
    return keys_of({setting.key: setting.default for setting in key_settings().values()})


class KeyTable(Struct, frozen=True):
    """The keys that the user's settings name for each action, and those that it has."""

    wanted: Mapping[str, tuple[str, ...]]
    in_force: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, values: Mapping[str, object]) -> "KeyTable":
        """Return the table of these settings, by their dotted names."""
        wanted = keys_of(values)
        return cls(wanted, keys_in_force(wanted, default_keys()))

    def owners_of(self, keys: str, *, beside: str) -> dict[str, tuple[str, ...]]:
        """Return the keys that cannot be had together with these, by their action.

        They are of actions that work where that of `beside` does, which is not among them.
        """
        near = {action: each for action, each in self.in_force.items() if group_of(action) == group_of(beside)}
        found = {action: tuple(each for each in kept if clash(each, keys)) for action, kept in near.items()}
        return {action: each for action, each in found.items() if each and action != beside}

    def elsewhere(self, keys: str, *, beside: str) -> tuple[str, ...]:
        """Return the actions that have these keys in another part of the window, or everywhere."""
        group = group_of(beside)
        others = (action for action in self.in_force if group_of(action) != group and "" in (group_of(action), group))
        return tuple(action for action in others if any(clash(each, keys) for each in self.in_force[action]))

    def is_changed(self, action: str) -> bool:
        """Whether its keys are others than by default."""
        return self.wanted[action] != default_keys()[action]

    @property
    def changed(self) -> tuple[str, ...]:
        """The actions of which that is so."""
        return tuple(filter(self.is_changed, self.wanted))


def fixed_elsewhere(keys: str) -> tuple[PlaceKey, ...]:
    """Return what these keys do in parts of the window where they cannot be changed, and come first."""
    return tuple(place for place in PLACE_KEYS if not place.action and any(clash(each, keys) for each in place.keys))


def is_for_writing(keys: str) -> bool:
    """Whether these keys do something in every field with text, where that comes first."""
    sequence = QKeySequence(keys)
    return any(sequence in QKeySequence.keyBindings(standard) for standard in _WRITING)
