"""A conversation: writing, waiting, streaming, and failures."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.chat.composer.offer_popups import MentionPopup
from tests.e2e import orders
from tests.e2e.tour.scene import Scene
from tests.e2e.tour.tourist import CTRL, Tourist
from tests.servers import fault
from tests.servers.script import reply, text, thinking

_ANSWER = """\
There are **three** places where money is added up:

1. `Order.total` in `shop/orders.py` adds up the lines.
2. `shipping` looks at the weight, not at the price.
3. `discount` takes a share of the total.

```python
def discount(order):
    if order.total() > 100:
        return order.total() * Decimal(0.05)
```

| place | kind | exact |
| --- | --- | --- |
| `total` | `int` or `Decimal` | yes |
| `discount` | `Decimal` of a `float` | no |

> A `Decimal` made from a `float` keeps what the `float` got wrong.
"""
_BEGUN = (
    thinking("The totals come first.", signature="s"),
    text("I look at everything that handles prices, and then at what the tests say of it.\n"),
)


async def _play(tour: Tourist) -> None:
    await _lists(tour)
    await tour.write("")
    await _attachment(tour)
    await _running(tour)
    await tour.send("Where is money added up?")
    await tour.see_turn_end()
    await tour.take("answer")
    await tour.press(Qt.Key.Key_F, CTRL)
    await tour.user.type("findField", "decimal")
    await tour.take("find")
    await tour.press(Qt.Key.Key_Escape)
    await tour.send("And the tax?")
    await tour.until(lambda: not tour.user.transcript.turns.is_running, "the turn has ended")
    await tour.take("error")


async def _lists(tour: Tourist) -> None:
    await tour.write("Compare @logo")
    popup = await tour.see(MentionPopup, "mentionPopup")
    await tour.until(lambda: bool(popup.offers), "something is offered")
    await tour.take("mention")
    await tour.press(Qt.Key.Key_Escape)
    await tour.write("/")
    await tour.see(QWidget, "commandPopup")
    await tour.take("slash")
    await tour.press(Qt.Key.Key_Escape)


async def _attachment(tour: Tourist) -> None:
    composer = tour.user.composer
    QGuiApplication.clipboard().setImage(QImage(str(tour.folder / orders.LOGO)))
    await tour.press(Qt.Key.Key_V, CTRL)
    await tour.until(lambda: "@pasted" in composer.text(), "the picture is mentioned")
    QTest.keyClicks(composer.edit, " is the old logo, and here is what the shop printed: ")
    QGuiApplication.clipboard().setText("".join(f"{number} x oak\n" for number in range(6000)))
    await tour.press(Qt.Key.Key_V, CTRL)
    await tour.until(lambda: composer.text().count("@pasted") == 2, "the text is mentioned")
    await tour.take("attachments")
    await tour.write("")


async def _running(tour: Tourist) -> None:
    await tour.send("Check the prices.")
    await tour.user.see_stalled(tour.model, 0)
    await tour.take("streaming")
    await tour.write("Then write a test for it.")
    await tour.press(Qt.Key.Key_Return)
    await tour.write("Leave the labels alone.")
    await tour.press(Qt.Key.Key_Return, CTRL)
    await tour.until(lambda: len(tour.user.transcript.turns.queued) == 2, "both wait")
    await tour.take("queue")
    tour.model.release()
    await tour.until(lambda: tour.user.transcript.turn == 2, "what waited is sent")
    await tour.see_turn_end()
    await tour.take("steered")


WRITING = Scene(
    states=("mention", "slash", "attachments", "streaming", "queue", "steered", "answer", "find", "error"),
    play=_play,
    answers=(
        reply(*_BEGUN, fault.stall_after(events=14)),
        reply(text("The labels stay as they are. The prices are right.")),
        reply(text("There is nothing to test yet: the prices are right.")),
        reply(text(_ANSWER)),
        fault.unauthorized(),
    ),
)
