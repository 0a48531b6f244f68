"""A command that is hard to end, and checks for its processes."""

import psutil

STUBBORN = """
stay() {{ exec -a stubborn-{mark} sleep 300; }}
(stay) &
(stay) > /dev/null 2>&1 < /dev/null &
(trap '' TERM HUP INT; while :; do sleep 300; : stubborn-{mark}; done) &
setsid bash -c 'exec -a "$0" sleep 300' stubborn-{mark} &
setsid bash -c '(exec -a "$0" sleep 300) > /dev/null 2>&1 < /dev/null &' stubborn-{mark}
(bash -c '(exec -a "$0" sleep 300) & exit' stubborn-{mark}) &
env -i setsid bash -c 'trap "" TERM; exec -a "$0" sleep 300' stubborn-{mark} &
echo ready
wait
sleep 300
"""
"""Background sleeps, one without the pipe; a child that ignores TERM and starts a new sleep whenever one is ended; two
in sessions of their own, one of them orphaned; a grandchild that holds the pipe; and one without any environment.
Everything it starts has `mark`, which must be quoted for a shell, in its arguments."""


def is_alive(pid: int) -> bool:
    """Whether a process still runs; zombies do not count."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def survivors(mark: str) -> list[int]:
    return [
        process.pid
        for process in psutil.process_iter(["cmdline", "status"])
        if any(mark in argument for argument in process.info["cmdline"] or ())
        and process.info["status"] != psutil.STATUS_ZOMBIE
    ]
