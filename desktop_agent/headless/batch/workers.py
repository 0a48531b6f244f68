"""What runs the tasks of a batch, seen from the coordinator."""

from typing import Protocol

from desktop_agent.headless.batch.outcome import TaskOutcome
from desktop_agent.headless.batch.tasks import BatchTask


class WorkerLostError(Exception):
    """What ran a task has gone, and said nothing of it. The task may be tried again."""


class Workers(Protocol):
    """A pool: as many tasks at once as the coordinator gives it."""

    async def run(self, task: BatchTask, max_cost_usd: float | None) -> TaskOutcome:
        """Run a task to its end, which may cost so much. Cancelling stops it.

        Raises `WorkerLostError`, and `AgentError` when no task can be run any more.
        """
        ...

    async def aclose(self) -> None:
        """End everything that was started."""
        ...
