"""The headless runner: prompts in, a result and an exit code out. For scripts, CI and the library."""

from desktop_agent.headless.approval_command import ApprovalCommand
from desktop_agent.headless.input_lines import ops_of
from desktop_agent.headless.result import EXIT_CODES, RunLogs, RunResult
from desktop_agent.headless.runner import HeadlessRun, RunOptions, StreamedRun

__all__ = [
    "EXIT_CODES",
    "ApprovalCommand",
    "HeadlessRun",
    "RunLogs",
    "RunOptions",
    "RunResult",
    "StreamedRun",
    "ops_of",
]
