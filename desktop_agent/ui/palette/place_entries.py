"""The keys of single parts of the window, as rows of the palette."""

from collections.abc import Mapping

from desktop_agent.ui.palette.entries import PaletteEntry
from desktop_agent.ui.wording.place_keys import PLACE_KEYS, PlaceKey, native_keys, place_text, place_title


def place_key_entries(in_force: Mapping[str, tuple[str, ...]]) -> tuple[PaletteEntry, ...]:
    """Return them as rows that are only read, part by part, with the keys that hold; without those that have none."""
    shown = ((each, in_force.get(each.name, each.keys)) for each in PLACE_KEYS)
    return tuple(_entry(each, keys) for each, keys in shown if keys)


def _entry(key: PlaceKey, keys: tuple[str, ...]) -> PaletteEntry:
    return PaletteEntry(
        kind="key",
        key=f"{key.place} {keys[0]}",
        title=place_text(key),
        group=place_title(key.place),
        also=" ".join(keys),
        keys="  ".join(map(native_keys, keys)),
        is_choice=False,
    )
