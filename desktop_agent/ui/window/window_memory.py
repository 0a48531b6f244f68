"""What the next start of the window knows of this one: sizes and places, and what was chosen for diffs and colours."""

from collections.abc import Sequence
from typing import Literal

import msgspec
from PySide6.QtCore import QByteArray, QSettings

from desktop_agent.core.base.learned import learned
from desktop_agent.core.diff.rows import RowMode
from desktop_agent.ui.sessions.session_list_model import Arrangement

KeptModel = tuple[str, str, str]
"""Provider, account and model."""

KeptChoice = tuple[Literal["action", "setting", "command", "session", "file"], str]
"""What was chosen in the palette: its kind, and by what the application knows it."""


class WindowMemory:
    """Kept in one file. What is damaged in there counts as not kept."""

    def __init__(self, store: QSettings) -> None:
        self._store = store

    @property
    def geometry(self) -> QByteArray | None:
        """Size and place of the window, as Qt writes them."""
        return self._bytes("geometry")

    @property
    def state(self) -> QByteArray | None:
        """Sizes and places of the docks in the wide window, as Qt writes them."""
        return self._bytes("state")

    def remember_layout(self, geometry: QByteArray, state: QByteArray | None) -> None:
        """Keep sizes and places; without `state`, those of the docks stay as they were kept last."""
        self._store.setValue("geometry", geometry)
        if state is not None:
            self._store.setValue("state", state)
        self._store.sync()

    @property
    def side_sizes(self) -> QByteArray | None:
        """How the sessions and the files share the panel at the left, as Qt writes it."""
        return self._bytes("side_sizes")

    def remember_side_sizes(self, sizes: QByteArray) -> None:
        """Share the panel at the left like this at the next start, too."""
        self._store.setValue("side_sizes", sizes)

    @property
    def arrangement(self) -> Arrangement:
        """How the user arranged the list of sessions."""
        try:
            return msgspec.json.decode(str(self._store.value("sessions", "{}")), type=learned(Arrangement))
        except msgspec.MsgspecError:
            return Arrangement()

    def remember_arrangement(self, arrangement: Arrangement) -> None:
        """List the sessions like this at the next start, too."""
        self._store.setValue("sessions", msgspec.json.encode(arrangement).decode())

    @property
    def diff_mode(self) -> RowMode | None:
        """How the user chose to see diffs; `None` when they did not choose: what fits the width."""
        match self._store.value("diff_mode"):
            case "unified" | "side_by_side" as mode:
                return mode
            case _:
                return None

    def remember_diff_mode(self, mode: str) -> None:
        """Show diffs like this at the next start, too."""
        self._store.setValue("diff_mode", mode)

    def remember_look(self, theme: str, interface_px: int) -> None:
        """Paint the first frame of the next start in this theme and size."""
        self._store.setValue("theme", theme)
        self._store.setValue("interface_px", interface_px)

    @property
    def version(self) -> str:
        """The version of the application that was started last; empty before the first start."""
        return str(self._store.value("version", ""))

    def remember_version(self, version: str) -> None:
        """Tell of what is newer than this at the next start."""
        self._store.setValue("version", version)

    def models(self, name: Literal["favourite_models", "recent_models"]) -> Sequence[KeptModel]:
        """Return the user's favourite models in their order, or those used last."""
        try:
            return msgspec.json.decode(str(self._store.value(name, "[]")), type=learned(list[KeptModel]))
        except msgspec.MsgspecError:
            return ()

    def remember_models(self, name: Literal["favourite_models", "recent_models"], models: Sequence[KeptModel]) -> None:
        """Offer these at the next start, too."""
        self._store.setValue(name, msgspec.json.encode(models).decode())

    @property
    def choices(self) -> Sequence[KeptChoice]:
        """What was chosen in the palette, the last first."""
        try:
            return msgspec.json.decode(str(self._store.value("recent_choices", "[]")), type=learned(list[KeptChoice]))
        except msgspec.MsgspecError:
            return ()

    def remember_choices(self, choices: Sequence[KeptChoice]) -> None:
        """Offer these first at the next start, too."""
        self._store.setValue("recent_choices", msgspec.json.encode(choices).decode())

    def _bytes(self, key: str) -> QByteArray | None:
        value = self._store.value(key)
        return value if isinstance(value, QByteArray) else None
