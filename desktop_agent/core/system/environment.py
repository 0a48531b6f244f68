"""Removes credentials from the environment of child processes, and from our own, by names and by values."""

import os
import re
import sys
from collections.abc import Collection, Mapping, MutableMapping
from functools import partial
from pathlib import Path
from traceback import format_exception
from types import TracebackType

from desktop_agent.core.base.regex import regex
from desktop_agent.core.base.secrets import is_key, is_secret_name, mask, secrets_in

_NEEDED = frozenset({"PATH", "HOME", "PWD", "OLDPWD", "SHELL", "USER", "LOGNAME", "LANG", "TERM", "TMPDIR"})

_LONGEST_VALUE = 256 * 1024

_USER = r"[^\s/?#@:\"'\[\]]*"
# Compiled for the first command: that takes 2 ms, and is not needed to start.
_IN_ADDRESS = rf"""
      ://{_USER}:(?!\d{{1,5}}(?:[/?\#\s,;"']|$))[^\s"']+@          # postgres://user:password@host
    | ://(?=[^\s/@:]*\d)(?=[^\s/@:]*[A-Za-z])[\w.~+%=-]{{20,}}@    # https://token@host
    | \bjdbc:[^\s/@]*:[^\s/@]+/[^\s/@]+@                            # jdbc:oracle:thin:user/password@host
    | ^[^\s:@/=]+:[^\s@/]+@(?:tcp|udp|unix)\(                       # Go's database/sql
    | ^[^\s:@/=]+:[^\s@/]+@(?!sha\d)[\w-]+(?:\.[\w-]+)*(?::\d+)?(?:/\S*)?$    # user:password@host
    """
_IN_PARAMETER = r"""
    (?:^|[?&;,:/\s{"'(])
    (?:[\w.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|account[_ -]?key|private[_-]?key
      |shared[_ ]?access[_ ]?(?:key|signature)|credentials?)|pwd|sig|auth|_authToken|_auth)
    ["']?\s*[=:]\s*["']?(?![\s"'&;,)]|\$|%\w+%|/|\d{1,3}(?:[\s"'&;,)}]|$)|(?:true|false|null|none|yes|no)\b)[^\s"'&;]{3,}
    """
_HEADER = r"\b(?:bearer|basic|token)\s+[\w.~+/=-]{16,}"
_BETWEEN = regex(r"[\s,;|\"'=]+")

_LEADS_OUT = regex(
    r"SSH_AUTH_SOCK|SSH_AGENT_PID|SSH_ASKPASS|SSH_ASKPASS_REQUIRE|SSH_CONNECTION|SSH_CLIENT|SSH_TTY|GPG_AGENT_INFO|GPG_TTY"
    r"|GIT_ASKPASS|SUDO_ASKPASS|DBUS_\w+_ADDRESS|DBUS_STARTER\w*|DISPLAY|WAYLAND_DISPLAY|WAYLAND_SOCKET|XAUTHORITY"
    r"|ICEAUTHORITY|SESSION_MANAGER|XDG_RUNTIME_DIR|XDG_SESSION_ID|XDG_ACTIVATION_TOKEN|DESKTOP_STARTUP_ID|KRB5CCNAME"
    r"|KRB5_CLIENT_KTNAME|DOCKER_HOST|DOCKER_CERT_PATH|CONTAINER_HOST|PODMAN_HOST|TMUX|TMUX_PANE|STY|WINDOW"
    r"|\w+_SOCKET|\w+_SOCK|\w+SOCK|KITTY_LISTEN_ON|KITTY_PUBLIC_KEY|NVIM|NVIM_LISTEN_ADDRESS|VIM_SERVERNAME"
    r"|VSCODE_\w+|CURSOR_TRACE_ID|GNOME_KEYRING_\w+|GNOME_TERMINAL_\w+|KONSOLE_DBUS_\w+|PULSE_SERVER|PULSE_COOKIE"
    r"|PIPEWIRE_REMOTE|NOTIFY_SOCKET|LISTEN_FDS|LISTEN_PID|LISTEN_FDNAMES|JOURNAL_STREAM|P11_KIT_SERVER_ADDRESS"
    r"|HYPRLAND_INSTANCE_SIGNATURE|AT_SPI_BUS_ADDRESS|BROWSER|KDE_SESSION_\w+"
)
"""Names that lead to agents, buses, screens, terminals and editors listening outside the sandbox."""


def child_environment(environ: Mapping[str, str], passed: Collection[str] = ()) -> dict[str, str]:
    kept_back = kept_back_from(environ, passed)
    return {name: value for name, value in environ.items() if name not in kept_back}


def kept_back_from(environ: Mapping[str, str], passed: Collection[str] = ()) -> dict[str, str]:
    """Return the variables that commands do not get, each with the reason in a few words."""
    found = {name: _reason(name, value) for name, value in environ.items() if name not in passed}
    return {name: reason for name, reason in found.items() if reason}


def confined_environment(
    environ: Mapping[str, str], own: Mapping[str, str], passed: Collection[str] = ()
) -> dict[str, str]:
    """Return the environment of a sandboxed command: without variables that lead out of the sandbox.

    A variable whose value differs from `own`, the application's environment, was set by the model, and stays.
    """
    return {
        name: value
        for name, value in environ.items()
        if not leads_out(name) or name in passed or own.get(name) != value
    }


def leading_out(environ: Mapping[str, str], passed: Collection[str] = ()) -> dict[str, str]:
    names = (name for name, value in environ.items() if value and leads_out(name) and name not in passed)
    return dict.fromkeys(names, "it leads out of the sandbox")


def leads_out(name: str) -> bool:
    return _LEADS_OUT.fullmatch(name) is not None


def _reason(name: str, value: str) -> str:
    if name in _NEEDED or not value:
        return ""
    if is_secret_name(name):
        return "named like a credential"
    if len(value) > _LONGEST_VALUE:
        return "too long to be looked through"
    if re.search(_IN_ADDRESS, value, re.VERBOSE):
        return "an address with a password"
    if is_key(value) or any(is_key(part) for part in _BETWEEN.split(value)) or re.search(_HEADER, value, re.IGNORECASE):
        return "a key"
    return "a password among parameters" if re.search(_IN_PARAMETER, value, re.VERBOSE | re.IGNORECASE) else ""


BUS_VARIABLE = "DBUS_SESSION_BUS_ADDRESS"
_NO_BUS = "disabled:"
"""There is no transport of this name, so a library that is asked to connect fails instead of starting a bus."""


def take_environment() -> Mapping[str, str]:
    """Return the original environment, and remove credentials from the live one and the kernel's copy.

    Call this once, before anything else, in a process of our own. On Linux, no library can start a bus afterwards.
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
    sys.stderr.write(mask("".join(format_exception(kind, error, trace)), secrets_in(environ)))


def name_bus(environ: MutableMapping[str, str]) -> None:
    """Name the running session bus, or an address that fails: otherwise libdbus may start a bus."""
    if environ.get(BUS_VARIABLE):
        return
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    socket = Path(runtime) / "bus"
    environ[BUS_VARIABLE] = f"unix:path={socket}" if runtime and socket.is_socket() else _NO_BUS


def _wipe(name: str) -> None:
    """Overwrite the value in `/proc/self/environ`. `del os.environ[name]` would only drop the pointer."""
    if sys.platform == "win32":
        return
    import ctypes  # takes 5 ms to import; only an environment with keys needs it

    library = ctypes.CDLL(None)
    library.getenv.restype = ctypes.c_void_p
    address = library.getenv(os.fsencode(name))
    if address:
        ctypes.memset(address, 0, len(ctypes.string_at(address)))
