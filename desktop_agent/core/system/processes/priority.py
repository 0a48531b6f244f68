"""Commands stand behind the window for the processor: a build uses all of it, and the user still types."""

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path

NICENESS = 10
"""How far commands stand back behind us, from 0 (not at all) to 19."""

_FURTHEST = 19

RETRY_S = 0.15
"""Linux takes one change of a session's share per 0.1 s, of all its users together."""


def give_way(transport: asyncio.SubprocessTransport) -> None:
    """Let a command that leads its own session, and all that it starts from now on, stand back."""
    if sys.platform == "win32":
        return
    with suppress(OSError):  # it has ended already
        behind = min(os.getpriority(os.PRIO_PROCESS, 0) + NICENESS, _FURTHEST)
        os.setpriority(os.PRIO_PGRP, transport.get_pid(), behind)
    if sys.platform == "linux":
        _share_less(transport)


def go_first() -> None:
    """Let this thread go before every command, where that is allowed: to root, whose tasks the kernel does not count.

    Linux may share time among sessions first, whatever their priorities: a bomb that makes a session per process would
    leave next to nothing to the thread that ends it.
    """
    if sys.platform == "linux":
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def give_back() -> None:
    """Let this thread go with all others again, after `go_first`."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def stand_back() -> None:
    """Let this process stand back behind all others; with its session, if it leads one."""
    if sys.platform == "win32":
        return
    with suppress(OSError):  # a user may have made it stand back even further
        os.setpriority(os.PRIO_PROCESS, 0, _FURTHEST)
    if sys.platform == "linux" and os.getsid(0) == os.getpid():  # else the user's whole terminal would stand back
        with suppress(OSError):  # see `_share_less`
            Path("/proc/self/autogroup").write_text(str(_FURTHEST))


def _share_less(transport: asyncio.SubprocessTransport) -> None:
    """Lower the share of the whole session: Linux may share time among sessions first ("autogroup", sched(7)).

    The priority of a process then counts within its session only.
    """
    if transport.get_returncode() is not None:
        return
    try:
        Path(f"/proc/{transport.get_pid()}/autogroup").write_text(str(NICENESS))
    except BlockingIOError:
        asyncio.get_running_loop().call_later(RETRY_S, _share_less, transport)
    except OSError:  # a kernel without such groups, or it has ended already
        return
