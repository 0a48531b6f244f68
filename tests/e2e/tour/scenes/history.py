from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractItemView, QApplication, QMenu

from tests.e2e import orders
from tests.e2e.tour.scene import Scene
from tests.e2e.tour.tourist import Tourist
from tests.servers.script import Answer, reply, text, tool_use

_PROMPTS = ("Add up the totals as Decimal.", "An empty order ships for free.", "Take the discount as Decimal, too.")


async def _play(tour: Tourist) -> None:
    for prompt in _PROMPTS:
        await tour.send(prompt)
        await tour.allow()
        await tour.see_turn_end()
    tree = await tour.see(QAbstractItemView, "fileTree")
    tree.setFocus()
    await tour.until(lambda: _row(tree, "shop") is not None, "the folder is listed")
    place = _middle(tree, "shop")
    QTest.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
    await tour.until(lambda: _row(tree, "orders.py") is not None, "its files are listed")
    place = _middle(tree, "orders.py")
    QTest.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
    asked = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, tree.viewport().mapToGlobal(place))
    QApplication.sendEvent(tree.viewport(), asked)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    menu.setActiveAction(next(each for each in menu.actions() if each.text().startswith("History")))
    QTest.keyClick(menu, Qt.Key.Key_Right)
    await tour.take("file-history")
    for _ in range(2):
        await tour.user.pause()
        if (popup := QApplication.activePopupWidget()) is not None:
            popup.close()


def _row(tree: QAbstractItemView, name: str) -> QModelIndex | None:
    model = tree.model()
    rows = (model.index(row, 0) for row in range(model.rowCount()))
    return next((index for index in rows if str(index.data()) == name), None)


def _middle(tree: QAbstractItemView, name: str) -> QPoint:
    index = _row(tree, name)
    assert index is not None
    return tree.visualRect(index).center()


def _turn(number: int) -> tuple[Answer, ...]:
    old, new = orders.EDITS[number]
    return (
        reply(tool_use("edit_file", path=orders.MODULE, old_str=old, new_str=new)),
        reply(text("Done. The change is in the review, on the right.")),
    )


HISTORY = Scene(states=("file-history",), play=_play, answers=(*_turn(0), *_turn(1), *_turn(2)))
