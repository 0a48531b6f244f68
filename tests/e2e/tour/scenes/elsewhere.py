from desktop_agent.ui.settings.settings_dialog import SettingsDialog
from tests.e2e.tour.scene import Scene
from tests.e2e.tour.tourist import NARROW, Tourist


async def _offered(tour: Tourist) -> None:
    composer = tour.user.composer
    await tour.until(lambda: bool(composer.text()), "a prompt is offered")
    await tour.until(tour.window.top_bar.branch_button.isVisible, "git is read")


async def _german(tour: Tourist) -> None:
    await _offered(tour)
    await tour.resize(NARROW)
    await tour.take("german")
    tour.window.actions_.settings.trigger()
    dialog = await tour.see(SettingsDialog, "settingsDialog")
    dialog.show_section("appearance")
    await tour.take("german-settings", dialog)


async def _chinese(tour: Tourist) -> None:
    await _offered(tour)
    await tour.take("chinese")


async def _double(tour: Tourist) -> None:
    await _offered(tour)
    await tour.resize(NARROW)
    await tour.user.click("sendButton")
    tour.time.advance(3.1)
    await tour.see_card()
    await tour.take("double")


GERMAN = Scene(states=("german", "german-settings"), play=_german, is_demo=True, settings='[ui]\nlanguage = "de"\n')
CHINESE = Scene(
    states=("chinese",), play=_chinese, is_demo=True, settings='[ui]\nlanguage = "zh-cn"\n', needs_script="\u8bbe"
)
DOUBLE = Scene(states=("double",), play=_double, is_demo=True, scale=2)
