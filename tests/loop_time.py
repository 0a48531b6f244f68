"""Time that passes when a test says so: for limits that must not pass before something else has happened."""

import asyncio


def let_time_pass(seconds: float) -> None:
    """Put the running loop's clock forward: whatever waits for no longer than that is due at once."""
    loop = asyncio.get_running_loop()
    now = loop.time
    loop.time = lambda: now() + seconds  # pyright: ignore[reportAttributeAccessIssue] - each test has a loop of its own
