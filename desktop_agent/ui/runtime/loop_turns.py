"""Tells when the event loop begins to work and when it begins to wait.

On Windows and macOS, Qt's dispatcher says so itself. With GLib's main loop, which Qt has on Linux, it says `awake` only
after it has done everything that ended the wait, so that no work would be seen at all. There, the function that waits
is replaced, as GLib lets a program do.
"""

import ctypes
from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QAbstractEventDispatcher

_GLIB: Final = "libglib-2.0.so.0"
_POLL: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int, use_errno=True)
"""GLib's `GPollFunc`: descriptors, their number, and the longest wait in ms; returns how many are ready. GLib looks at
`errno` after it, which is a signal's at times: what we do in between must not change it."""

_MAIN_CONTEXT: Final = None
"""The default one, which Qt uses on the main thread."""

_given: Final[list[object]] = []
"""What GLib was given to call. It keeps no reference, and calling what has been freed ends the process."""


def follow_loop(*, works: Callable[[], None], rests: Callable[[], None]) -> Callable[[], None]:
    """Call `works` and `rests` whenever this thread's loop begins with either, until the function returned is called.

    To be called on the main thread. Both are called some hundred times a second while the window works, and must not
    raise. Qt's loop without GLib (`QT_NO_GLIB=1`) does not tell of the work of timers.
    """
    dispatcher = QAbstractEventDispatcher.instance()
    if "Glib" in str(dispatcher.metaObject().className()) and (glib := _load_glib()) is not None:
        return _follow_glib(glib, works, rests)
    dispatcher.awake.connect(works)
    dispatcher.aboutToBlock.connect(rests)

    def stop() -> None:
        dispatcher.awake.disconnect(works)
        dispatcher.aboutToBlock.disconnect(rests)

    return stop


def _load_glib() -> ctypes.CDLL | None:
    """The library that Qt has loaded already."""
    try:
        return ctypes.CDLL(_GLIB)
    except OSError:
        return None


def _follow_glib(glib: ctypes.CDLL, works: Callable[[], None], rests: Callable[[], None]) -> Callable[[], None]:
    glib.g_main_context_get_poll_func.argtypes = [ctypes.c_void_p]
    glib.g_main_context_get_poll_func.restype = _POLL
    glib.g_main_context_set_poll_func.argtypes = [ctypes.c_void_p, _POLL]
    glib.g_main_context_set_poll_func.restype = None
    wait = glib.g_main_context_get_poll_func(_MAIN_CONTEXT)

    def wait_between(descriptors: int, number: int, at_most_ms: int) -> int:
        rests()
        ready: int = wait(descriptors, number, at_most_ms)
        works()
        return ready

    replacement = _POLL(wait_between)
    _given.append(replacement)
    glib.g_main_context_set_poll_func(_MAIN_CONTEXT, replacement)

    def stop() -> None:
        glib.g_main_context_set_poll_func(_MAIN_CONTEXT, wait)

    return stop
