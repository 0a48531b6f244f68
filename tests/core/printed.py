"""A command's output so far, for tests that wait for some of it."""

import asyncio

from desktop_agent.core.jobs import Jobs


class Printed:
    """Collects a command's output through `on_text`, and reports when it contains `text`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.seen = ""
        self._is_there = asyncio.Event()

    def take(self, text: str) -> None:
        self.seen += text  # it may come in pieces
        if self._text in self.seen:
            self._is_there.set()

    async def wait(self) -> None:
        await self._is_there.wait()


async def until_logged(jobs: Jobs, job_id: str, text: str) -> None:
    """Return when a job's log has `text`; fail when the job ends without."""
    while True:
        state = (await jobs.wait(job_id, 0.01)).state
        if text in await jobs.tail(job_id):
            return
        assert state == "running", f"the job is {state} and never printed {text!r}"
