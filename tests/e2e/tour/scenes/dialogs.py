"""The settings, page by page, the context, and the models."""

from collections.abc import Mapping

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLineEdit, QWidget

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
    await tour.look_round()
    context = next(each for each in tour.window.findChildren(QDialog) if each.isVisible())
    await tour.take("context", context)
    await tour.close(context)
    tour.window.actions_.choose_model.trigger()
    await tour.see(QWidget, "modelPopup")
    await tour.take("models")
    await tour.press(Qt.Key.Key_Escape)


DIALOGS = Scene(states=(*_PAGES, "settings-search", "context", "models"), play=_play, answers=(reply(text("It is.")),))
