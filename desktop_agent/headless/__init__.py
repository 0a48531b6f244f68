"""The headless runner: prompts in, a result and an exit code out. For scripts, CI and the library."""

from desktop_agent.headless.approval_command import ApprovalCommand
from desktop_agent.headless.logs import RunLogs
from desktop_agent.headless.op_lines import ops_of
from desktop_agent.headless.result import EXIT_CODES, RunResult
from desktop_agent.headless.runner import HeadlessRun, RunOptions
from desktop_agent.headless.streamed_run import StreamedRun

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
