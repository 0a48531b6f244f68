import asyncio
import gc
import inspect
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QWidget

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.system.processes.runner import Command, ProcessOutcome, ProcessRunner
from desktop_agent.ui.runtime import eventloop
from desktop_agent.ui.runtime.eventloop import TaskSpawner, run


async def forever() -> None:
    await asyncio.Event().wait()


def fail(error: BaseException) -> None:
    raise error


# --- running ------------------------------------------------------------------------------------------------------


def test_an_exception_in_main_is_raised(qapp: QApplication) -> None:
    async def main() -> int:
        await asyncio.sleep(0)
        raise LookupError("not here")

    with pytest.raises(LookupError, match="not here"):
        run(qapp, main)


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are shell commands")
@pytest.mark.parametrize("tty", [False, True])
def test_a_command_that_prints_much_is_read_to_its_end(qapp: QApplication, tmp_path: Path, *, tty: bool) -> None:
    outcomes: list[ProcessOutcome] = []
    shown: list[str] = []

    async def main() -> int:
        runner = ProcessRunner(SystemClock())
        command = Command(argv=("/bin/sh", "-c", "seq 200000"), cwd=tmp_path, environ={"PATH": "/bin"}, tty=tty)
        outcomes.append(await runner.run(command, on_text=shown.append))
        await runner.aclose()
        return 0

    assert run(qapp, main) == 0
    assert outcomes[0].output.total_lines == 200_000
    assert shown[-1].endswith("200000\n")


def test_work_in_a_thread_does_not_stop_the_window(qapp: QApplication) -> None:
    async def main() -> int:
        beat = asyncio.Event()
        release = threading.Event()
        QTimer.singleShot(0, beat.set)
        thread = asyncio.create_task(asyncio.to_thread(release.wait))
        await beat.wait()  # Qt's timer fires while the thread still waits
        release.set()
        return int(await thread)

    assert run(qapp, main) == 1


def test_closing_the_last_window_ends_nothing(qapp: QApplication) -> None:
    async def main() -> int:
        window = QWidget()
        window.show()
        window.close()
        for _ in range(20):
            await asyncio.sleep(0)
        return 5

    assert run(qapp, main) == 5


# --- ending -------------------------------------------------------------------------------------------------------


def test_tasks_left_behind_are_cancelled_and_may_clean_up(qapp: QApplication, caplog: pytest.LogCaptureFixture) -> None:
    cleaned: list[str] = []

    async def leftover() -> None:
        try:
            await forever()
        finally:
            await asyncio.sleep(0.001)
            cleaned.append("tidy")

    async def main() -> int:
        task = asyncio.create_task(leftover())
        await asyncio.sleep(0)
        return 0 if not task.done() else 1

    assert run(qapp, main) == 0
    gc.collect()  # a destroyed pending task would complain now
    assert cleaned == ["tidy"]
    assert caplog.records == []


def test_a_task_that_fails_while_ending_is_logged_by_name(
    qapp: QApplication, caplog: pytest.LogCaptureFixture, expected_logs: list[str]
) -> None:
    expected_logs.append("untidy failed while ending")

    async def fails() -> None:
        try:
            await forever()
        finally:
            raise RuntimeError("could not tidy up")

    async def main() -> int:
        tasks.append(asyncio.create_task(fails(), name="untidy"))
        await asyncio.sleep(0)
        return 0

    tasks: list[asyncio.Task[None]] = []
    assert run(qapp, main) == 0
    assert [record.message for record in caplog.records] == ["untidy failed while ending"]


def test_a_task_that_will_not_end_does_not_hold_up_the_end(
    qapp: QApplication,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    expected_logs: list[str],
) -> None:
    expected_logs.append("stubborn did not end")
    monkeypatch.setattr(eventloop, "GRACE_S", 0.01)
    release: list[asyncio.Event] = []

    async def stubborn() -> None:
        release.append(asyncio.Event())
        while not release[0].is_set():
            try:
                await release[0].wait()
            except asyncio.CancelledError:
                if len(release) > 1:
                    raise

    async def main() -> int:
        tasks.append(asyncio.create_task(stubborn(), name="stubborn"))
        await asyncio.sleep(0)
        return 0

    tasks: list[asyncio.Task[None]] = []
    assert run(qapp, main) == 0
    assert [record.message for record in caplog.records] == ["stubborn did not end within 0 s of being cancelled"]
    release.append(release[0])
    tasks[0].get_coro().close()  # type: ignore[union-attr] # the loop it would end in is closed


def test_abandoned_asynchronous_generators_are_closed(qapp: QApplication) -> None:
    closed: list[str] = []
    kept: list[AsyncIterator[int]] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(0)
            closed.append("closed")

    async def main() -> int:
        generator = numbers()
        kept.append(generator)
        return await anext(generator)

    assert run(qapp, main) == 1
    assert closed == ["closed"]


