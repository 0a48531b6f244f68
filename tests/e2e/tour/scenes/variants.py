"""*Try with…*: the sheet, and three variants of the demo side by side."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QPushButton

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol.ops import SetMode
from desktop_agent.core.providers.demo import TEST_COMMAND
from desktop_agent.ui.review.variants import TrySheet, VariantColumn, VariantsWindow
from desktop_agent.ui.widgets.buttons import Picker
from tests.e2e.tour.scene import Scene
from tests.e2e.tour.tourist import CTRL, Tourist

_PAGES = "pagination/pages.py"


async def _play(tour: Tourist) -> None:
    await tour.until(lambda: "One of the tests" in tour.user.composer.text(), "a prompt is offered")
    tour.user.window.panels.session.submit(SetMode(approval="on_request"))
    await tour.press(Qt.Key.Key_V, CTRL | Qt.KeyboardModifier.AltModifier)
    sheet = await tour.see(TrySheet, "trySheet")
    await tour.until(lambda: len(sheet.chosen) == 2, "models are offered")
    await tour.user.click("tryAddButton")
    for picker in sheet.findChildren(Picker, "tryModelPicker"):
        picker.setCurrentIndex(picker.findText("Demo", Qt.MatchFlag.MatchStartsWith))
    (await tour.see(QLineEdit, "tryTestEdit")).setText(TEST_COMMAND)
    await tour.take("try-with", sheet)
    await tour.user.click("startTryButton")
    window = await tour.see(VariantsWindow, "variantsWindow")
    await tour.until(lambda: len(window.columns) == 3, "it has its columns")
    columns = list(window.columns.values())
    await tour.until(lambda: all(one.facts.state == "working" for one in columns), "all work")
    tour.time.advance(38)
    await tour.until(lambda: all(one.facts.state == "done" for one in columns), "all have ended")
    folder = Path(tour.user.transcript.session.workspace)
    _, second, third = (_tree(one, folder) for one in columns)
    (second / "CHANGES.md").write_text("# Changes\n\n- A short last page counts.\n")
    pages = (third / _PAGES).read_text()
    (third / _PAGES).write_text(pages.replace("return -(-total // size)", "return total // size + 1"))
    for column in columns[1:]:
        column.asked.emit("test", column.facts.worktree)
    await tour.until(lambda: len(columns[1].diffs) == 2 and columns[2].test.text().startswith("✗"), "they differ")
    await tour.until(lambda: all(one.facts.state == "done" for one in columns), "the tests have ended")
    columns[0].choice.tick(lambda _number, _key: True)
    columns[1].choice.tick(lambda number, _key: columns[1].diffs[number].path == "CHANGES.md")
    for column in columns[:2]:
        column.picked.emit()
    await tour.take("variants", window)
    take = window.findChild(QPushButton, "takeVariantsButton")
    assert take is not None
    take.click()
    await tour.until(lambda: "2" in window.note.text(), "it is taken")
    await tour.close(window)


def _tree(column: VariantColumn, folder: Path) -> Path:
    return AppPaths.from_environment().worktrees / column.facts.worktree / folder.name


VARIANTS = Scene(states=("try-with", "variants"), play=_play, is_demo=True)
