"""Which keys hold, where two actions want the same ones."""

from collections.abc import Mapping

KEYS_SECTION = "keys"


Keys = Mapping[str, tuple[str, ...]]
"""The keys of each action."""


def group_of(action: str) -> str:
    """Return the part of the window that an action belongs to; empty for one that works everywhere."""
    return action.rpartition(".")[0]


def clash(one: str, other: str) -> bool:
    """Whether of these keys only one can have an effect: they are the same, or the others begin with them."""
    first, second = (f"{keys}, ".replace("Return", "Enter") for keys in (one, other))
    return first.startswith(second) or second.startswith(first)


def keys_in_force(wanted: Keys, defaults: Keys) -> dict[str, tuple[str, ...]]:
    """Return the keys of each action, none twice in a part of the window or everywhere.

    What the user chose goes before a default, and of two that are alike in that, the first. Keys that two actions had
    would do nothing at all.
    """
    taken: dict[str, list[str]] = {}
    kept: dict[str, tuple[str, ...]] = {}
    chosen_first = sorted(wanted, key=lambda action: wanted[action] == defaults[action])
    for action in chosen_first:
        before = taken.setdefault(group_of(action), [])
        kept[action] = tuple(keys for keys in wanted[action] if not any(clash(keys, other) for other in before))
        before += kept[action]
    return {action: kept[action] for action in wanted}


def keys_of(values: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Return the keys of each action by its name, from all settings by their dotted names."""
    prefix = f"{KEYS_SECTION}."
    return {
        key.removeprefix(prefix): value
        for key, value in values.items()
        if key.startswith(prefix) and isinstance(value, tuple)
    }
