"""Import a provider's SDK without freezing the window.

An SDK creates hundreds of thousands of objects while it is imported, and each of them counts towards the next full
garbage collection: with the collector on, a window that draws meanwhile stalls for about 100 ms; with it off, and the
new objects frozen afterwards, for about 12 ms.
"""

import gc
import importlib
import sys
import threading

ANTHROPIC = ("anthropic", "anyio._backends._asyncio")
"""The SDK, and what its first request would otherwise import in the middle of the event loop."""

_lock = threading.Lock()


def import_sdk(modules: tuple[str, ...]) -> None:
    """Import `modules` if they are not yet; any thread may call this, and only the first call takes time.

    Takes 0.5 to 1.5 s. Call it from a thread once the window is drawn; the provider does so by itself otherwise.
    """
    with _lock:  # Two threads that switch the collector off and on would undo each other.
        missing = [name for name in modules if name not in sys.modules]
        if not missing:
            return
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            for name in missing:
                importlib.import_module(name)
            gc.freeze()
        finally:
            if was_enabled:
                gc.enable()
