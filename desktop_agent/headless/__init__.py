"""The headless runner: one prompt in, a result and an exit code out. For scripts, CI and the library."""

from desktop_agent.headless.logs import RunLogs
from desktop_agent.headless.result import EXIT_CODES, RunResult
from desktop_agent.headless.runner import HeadlessRun, RunOptions

__all__ = ["EXIT_CODES", "HeadlessRun", "RunLogs", "RunOptions", "RunResult"]
