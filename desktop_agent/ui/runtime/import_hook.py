"""PySide's import hook, taken off.

WORKAROUND PySide6 6.11: importing PySide6 replaces `builtins.__import__` by a function that reads the *source* of every
module imported afterwards, to see whether it uses `__feature__`. We never do, and it makes importing the core a third
slower. Retest with each new PySide6; harmless where the hook is absent.
"""

import builtins


def remove_import_hook() -> None:
    """Give the interpreter its own import function back."""
    original = getattr(builtins, "__orig_import__", None)
    if original is not None:
        builtins.__import__ = original
