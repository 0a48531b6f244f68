"""The settings, page by page, the context, and the models."""

from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QWidget

from desktop_agent.ui.context_inspector import ContextInspector
from desktop_agent.ui.settings.settings_dialog import SettingsDialog
from desktop_agent.ui.settings.settings_view import Section
from tests.e2e.tour.scene import Scene
from tests.e2e.tour.tourist import Tourist
from tests.servers.script import reply, text

_PAGES: Mapping[str, Section] = {
    "settings": "model",
    "settings-spending": "spending",
    "settings-appearance": "appearance",
    "shortcuts": "keyboard",
    "settings-approvals": "approvals",
    "settings-rules": "rules",
    "settings-servers": "mcp",
}


async def _play(tour: Tourist) -> None:
    await tour.send("Is everything well?")
    await tour.see_turn_end()
    tour.window.actions_.settings.trigger()
    dialog = await tour.see(SettingsDialog, "settingsDialog")
    for name, section in _PAGES.items():
        dialog.show_section(section)
        await tour.take(name, dialog)
    (await tour.see(QLineEdit, "settingsSearch")).setText("sandbox")
    await tour.take("settings-search", dialog)
    await tour.close(dialog)
    tour.window.actions_.inspect_context.trigger()
    context = await tour.see(ContextInspector, "contextInspector")
    await tour.see(QWidget, "contextSections")
    await tour.look_round()
    context.show_part("guidance")
    await tour.user.click("guidanceSwitch")
    await tour.look_round()
    await tour.take("context", context)
    await tour.close(context)
    tour.window.actions_.choose_model.trigger()
    await tour.see(QWidget, "modelPopup")
    await tour.take("models")
    await tour.press(Qt.Key.Key_Escape)


def _prepare(folder: Path) -> None:
    (folder / "AGENTS.md").write_text("# Conventions\n\nType everything. Run `make check` before you finish.\n")
    (folder / "CLAUDE.md").write_text("@AGENTS.md\n\nThink in small steps, and ask before adding a dependency.\n")


DIALOGS = Scene(
    states=(*_PAGES, "settings-search", "context", "models"),
    play=_play,
    answers=(reply(text("It is.")),),
    prepare=_prepare,
)
