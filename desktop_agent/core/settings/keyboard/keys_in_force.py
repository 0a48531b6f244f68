"""Which keys hold, where two actions want the same ones."""

from collections.abc import Mapping

KEYS_SECTION = "keys"


Keys = Mapping[str, tuple[str, ...]]
"""The keys of each action."""


def keys_in_force(wanted: Keys, defaults: Keys) -> dict[str, tuple[str, ...]]:
    """Return the keys of each action, none twice.

    What the user chose goes before a default, and of two that are alike in that, the first. Keys that two actions had
    would do nothing at all.
    """
    owners: dict[str, str] = {}
    chosen_first = sorted(wanted, key=lambda action: wanted[action] == defaults[action])
    for action in chosen_first:
        for keys in wanted[action]:
            owners.setdefault(keys, action)
    return {action: tuple(keys for keys in each if owners[keys] == action) for action, each in wanted.items()}


def keys_of(values: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Return the keys of each action by its name, from all settings by their dotted names."""
    prefix = f"{KEYS_SECTION}."
    return {
        key.removeprefix(prefix): value
        for key, value in values.items()
        if key.startswith(prefix) and isinstance(value, tuple)
    }
