"""Imports a provider's SDK, which takes 0.5 to 1.5 s: in a thread, once the window is drawn or a request needs it."""

import importlib

ANTHROPIC = ("anthropic", "anyio._backends._asyncio")
"""The SDK, and what its first request would otherwise import in the middle of the event loop."""


def import_sdk(modules: tuple[str, ...]) -> None:
    """Import `modules`; only the first call takes time. Any thread may call this."""
    for name in modules:
        importlib.import_module(name)
