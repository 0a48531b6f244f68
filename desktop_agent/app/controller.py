"""The base class of the window's controllers, and their background work. Errors of background work are shown."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Generic, ParamSpec, TypeVar

from PySide6.QtCore import QCoreApplication, QObject

from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError
from desktop_agent.ui.theme import Theme

Launch = Callable[[Coroutine[object, object, object]], None]
"""A function that runs a coroutine in the background and shows its errors."""

P = ParamSpec("P")


def in_background(
    spawn: Callable[[Coroutine[object, object, None]], None], work: Callable[P, Coroutine[object, object, None]]
) -> Callable[P, None]:
    def begin(*args: P.args, **kwargs: P.kwargs) -> None:
        spawn(work(*args, **kwargs))

    return begin


class WindowContext:
    def __init__(self, panels: WindowPanels, theme: Theme, bench: Workbench) -> None:
        self.panels = panels
        self.theme = theme
        self.bench = bench
        self.launch: Launch = partial(panels.spawner.spawn, show_error=panels.conversation.banner.show_error)


class Controller(QObject):
    """Carries out the requests of one part of the window. Lives as long as the window."""

    def __init__(self, context: WindowContext) -> None:
        super().__init__(context.panels.window)
        self._panels, self._theme = context.panels, context.theme
        self._bench, self._launch = context.bench, context.launch


class OneAtATime:
    """Runs one task at a time. A new task cancels the running task; the user can cancel it, too."""

    def __init__(self, launch: Launch, fail: Callable[[AgentError], None]) -> None:
        self._launch = launch
        self._fail = fail
        self._task: asyncio.Task[object] | None = None

    def begin(self, work: Coroutine[object, object, None]) -> None:
        self.cancel()
        self._launch(self._carry_out(work))

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def let_end(self) -> None:
        """Do not let the running task be cancelled any more."""
        self._task = None

    async def _carry_out(self, work: Coroutine[object, object, None]) -> None:
        task = self._task = asyncio.current_task()
        try:
            await work
        except AgentError as error:
            self._fail(error)
        except Exception:
            words = QCoreApplication.translate("OneAtATime", "Something went wrong inside the application.")
            self._fail(AgentError(words))
            raise
        finally:
            if self._task is task:
                self._task = None


Q = TypeVar("Q")


class LatestQuestion(Generic[Q]):
    """Answers questions in the background, one at a time. Skips questions that a later question has replaced."""

    def __init__(self, answer: Callable[[Q], Awaitable[None]], launch: Launch) -> None:
        self._answer = answer
        self._launch = launch
        self._waiting: Q | None = None
        self._is_answering = False

    @property
    def is_waiting(self) -> bool:
        return self._waiting is not None

    def ask(self, question: Q) -> None:
        self._waiting = question
        if not self._is_answering:
            self._is_answering = True
            self._launch(self._answer_all())

    def drop(self) -> None:
        self._waiting = None

    async def _answer_all(self) -> None:
        try:
            while (question := self._waiting) is not None:
                self._waiting = None
                await self._answer(question)
        finally:
            self._is_answering = False
