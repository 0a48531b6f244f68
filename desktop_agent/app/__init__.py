"""The window as an application: `build` assembles it, `main` runs it.

Only this package depends on every concrete class. The window is painted before the core is imported; see
`docs/architecture.md`.
"""

import builtins

import PySide6

# WORKAROUND PySide6 6.11: importing PySide6 replaces `builtins.__import__` by a function that reads the *source* of
# every module imported afterwards, to see whether it uses `__feature__`. We never do, and it makes all that follows a
# third slower. Retest with each new PySide6; harmless where the hook is absent.
assert PySide6
builtins.__import__ = getattr(builtins, "__orig_import__", builtins.__import__)

from desktop_agent.app.startup.window import Window, build, main  # noqa: E402 - quicker without the hook

__all__ = ["Window", "build", "main"]
