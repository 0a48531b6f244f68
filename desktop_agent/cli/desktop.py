"""`desktop-agent desktop`: the entry in the menu of a Linux desktop, with icons, links to sessions and folders."""

import argparse
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from desktop_agent.cli.console import Console
from desktop_agent.core.base.errors import UsageError, storage_error
from desktop_agent.core.base.paths import APP_NAME, resource_path
from desktop_agent.core.system.file_writes import write_atomically

ENTRY = f"applications/{APP_NAME}.desktop"
"""The path below a folder of shared data, such as `~/.local/share`."""

_ENTRY = """\
[Desktop Entry]
Type=Application
Version=1.4
Name=Desktop Agent
GenericName=Coding Assistant
GenericName[de]=Programmierassistent
GenericName[zh_CN]=编程助手
Comment=Chat with a coding agent, and review and undo each of its changes
Comment[de]=Mit einem Programmieragenten chatten und jede seiner Änderungen prüfen und zurücknehmen
Comment[zh_CN]=与编程助手对话，审阅并撤销它的每一处更改
Exec={program} %u
Icon={name}
Terminal=false
StartupNotify=true
StartupWMClass={name}
Categories=Development;IDE;
Keywords=code;agent;AI;diff;review;
MimeType=x-scheme-handler/{name};inode/directory;
"""
_REFRESHES = (("update-desktop-database", "-q", "applications"), ("gtk-update-icon-cache", "-q", "-t", "icons/hicolor"))
"""The programs that tell a running desktop of changes, with their arguments. Not every desktop has or needs them."""
_REFRESH_S = 20.0


def main(args: argparse.Namespace, console: Console) -> None:
    """Make or remove the entry for this user. Blocks. Raises `UsageError` where there is no such menu."""
    if not sys.platform.startswith("linux"):
        raise UsageError("Only desktops on Linux have such entries.", hint="Start it by its name: `desktop-agent`.")
    named = Path(os.environ.get("XDG_DATA_HOME", ""))
    share = named if named.is_absolute() else Path.home() / ".local/share"
    if args.action == "install":
        done = install(share, own_program())
        words = "Desktop Agent is in the menu now. Links to sessions and folders open in it."
    else:
        done = uninstall(share)
        words = "Desktop Agent is no longer in the menu." if done else "Desktop Agent was not in the menu."
    if done:
        for name, *options, folder in _REFRESHES:
            if (program := shutil.which(name)) is not None and (share / folder).is_dir():
                with suppress(OSError, subprocess.TimeoutExpired):  # the desktop notices later
                    subprocess.run(  # noqa: S603, TID251 - a desktop's own program, without a loop
                        [program, *options, str(share / folder)], check=False, capture_output=True, timeout=_REFRESH_S
                    )
    console.result({"files": [str(path) for path in done]}, "\n".join([words, *(f"  {path}" for path in done)]))


def own_program() -> Path:
    """Return the program that starts this application. Raises `UsageError` if there is no such program."""
    if getattr(sys, "frozen", False):
        return Path(sys.executable)
    beside = Path(sys.executable).with_name(APP_NAME)
    if beside.is_file():
        return beside
    raise UsageError(f"There is no program {APP_NAME} beside {sys.executable}.", hint="Install the package first.")


def install(share: Path, program: Path) -> list[Path]:
    """Write the entry and its icons below `share`, replacing older ones. Return the files.

    Raises `UsageError` for a program that no entry can name, and `StorageError`.
    """
    if "%" in str(program):  # desktops look for the file before they read `%%` as one sign
        raise UsageError(f"No menu can start {program}.", hint="Install it in a folder without a % in its name.")
    contents = {share / path: source.read_bytes() for path, source in _icons().items()}
    contents[share / ENTRY] = _ENTRY.format(program=_quoted(program), name=APP_NAME).encode()
    with storage_error("The entry of the menu could not be written."):
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content, mode=0o644)
    return list(contents)


def uninstall(share: Path) -> list[Path]:
    """Remove what `install` wrote, and return it."""
    found = [path for path in (share / ENTRY, *(share / icon for icon in _icons())) if path.is_file()]
    for path in found:
        with storage_error("The entry of the menu could not be removed."):
            path.unlink()
        with suppress(OSError):  # a folder that has other files stays
            for folder in path.relative_to(share).parents[:-1]:
                (share / folder).rmdir()
    return found


def _icons() -> dict[str, Path]:
    sized = {
        f"{path.stem}x{path.stem}/apps/{APP_NAME}.png": path for path in sorted(resource_path("icons").glob("*.png"))
    }
    all_sizes = {**sized, f"scalable/apps/{APP_NAME}.svg": resource_path("rest", "icon.svg")}
    return {f"icons/hicolor/{place}": path for place, path in all_sizes.items()}


def _quoted(program: Path) -> str:
    # https://specifications.freedesktop.org/desktop-entry-spec/latest/exec-variables.html
    text = str(program).replace("\\", "\\\\").replace('"', '\\"').replace("`", "\\`").replace("$", "\\$")
    return '"' + text.replace("\\", "\\\\") + '"'
