from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.review.file_editing import FileEditor
from desktop_agent.ui.terminal.terminal_panel import TerminalPanel
from tests.e2e import orders
from tests.e2e.tour.scene import Scene
from tests.e2e.tour.tourist import CTRL, Tourist


async def _open(tour: Tourist, name: str) -> None:
    await tour.press(Qt.Key.Key_P, CTRL)
    await tour.see(QWidget, "commandPalette")
    await tour.user.type("paletteField", name)
    await tour.look_round()
    if name == "orders":
        await tour.take("go-to-file")
    await tour.press(Qt.Key.Key_Return)


async def _play(tour: Tourist) -> None:
    await tour.user.activate()
    await _open(tour, "orders")
    page = await tour.see(FileEditor, "viewerText")
    await tour.until(lambda: page.is_ready, "the file is read")
    await tour.take("viewer")
    await tour.user.activate()
    await _open(tour, orders.LOGO)
    await tour.see(QWidget, "viewerPicture")
    await tour.take("viewer-picture")
    for _ in range(2):
        await tour.press(Qt.Key.Key_W, CTRL)
    tour.window.actions_.toggle_terminal.trigger()
    terminal = await tour.see(TerminalPanel, "terminalPanel")
    for line, answer in (
        ("PS1='~/code/shop $ '; clear", "~/code/shop $"),
        ("ls -R", "logo.png"),
        ("grep -n def shop/orders.py", "receipt"),
    ):
        QTest.keyClicks(terminal.view, line)
        QTest.keyClick(terminal.view, Qt.Key.Key_Return)
        await _printed(tour, terminal, answer)
    await tour.take("terminal")


async def _printed(tour: Tourist, terminal: TerminalPanel, text: str) -> None:
    def is_printed() -> bool:
        lines = terminal.view.recent_text(50).rstrip("\n").split("\n")
        return lines[-1].strip() == "~/code/shop $" and any(text in line and "PS1" not in line for line in lines)

    await tour.until(is_printed, f"{text} is printed")


PLACES = Scene(states=("go-to-file", "viewer", "viewer-picture", "terminal"), play=_play)
