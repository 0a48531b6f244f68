"""The demo: its start, its questions, two turns and their changes, in a wide and a narrow window."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QListView, QMenu, QWidget

from desktop_agent.ui.approvals.approval_dialog import ApprovalDialog
from tests.e2e.tour.scene import Scene
from tests.e2e.tour.tourist import CTRL, NARROW, SIZE, Tourist


async def _start(tour: Tourist) -> None:
    composer = tour.user.composer
    await tour.until(lambda: "One of the tests" in composer.text(), "a prompt is offered")
    await tour.until(tour.window.top_bar.branch_button.isVisible, "git is read")
    await tour.take("start")
    await _palette(tour)
    menu = tour.window.findChild(QMenu, "mainMenu")
    assert menu
    button = menu.parent()
    assert isinstance(button, QWidget)
    place = button.mapToGlobal(button.rect().bottomRight())
    menu.popup(place)
    menu.move(place.x() - menu.width(), place.y())
    await tour.take("menu")
    await tour.close(menu)
    await tour.resize(NARROW)
    await tour.take("start-narrow")


async def _palette(tour: Tourist) -> None:
    tour.user.composer.setFocus()
    await tour.press(Qt.Key.Key_K, CTRL)
    await tour.see(QWidget, "commandPalette")
    await tour.take("palette")
    await tour.user.type("paletteField", "pages")
    rows = await tour.see(QListView, "paletteList")
    await tour.until(lambda: rows.currentIndex().data() == "pages.py", "a file is found")
    await tour.take("palette-found")
    await tour.press(Qt.Key.Key_Escape)


async def _turns(tour: Tourist) -> None:
    composer = tour.user.composer
    await tour.until(lambda: "One of the tests" in composer.text(), "a prompt is offered")
    await tour.user.click("sendButton")
    tour.time.advance(3.1)
    await tour.take("approval-command", await tour.see_dialog())
    await tour.allow()
    await tour.take("approval-edit", await tour.see_dialog())
    await tour.allow()
    dialog = await tour.see_dialog()
    scopes = await tour.see(QComboBox, "approvalScopePicker")
    scopes.setCurrentIndex(2)  # in this folder
    await tour.take("approval-rules", dialog)
    scopes.setCurrentIndex(0)
    await tour.allow()
    await tour.see_turn_end()
    await tour.take("turn")
    await _second_turn(tour)


async def _second_turn(tour: Tourist) -> None:
    composer = tour.user.composer
    await tour.until(lambda: "Add a test" in composer.text(), "more is offered")
    composer.setFocus()
    await tour.press(Qt.Key.Key_Return)
    tour.time.advance(2.2)
    await tour.allow()
    await tour.see_dialog()
    await tour.press(Qt.Key.Key_Escape)  # decided later: the card in the conversation waits
    await tour.until(lambda: tour.user.find(ApprovalDialog, "approvalDialog") is None, "the dialog has closed")
    baselines = await tour.see(QComboBox, "baselinePicker")
    QTest.keyClick(baselines, Qt.Key.Key_Down)  # from the last turn to the whole session
    changes = await tour.see_changes()
    changes.setCurrentIndex(changes.model().index(0, 0))
    composer.setFocus()
    await tour.take("window")
    await tour.resize(NARROW)
    await tour.take("narrow")
    await tour.resize(SIZE)
    await tour.user.click("stopButton")
    await tour.until(lambda: not tour.user.transcript.turns.is_running, "the turn has ended")
    await tour.take("stopped")


START = Scene(states=("start", "palette", "palette-found", "menu", "start-narrow"), play=_start, is_demo=True)
TURNS = Scene(
    states=("approval-command", "approval-edit", "approval-rules", "turn", "window", "narrow", "stopped"),
    play=_turns,
    is_demo=True,
    opens_questions=True,
)
