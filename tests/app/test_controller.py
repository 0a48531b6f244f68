"""Work in the background: begun while the window lives, dropped without a trace when it has ended."""

import asyncio
import inspect

from pytestqt.qtbot import QtBot

from desktop_agent.core.base.errors import AgentError
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
    spawner.spawn(late, banner.show_error)
    assert inspect.getcoroutinestate(late) == inspect.CORO_CLOSED


async def test_what_is_cancelled_before_its_first_step_is_dropped_and_not_left_waiting(qtbot: QtBot) -> None:
    banner = Banner()
    qtbot.addWidget(banner)
    spawner = TaskSpawner(lambda error: None)
    spawner.start()

    async def work() -> None:
        raise AssertionError("it was begun")

    last = work()
    spawner.spawn(last, banner.show_error)
    await spawner.aclose()
    assert inspect.getcoroutinestate(last) == inspect.CORO_CLOSED


async def test_an_error_for_the_user_is_shown_in_the_banner_and_reported_nowhere_else(qtbot: QtBot) -> None:
    banner = Banner()
    qtbot.addWidget(banner)
    reported: list[BaseException] = []
    spawner = TaskSpawner(reported.append)
    spawner.start()

    async def work() -> None:
        raise AgentError("The list could not be read.")

    spawner.spawn(work(), banner.show_error)
    await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})
    assert not banner.isHidden()
    assert reported == []
