"""*Try with…* in the real window: three variants of the demo, their tests, and hunks of two taken as one change."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton, QWidget
from shiboken6 import isValid

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.mentions.prompts import PastedContents
from desktop_agent.core.protocol.ops import SetMode
from desktop_agent.core.providers.demo import TEST_COMMAND
from desktop_agent.ui.review.variants import TrySheet, VariantColumn, VariantsWindow
from desktop_agent.ui.widgets.buttons import Picker
from tests.app.conftest import Go
from tests.app.test_worktrees import EDIT, repository, worktree_of
from tests.e2e.driver import Driver
from tests.servers import fault
from tests.servers.script import reply, text
from tests.servers.threaded import serve

__all__ = ["repository"]

PAGES = "pagination/pages.py"
CTRL_ALT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier


def files_of(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def press(window: QWidget, name: str) -> None:
    button = window.findChild(QPushButton, name)
    assert isinstance(button, QPushButton)
    button.click()


async def begin(user: Driver, count: int, test: str) -> VariantsWindow:
    """Try the prompt in the composer with the demo model, several times, without questions."""
    await user.until_true(lambda: bool(user.composer.text()), "the demo suggests a prompt")
    user.window.panels.session.submit(SetMode(approval="on_request"))
    await user.press(Qt.Key.Key_V, CTRL_ALT)
    sheet = await user.see(TrySheet, "trySheet")
    await user.until_true(lambda: len(sheet.chosen) >= 2, "models are offered")
    while len(sheet.chosen) < count:
        press(sheet, "tryAddButton")
    for picker in sheet.findChildren(Picker, "tryModelPicker"):
        picker.setCurrentIndex(picker.findText("Demo model", Qt.MatchFlag.MatchStartsWith))
    await user.type("tryTestEdit", test)
    press(sheet, "startTryButton")
    return await see_window(user, count)


async def see_window(user: Driver, count: int) -> VariantsWindow:
    window = await user.see(VariantsWindow, "variantsWindow")
    await user.until_true(lambda: len(window.columns) == count, "it has its columns")
    return window


def columns(window: VariantsWindow) -> list[VariantColumn]:
    return list(window.columns.values())


def tick(column: VariantColumn, path: str) -> None:
    """Tick a file with everything that changed in it."""
    number = [diff.path for diff in column.diffs].index(path)
    item = column.choice.topLevelItem(number)
    assert item is not None
    item.setCheckState(0, Qt.CheckState.Checked)


async def ended(user: Driver, window: VariantsWindow) -> None:
    await user.until_true(lambda: all(one.facts.state == "done" for one in columns(window)), "all have ended")
    await user.until_true(lambda: all(one.diffs for one in columns(window)), "their changes are shown")


def tree_of(column: VariantColumn, folder: Path) -> Path:
    return AppPaths.from_environment().worktrees / column.facts.worktree / folder.name


def test_hunks_of_two_of_three_variants_are_taken_and_undone_exactly(go: Go) -> None:
    async def journey(user: Driver) -> None:
        window = await begin(user, 3, TEST_COMMAND)
        assert window.focusWidget() is columns(window)[0].choice, "not the button that stops all"
        folder = Path(user.transcript.session.workspace)
        assert user.composer.text() == "", "the prompt was sent"
        before = files_of(folder)
        await ended(user, window)
        assert [one.test.text() for one in columns(window)] == ["✓ passed"] * 3
        assert all("tests pass" in one.facts.answer for one in columns(window))
        assert [one.facts.title for one in columns(window)] == [f"Demo model ({number})" for number in (1, 2, 3)]
        assert all((one.facts.cost, one.facts.seconds > 0) == ("$0.00", True) for one in columns(window))
        assert files_of(folder) == before

        first, second, third = columns(window)
        for column, name in ((second, "two"), (third, "three")):
            tree = tree_of(column, folder)
            (tree / f"{name}.txt").write_text(f"{name}\n")
            (tree / PAGES).write_bytes(f"# {name}\n".encode() + (folder / PAGES).read_bytes())
            column.asked.emit("test", column.facts.worktree)  # looks again, too
        await user.until_true(lambda: len(second.diffs) == len(third.diffs) == 2, "what they have now is shown")
        await user.until_true(lambda: third.facts.state == "done", "the tests have ended")
        assert third.test.text().startswith("✗ failed"), "without the fix"

        for column in (second, third):
            tick(column, PAGES)
        press(window, "takeVariantsButton")
        await user.until_true(lambda: "clash" in window.note.text(), "a clash is said")
        assert f"{PAGES}:1  Demo model (2) ↔ Demo model (3)" in window.note.text()
        assert files_of(folder) == before

        third.choice.tick(lambda _number, _key: False)
        tick(first, PAGES)
        tick(second, "two.txt")
        counted = window.findChild(QLabel, "variantsCount")
        assert counted is not None
        assert counted.text() == "3 changes are ticked"
        press(window, "takeVariantsButton")
        await user.until_true(lambda: "2 files are taken" in window.note.text(), "it is taken")
        taken = files_of(folder)
        fixed = files_of(tree_of(first, folder))[PAGES]
        assert taken == before | {PAGES: b"# two\n" + fixed, "two.txt": b"two\n"}
        assert user.transcript.session.workspace == str(folder)
        await user.until_true(lambda: not first.diffs, "the folder has what it changed, and it is not offered again")
        user.actions.undo_turn.trigger()
        await user.until_true(lambda: files_of(folder) == before, "the undo is exact")

        press(third, "discardVariantButton")
        press(third, "discardVariantButton")
        await user.until_true(lambda: third.facts.state == "discarded", "it is discarded")
        assert window.note.text() == "", "the second press is none"
        press(window, "discardVariantsButton")
        await user.until_true(lambda: not isValid(window), "all are discarded, and the window closes")
        trees = AppPaths.from_environment().worktrees
        assert not list(trees.glob(f"*/{folder.name}"))
        assert len(list(trees.glob(f"trash/*/{folder.name}"))) == 3, "where they stay for a month"

    go(["--demo"], journey)


def test_what_was_pasted_goes_to_every_variant(go: Go) -> None:
    async def journey(user: Driver) -> None:
        paths = AppPaths.from_environment()
        await user.until_true(lambda: bool(user.composer.text()), "the demo suggests a prompt")
        name = PastedContents.of(paths).keep(b"what the tests said", "text", "txt", datetime.now(UTC))
        user.composer.set_text(f"{user.composer.text()} @pasted:{name}")
        window = await begin(user, 2, TEST_COMMAND)
        await ended(user, window)
        journals = [journal.read_text() for journal in paths.sessions.rglob("journal.jsonl")]
        assert len([journal for journal in journals if "what the tests said" in journal]) == 2

    go(["--demo"], journey)


@pytest.mark.usefixtures("key")
def test_one_is_stopped_alone_then_all_and_a_restart_finds_them_again(go: Go, repository: Path) -> None:
    async def journey(user: Driver) -> None:
        user.composer.set_text("Change three lines")
        await user.until_true(user.actions.new_worktree.isEnabled, "the repository is read")
        await user.press(Qt.Key.Key_V, CTRL_ALT)
        sheet = await user.see(TrySheet, "trySheet")
        await user.until_true(lambda: len(sheet.chosen) == 2, "two models are offered")
        model = sheet.chosen[0]
        press(sheet, "tryAddButton")
        for picker in sheet.findChildren(Picker, "tryModelPicker"):
            picker.setCurrentIndex(picker.findData(model))
        press(sheet, "startTryButton")
        window = await see_window(user, 3)
        for number in range(3):
            await user.see_stalled(server, number)
        first, *others = columns(window)
        press(first, "stopVariantButton")
        await user.until_true(lambda: first.facts.words == "Stopped", "one is stopped")
        assert [one.facts.state for one in others] == ["working", "working"]
        press(window, "stopVariantsButton")
        await user.until_true(lambda: all(one.facts.words == "Stopped" for one in others), "all are stopped")
        assert all(one.facts.answer == "Half of it" for one in columns(window))
        press(first, "discardVariantButton")
        await user.until_true(lambda: first.facts.state == "discarded", "it is discarded")
        window.close()

    async def again(user: Driver) -> None:
        await user.until_true(user.actions.new_worktree.isEnabled, "the repository is read")
        await user.press(Qt.Key.Key_C, CTRL_ALT)
        window = await see_window(user, 3)
        assert [one.facts.words for one in columns(window)] == ["Discarded", "Stopped", "Stopped"]
        second = columns(window)[1]
        press(second, "openVariantButton")
        await user.until_true(lambda: "Half of it" in second.facts.answer, "what it said is there")
        await user.until_true(lambda: worktree_of(user) == second.facts.worktree, "its session is shown")
        await user.send("Go on")
        await user.until_true(lambda: second.facts.state == "asking", "the window follows it")
        assert second.facts.words == "Waits for your answer"
        await user.allow_with_mouse()
        await user.until_true(lambda: len(second.diffs) == 1, "and shows what it changed")

    stalls = [reply(text("Half of it"), fault.stall_after(events=4))] * 3
    with serve(*stalls, EDIT, reply(text("Done."))) as server:
        go([str(repository), "--base-url", server.url], journey)
        go([str(repository), "--base-url", server.url], again)


def test_a_folder_in_no_repository_says_what_to_do(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        await user.press(Qt.Key.Key_V, CTRL_ALT)
        await user.until_true(lambda: any("need a git repository" in line for line in user.banner), "why not is said")
        assert any("git init" in line for line in user.banner)
        await user.press(Qt.Key.Key_C, CTRL_ALT)
        await user.until_true(lambda: any("no variants" in line for line in user.banner), "there are none to compare")

    go([str(project)], journey)
