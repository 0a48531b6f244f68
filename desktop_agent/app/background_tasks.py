"""Work that may fail, in the background."""

from collections.abc import Callable, Coroutine

from desktop_agent.core.base.errors import AgentError
from desktop_agent.ui.runtime.eventloop import TaskSpawner
from desktop_agent.ui.widgets.banner import Banner

Try = Callable[[Coroutine[object, object, object]], None]
"""Does work in the background and shows what goes wrong."""


class BackgroundTasks:
    """A `Try`: what goes wrong is shown in the banner."""

    def __init__(self, spawner: TaskSpawner, banner: Banner) -> None:
        self._spawner = spawner
        self._banner = banner

    def __call__(self, work: Coroutine[object, object, object]) -> None:
        """Return at once; an `AgentError` of `work` ends in the banner. It is dropped when the window has ended."""
        if self._spawner.is_closed:
            work.close()  # what would report its errors is never started, and never closes it
        else:
            self._spawner.spawn(self._report_errors(work))

    async def _report_errors(self, work: Coroutine[object, object, object]) -> None:
        try:
            await work
        except AgentError as error:
            self._banner.show_error(error)
