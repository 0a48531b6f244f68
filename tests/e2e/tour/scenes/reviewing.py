"""A review in progress: hunks, a replaced picture, a comment, and an undo that meets the user's edit."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QListView, QWidget

from desktop_agent.ui.review.diff.diff_review import DiffReview
from desktop_agent.ui.review.diff.diff_view import DiffView
from tests.e2e import orders
from tests.e2e.tour.scene import Scene
from tests.e2e.tour.tourist import CTRL, NARROW, SIZE, Tourist


async def _play(tour: Tourist) -> None:
    await tour.send("Check the totals of the orders, and use the new logo.")
    for _ in range(2):
        await tour.allow()
    await tour.see_turn_end()
    view = await tour.see(DiffView, "diffView")
    review = view.findChild(DiffReview)
    assert review
    await tour.until(lambda: len(review.hunks.keys) > 2, "the changes are drawn")
    view.setFocus()
    await tour.press(Qt.Key.Key_K)
    await tour.until(lambda: review.hunks.counts() == (1, 0, 0), "the first is kept")
    await tour.press(Qt.Key.Key_C)
    await tour.user.type("commentEdit", "A voucher is an order, too: does it ship?")
    await tour.take("comment")
    await tour.press(Qt.Key.Key_Return, CTRL)
    view.setFocus()
    await tour.press(Qt.Key.Key_F7)
    await tour.look_round()
    await tour.press(Qt.Key.Key_U)
    await tour.until(lambda: review.hunks.counts() == (1, 1, 0), "the last is undone")
    view.verticalScrollBar().setValue(0)
    await tour.take("review")
    await _columns(tour)
    await _whole(tour)
    await _narrow(tour)
    changes = await tour.see_changes()
    changes.setCurrentIndex(changes.model().index(1, 0))
    await tour.see(QWidget, "mediaView")
    await tour.take("review-picture")
    await _clash(tour, changes, view)


async def _columns(tour: Tourist) -> None:
    dock = tour.window.review.dock
    before = dock.width()
    tour.window.resizeDocks([dock], [before + 180], Qt.Orientation.Horizontal)
    await tour.user.click("diffModeButton")
    await tour.take("review-columns")
    await tour.user.click("diffModeButton")
    tour.window.resizeDocks([dock], [before], Qt.Orientation.Horizontal)


async def _whole(tour: Tourist) -> None:
    await tour.user.click("enlargeReviewButton")
    await tour.user.click("wrapLinesButton")
    await tour.take("review-whole")
    await tour.user.click("wrapLinesButton")
    await tour.press(Qt.Key.Key_Escape)


async def _narrow(tour: Tourist) -> None:
    await tour.resize(NARROW)
    tour.window.review.show()
    await tour.take("review-narrow")
    await tour.resize(SIZE)


async def _clash(tour: Tourist, changes: QListView, view: DiffView) -> None:
    module = tour.folder / orders.MODULE
    module.write_text(module.read_text().replace("        return Decimal(0)\n", '        return Decimal("0.00")\n', 1))
    changes.setCurrentIndex(changes.model().index(0, 0))
    await tour.look_round()
    view.setFocus()
    await tour.press(Qt.Key.Key_F7)
    await tour.press(Qt.Key.Key_U)
    dialog = await tour.see(QDialog, "undoConflictDialog")
    await tour.see(QWidget, "takeWantedButton")
    await tour.take("clash", dialog)
    await tour.press(Qt.Key.Key_Escape)


REVIEW = Scene(
    states=("comment", "review", "review-columns", "review-whole", "review-narrow", "review-picture", "clash"),
    play=_play,
    answers=orders.answers(),
)
