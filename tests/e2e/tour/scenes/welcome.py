from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog

from tests.e2e.tour.scene import Scene
from tests.e2e.tour.tourist import Tourist


async def _play(tour: Tourist) -> None:
    await tour.take("welcome", await tour.see(QDialog, "onboardingDialog"))
    await tour.press(Qt.Key.Key_Escape)
    await tour.take("empty")


WELCOME = Scene(states=("welcome", "empty"), play=_play, opens_folder=False)
