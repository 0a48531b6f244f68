"""The window as an application: what it tells at its start."""

from pathlib import Path

import pytest

from desktop_agent.core.paths import AppPaths
from desktop_agent.ui.banner import Banner
from tests.e2e.driver import Driver, drive


@pytest.mark.usefixtures("qapp")
def test_settings_that_cannot_be_used_are_named_at_the_start(tmp_path: Path, expected_logs: list[str]) -> None:
    expected_logs.append("the window stands still")  # a test process has a larger heap, and shares its cores
    settings = AppPaths.from_environment().settings_file()
    settings.parent.mkdir(parents=True)
    settings.write_text('[ui]\ntheme = "pink"\n')
    shown: list[str] = []

    async def journey(person: Driver) -> None:
        banner = await person.see(Banner, "banner")
        shown.append(banner.accessibleName())

    drive([str(tmp_path)], tmp_path / "album", journey)
    assert shown[0].startswith("Some of your settings cannot be used, so their defaults are.")
    assert "ui.theme: 'pink' is not one of system, light, dark" in shown[0]
