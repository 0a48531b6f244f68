"""What the user keeps is committed from the review."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPlainTextEdit

from desktop_agent.ui.review.commit_sheet import CommitSheet
from desktop_agent.ui.review.diff.diff_review import DiffReview
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.widgets.labels import ElidedLabel
from tests.e2e import orders
from tests.e2e.tour.scene import Scene
from tests.e2e.tour.scenes.worktrees import CTRL_ALT, begin_repository
from tests.e2e.tour.tourist import Tourist
from tests.servers.script import reply, text


async def _play(tour: Tourist) -> None:
    await tour.send("Check the totals, and use the new logo.")
    for _ in range(2):
        await tour.allow()
    await tour.see_turn_end()
    view = await tour.see(DiffView, "diffView")
    review = view.findChild(DiffReview)
    assert review
    await tour.until(lambda: len(review.hunks.keys) == 3, "the changes are drawn")
    view.setFocus()
    for kept in (1, 2):
        await tour.press(Qt.Key.Key_K)
        await tour.until(lambda kept=kept: review.hunks.counts()[0] == kept, "it is kept")
    await tour.press(Qt.Key.Key_G, CTRL_ALT)
    sheet = await tour.see(CommitSheet, "commitSheet")
    message = await tour.see(QPlainTextEdit, "commitMessageEdit")
    message.setPlainText("orders: add up prices as decimals\n\nA float loses cents.")
    author = await tour.see(ElidedLabel, "commitAuthor")
    await tour.until(lambda: "Ada" in author.text(), "git has said what it would commit")
    await tour.take("commit", sheet)
    await tour.close(sheet)


COMMITTING = Scene(
    states=("commit",),
    play=_play,
    answers=(*orders.answers(), reply(text("It is done."))),
    prepare=begin_repository,
)
