"""Work in the background: begun while the window lives, dropped without a trace when it has ended."""

import inspect

from pytestqt.qtbot import QtBot

from desktop_agent.app.background_tasks import BackgroundTasks
from desktop_agent.ui.runtime.eventloop import TaskSpawner
from desktop_agent.ui.widgets.banner import Banner


async def test_what_comes_after_the_end_is_dropped_and_not_left_waiting(qtbot: QtBot) -> None:
    banner = Banner()
    qtbot.addWidget(banner)
    spawner = TaskSpawner(lambda error: None)
    spawner.start()
    await spawner.aclose()

    async def work() -> None:
        raise AssertionError("it was begun")

    late = work()
    BackgroundTasks(spawner, banner)(late)
    assert inspect.getcoroutinestate(late) == inspect.CORO_CLOSED
