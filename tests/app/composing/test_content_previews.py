"""The chips of a draft show the real files and pasted contents."""

from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from desktop_agent.ui.chat.attached_contents import ContentChip
from desktop_agent.ui.terminal.output_window import OutputWindow
from desktop_agent.ui.widgets.picture_canvas import PictureWindow
from tests.app.conftest import Go
from tests.e2e.driver import Driver

pytestmark = pytest.mark.usefixtures("qapp")


def chips(user: Driver) -> dict[str, ContentChip]:
    found = user.composer.findChildren(ContentChip, "contentChip")
    shown = sorted((chip for chip in found if chip.isVisible()), key=lambda chip: (chip.y(), chip.x()))
    return {chip.name: chip for chip in shown}


def test_a_draft_shows_its_pictures_and_says_what_cannot_be_shown_or_sent(go: Go, project: Path) -> None:
    picture = QImage(300, 200, QImage.Format.Format_RGB32)
    picture.fill(0)
    assert picture.save(str(project / "shot.png"))
    assert picture.scaled(9_000, 10).save(str(project / "wide.png"))
    assert picture.save(str(project.parent / "outside.png"))
    (project / "broken.png").write_bytes(b"\x89PNG nothing")
    (project / "folder.png").mkdir()
    size = (project / "shot.png").stat().st_size

    async def journey(user: Driver) -> None:
        composer = user.composer
        composer.set_text("@shot.png @wide.png @broken.png @folder.png/ @gone.png @../outside.png")
        await user.until_true(lambda: len(chips(user)) == 3, "what is there has a chip")
        assert list(chips(user)) == ["shot.png", "wide.png", "broken.png"]
        assert not chips(user)["shot.png"].thumbnail.isNull()
        assert chips(user)["shot.png"].detail == f"300 × 200 · {size} bytes"
        assert chips(user)["wide.png"].detail.startswith("Too large for a model · 9,000 × 10 · ")
        assert chips(user)["broken.png"].detail == "Cannot be shown · 12 bytes"

        chips(user)["shot.png"].click()
        (await user.see(PictureWindow, "pictureWindow")).close()

        composer.set_text("")
        composer.edit.picture_given.emit(picture)
        await user.until_true(
            lambda: any(not chip.thumbnail.isNull() for chip in chips(user).values()), "a thumbnail is there"
        )
        composer.set_text("")
        composer.edit.long_text_given.emit("word " * 5_000)
        await user.until_true(lambda: len(chips(user)) == 1, "the text has a chip")
        (chip,) = chips(user).values()
        assert (not chip.thumbnail.isNull(), chip.detail) == (False, "25 kB")
        chip.click()
        window = await user.until(
            lambda: next(iter(user.window.main_window.findChildren(OutputWindow)), None), "the text is shown"
        )
        window.close()
        composer.set_text("")

    go([str(project), "--provider", "demo"], journey)
