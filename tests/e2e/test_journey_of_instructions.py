"""The real window: a file of instructions is switched off in “What the model sees”, and stays off after a restart."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from desktop_agent.ui.context_inspector import ContextInspector, SectionList
from desktop_agent.ui.widgets.buttons import Switch
from tests.e2e.driver import Driver, drive
from tests.servers.script import reply, text
from tests.servers.threaded import serve


@pytest.mark.realwindow
@pytest.mark.usefixtures("ready_to_work")
def test_a_file_of_instructions_is_switched_off_and_stays_off(tmp_path: Path) -> None:
    folder = tmp_path / "room"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("Use tabs.\n")
    (folder / "CLAUDE.md").write_text("Be brief.\n")

    async def parts(user: Driver) -> SectionList:
        await user.activate()
        user.actions.inspect_context.trigger()
        return await user.see(SectionList, "contextSections")

    async def choose(user: Driver, shown: SectionList, name: str) -> Switch:
        await user.until_true(lambda: bool(shown.findItems(name, Qt.MatchFlag.MatchExactly)), f"{name} is listed")
        shown.setCurrentItem(shown.findItems(name, Qt.MatchFlag.MatchExactly)[0])
        return await user.see(Switch, "guidanceSwitch")

    def is_off(shown: SectionList) -> bool:
        chosen = shown.chosen()
        return chosen is not None and chosen.is_off

    async def turn(user: Driver, prompt: str) -> None:
        await user.run_turn(prompt)
        await user.see_turn_end()

    async def first(user: Driver) -> None:
        await user.see_ready()
        await turn(user, "One")
        assert any("CLAUDE.md" in notice.title for notice in user.notices), "it is said that it is used"
        shown = await parts(user)
        switch = await choose(user, shown, "CLAUDE.md")
        assert switch.isChecked()
        switch.setFocus()
        await user.press(Qt.Key.Key_Space)
        await user.until_true(lambda: is_off(shown), "it is switched off")
        assert not switch.isChecked()
        dialog = await user.see(ContextInspector, "contextInspector")
        dialog.grab().save(str(tmp_path / "off.png"))
        dialog.accept()
        await turn(user, "Two")
        await user.quit()

    async def second(user: Driver) -> None:
        await user.see_ready()
        await turn(user, "Three")
        shown = await parts(user)
        switch = await choose(user, shown, "CLAUDE.md")
        assert not switch.isChecked()
        await user.click("guidanceSwitch")
        await user.until_true(lambda: not is_off(shown), "it is switched on")
        (await user.see(ContextInspector, "contextInspector")).accept()
        await turn(user, "Four")
        await user.quit()

    with serve(*(reply(text("Done.")) for _ in range(4))) as model:
        for journey in (first, second):
            drive([str(folder), "--base-url", model.url], tmp_path, journey)
    systems = [str(message.fields["system"]) for message in model.messages]
    assert ["Be brief." in system for system in systems] == [True, False, False, True]
    assert all("Use tabs." in system for system in systems)