def test_quitting_qt_cancels_main_and_lets_it_clean_up(qapp: QApplication) -> None:
    cleaned: list[str] = []

    async def main() -> int:
        QTimer.singleShot(0, qapp.quit)
        try:
            await forever()
        finally:
            await asyncio.sleep(0)
            cleaned.append("tidy")
        return 1

    assert run(qapp, main) == 0
    assert cleaned == ["tidy"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of this kind do not exist there")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_asks_the_application_to_end(qapp: QApplication, number: signal.Signals) -> None:
    before = signal.getsignal(number)

    async def main() -> int:
        os.kill(os.getpid(), number)
        await asked.wait()
        return 3

    asked = asyncio.Event()
    numbers: list[signal.Signals] = []

    def on_signal(number: signal.Signals) -> None:
        numbers.append(number)
        asked.set()

    assert run(qapp, main, on_signal=on_signal) == 3
    assert numbers == [number]
    assert (signal.getsignal(number) == before) or number != signal.SIGINT


@pytest.mark.skipif(sys.platform == "win32", reason="signals of this kind do not exist there")
def test_a_hang_up_that_comes_with_the_wish_to_end_does_not_cut_the_ending_short(qapp: QApplication) -> None:
    async def main() -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGHUP)
        for _ in range(2):
            await asked.get()
        return 3

    asked: asyncio.Queue[signal.Signals] = asyncio.Queue()
    assert run(qapp, main, on_signal=asked.put_nowait) == 3


@pytest.mark.skipif(sys.platform == "win32", reason="signals of this kind do not exist there")
def test_a_second_signal_does_not_take_no_for_an_answer(qapp: QApplication) -> None:
    async def main() -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        await asked.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        await forever()
        return 1

    asked = asyncio.Event()
    assert run(qapp, main, on_signal=lambda _: asked.set()) == 0


# --- spawning -----------------------------------------------------------------------------------------------------


async def test_work_spawned_early_waits_for_the_start_and_is_named_after_its_coroutine() -> None:
    names: asyncio.Queue[str] = asyncio.Queue()

    async def count_the_files() -> None:
        task = asyncio.current_task()
        assert task is not None
        names.put_nowait(task.get_name())

    spawner = TaskSpawner(fail)
    spawner.spawn(count_the_files())
    await asyncio.sleep(0)
    assert (names.empty(), len(spawner)) == (True, 1)
    spawner.start()
    assert (await names.get()).endswith("count_the_files")
    await asyncio.sleep(0)
    assert len(spawner) == 0


@pytest.mark.parametrize("has_own_handler", [False, True])
async def test_an_exception_of_background_work_reaches_one_handler(has_own_handler: bool) -> None:
    errors: list[BaseException] = []
    shown: list[AgentError] = []

    async def work() -> None:
        raise AgentError("The list could not be read.")

    spawner = TaskSpawner(errors.append)
    spawner.start()
    spawner.spawn(work(), *((shown.append,) if has_own_handler else ()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (len(errors), len(shown)) == ((0, 1) if has_own_handler else (1, 0))


async def test_closing_cancels_what_runs_and_drops_what_has_not_begun_and_what_comes_later() -> None:
    ended: list[str] = []

    async def work(name: str) -> None:
        try:
            await forever()
        finally:
            await asyncio.sleep(0)
            ended.append(name)

    spawner = TaskSpawner(fail)
    spawner.start()
    spawner.spawn(work("running"))
    await asyncio.sleep(0)
    last, late = work("last"), work("late")
    spawner.spawn(last)
    await spawner.aclose()
    spawner.spawn(late)
    await asyncio.sleep(0)
    assert ended == ["running"]
    assert len(spawner) == 0
    assert [inspect.getcoroutinestate(each) for each in (last, late)] == [inspect.CORO_CLOSED] * 2


# --- idle ---------------------------------------------------------------------------------------------------------


class Paintings(QObject):
    count = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        self.count += event.type() == QEvent.Type.Paint
        return False


def test_what_was_shown_is_painted_when_the_loop_is_idle(qapp: QApplication) -> None:
    widget, paintings = QWidget(), Paintings()
    widget.installEventFilter(paintings)

    async def main() -> int:
        widget.show()
        await eventloop.idle()
        return paintings.count

    assert run(qapp, main) >= 1
    widget.deleteLater()


def test_waiting_for_an_idle_loop_can_be_cancelled(qapp: QApplication) -> None:
    async def main() -> int:
        waiting = asyncio.create_task(eventloop.idle())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        await eventloop.idle()
        return int(waiting.cancelled())

    assert run(qapp, main) == 1
