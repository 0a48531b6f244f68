"""The keys of single parts of the window, as rows of the palette."""

from desktop_agent.ui.palette.entries import PaletteEntry
from desktop_agent.ui.wording.place_keys import PLACE_KEYS, PlaceKey, native_keys, place_text, place_title


def place_key_entries() -> tuple[PaletteEntry, ...]:
    """Return them as rows that are only read, part by part."""
    return tuple(_entry(each) for each in PLACE_KEYS)


def _entry(key: PlaceKey) -> PaletteEntry:
    return PaletteEntry(
        kind="key",
        key=f"{key.place} {key.keys[0]}",
        title=place_text(key),
        group=place_title(key.place),
        also=" ".join(key.keys),
        keys="  ".join(map(native_keys, key.keys)),
        is_choice=False,
    )
