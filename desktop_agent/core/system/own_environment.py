"""Our own environment, once it is a process of ours: keys leave it, a crash prints none, no session bus is started.

Everything that a process starts inherits its environment: a helper that some library starts (`dbus-launch`, an editor,
a browser) would get the keys, and may outlive us. So an entry point of ours takes them out before anything else runs,
and hands them to what needs them. In another program's process (`desktop_agent` used as a library) nothing is
taken: the environment is that program's.
"""

import os
import sys
from collections.abc import Mapping, MutableMapping
from functools import partial
from pathlib import Path
from types import TracebackType

from desktop_agent.core.base.secrets import is_key, is_secret_name, mask, secrets_in

BUS_VARIABLE = "DBUS_SESSION_BUS_ADDRESS"
_NO_BUS = "disabled:"
"""No transport of this name exists, so a library that is asked to connect fails instead of starting a bus."""


def take_environment() -> Mapping[str, str]:
    """Return the environment as it was, and leave in it neither secrets nor a reason to start a session bus.

    Call it once, first of all, in a process of our own. What the kernel shows of the environment is wiped, too.
    """
    whole = dict(os.environ)
    sys.excepthook = partial(_say_without_keys, whole)
    for name, value in whole.items():
        if is_secret_name(name) or is_key(value):
            _wipe(name)
            del os.environ[name]
    if sys.platform.startswith("linux"):
        name_bus(os.environ)
    return whole


def _say_without_keys(
    environ: Mapping[str, str], kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print the traceback of an exception that nothing handled, whose message may quote anything."""
    from traceback import format_exception

    sys.stderr.write(mask("".join(format_exception(kind, error, trace)), secrets_in(environ)))


def name_bus(environ: MutableMapping[str, str]) -> None:
    """Name the session bus that runs, or none: libdbus starts one for a program with a display that names none."""
    if environ.get(BUS_VARIABLE):
        return
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    socket = Path(runtime) / "bus"
    environ[BUS_VARIABLE] = f"unix:path={socket}" if runtime and socket.is_socket() else _NO_BUS


def _wipe(name: str) -> None:
    """Overwrite a value where the kernel shows it (`/proc/self/environ`): deleting it only drops the pointer to it."""
    if sys.platform == "win32":
        return
    import ctypes  # 5 ms that only an environment with keys costs

    library = ctypes.CDLL(None)
    library.getenv.restype = ctypes.c_void_p
    address = library.getenv(os.fsencode(name))
    if address:
        ctypes.memset(address, 0, len(ctypes.string_at(address)))
