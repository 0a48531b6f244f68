"""Settings files with one mistake each, beside `sandbox = "strict"` and blocked commands that must not be dropped."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

STRICT = b'[execution]\nsandbox = "strict"\nblocked_commands = ["rm"]\n'
"""What the user wanted. Every mistake stands behind it, on line 4 and later, unless it is in it."""


@dataclass(frozen=True, slots=True)
class Broken:
    """One broken file: what stands in it, and the place and the words that name the mistake."""

    name: str
    content: bytes
    place: str
    """What follows the path of the file in the message."""
    says: str = ""


def _behind(name: str, text: str, place: str, says: str = "") -> Broken:
    return Broken(name, STRICT + text.encode(), place, says)


def _instead(name: str, text: str, place: str, says: str = "") -> Broken:
    return Broken(name, text.encode(), place, says)


BROKEN_FILES: tuple[Broken, ...] = (
    _instead(
        "misspelt choice", '[execution]\nsandbox = "strct"\n', ":2: execution.sandbox", "restricted, strict, none"
    ),
    _behind("unclosed header", "[ui\n", ":4", "is not valid TOML"),
    _behind("value missing", "timeout_seconds =\n", ":4", "is not valid TOML"),
    _behind("key twice", 'sandbox = "none"\n', "", "is not valid TOML"),
    _behind("section twice", '[ui]\n[execution]\napproval = "never"\n', "", "is not valid TOML"),
    _behind("unquoted", "approval = always\n", ":4", "is not valid TOML"),
    _behind("control character", "\x00", ":4", "is not valid TOML"),
    _behind("nested too deeply", "x = " + "[" * 9_000 + "\n", "", "is not valid TOML"),
    _behind("number of thousands of digits", f"timeout_seconds = {'9' * 9_000}\n", "", "is not valid TOML"),
    Broken("not UTF-8", STRICT + b"# \xff\n", "", "cannot be read"),
    Broken("UTF-16", STRICT.decode().encode("utf-16"), "", "cannot be read"),
    Broken("too large", STRICT + b"# " + b"x" * 2**21, "", "larger than"),
    _instead("misspelt key", '[execution]\nsanbox = "strict"\n', ":2: execution.sanbox", "execution.sandbox"),
    _instead(
        "misspelt list", '[execution]\nblocked_comands = ["rm"]\n', ":2: execution.blocked_comands", "blocked_commands"
    ),
    _instead("half a name", '[execution]\nblocked = ["rm"]\n', ":2: execution.blocked", "blocked_commands"),
    _instead(
        "hyphens", '[execution]\nblocked-commands = ["rm"]\n', ":2: execution.blocked-commands", "blocked_commands"
    ),
    _instead("capitals", '[execution]\nSandbox = "strict"\n', ":2: execution.Sandbox", "execution.sandbox"),
    _instead("misspelt section", '[exection]\nsandbox = "strict"\n', ":1: exection", "execution"),
    _instead("capital section", '[Execution]\nsandbox = "strict"\n', ":1: Execution", "execution"),
    _instead("no section", 'sandbox = "strict"\n', ":1: sandbox", "execution.sandbox"),
    _instead("misspelt, no section", 'aproval = "always"\n', ":1: aproval", "execution.approval"),
    _instead(
        "another section", '[ui]\nblocked_commands = ["rm"]\n', ":2: ui.blocked_commands", "execution.blocked_commands"
    ),
    _instead("an unknown section", '[security]\nsandbox = "strict"\n', ":2: security.sandbox", "execution.sandbox"),
    _instead("section in a section", '[model.execution]\nsandbox = "strict"\n', ":1: model.execution", "execution"),
    _instead("section is a number", "execution = 3\n", ":1: execution", "must be a section"),
    _instead("section is a list", '[[execution]]\nsandbox = "strict"\n', ":1: execution", "must be a section"),
    _instead("inner section is a number", "[tools]\nlimits = 3\n", ":2: tools.limits", "must be a section"),
    _instead("misspelt inner section", "[tool.limits]\nmax_lines = 7\n", ":1: tool", "tools"),
    _instead("choice is a number", "[execution]\nsandbox = 3\n", ":2: execution.sandbox", "restricted, strict, none"),
    _instead(
        "choice is a list", '[execution]\nsandbox = ["strict"]\n', ":2: execution.sandbox", "restricted, strict, none"
    ),
    _instead(
        "choice is a table", "[execution.sandbox]\nstrict = true\n", ":1: execution.sandbox", "restricted, strict, none"
    ),
    _instead("choice is true", "[execution]\napproval = true\n", ":2: execution.approval", "always, on_write"),
    _instead(
        "list is a number", "[execution]\nblocked_commands = 3\n", ":2: execution.blocked_commands", "a list of texts"
    ),
    _instead(
        "list of numbers", "[execution]\nblocked_commands = [1]\n", ":2: execution.blocked_commands", "a list of texts"
    ),
    _instead(
        "list of lists",
        '[execution]\nblocked_commands = [["rm"]]\n',
        ":2: execution.blocked_commands",
        "a list of texts",
    ),
    _instead(
        "list is a table",
        "[execution.blocked_commands]\nrm = true\n",
        ":1: execution.blocked_commands",
        "a list of texts",
    ),
    _instead(
        "NUL in a list", '[execution]\nblocked_commands = ["r\\u0000m"]\n', ":2: execution.blocked_commands", "NUL"
    ),
    _instead(
        "folder of an unknown user",
        '[execution]\nallowed_paths = ["~nobody-has-this/x"]\n',
        ":2: execution.allowed_paths",
        "path",
    ),
    _instead("time is a word", '[execution]\ntimeout_seconds = "soon"\n', ":2: execution.timeout_seconds", "a number"),
    _instead(
        "time is negative", "[execution]\ntimeout_seconds = -3\n", ":2: execution.timeout_seconds", "greater than 0"
    ),
    _instead("time is nan", "[execution]\ntimeout_seconds = nan\n", ":2: execution.timeout_seconds", "greater than 0"),
    _instead(
        "quoted negative time",
        '[execution]\ntimeout_seconds = "-3"\n',
        ":2: execution.timeout_seconds",
        "greater than 0",
    ),
    _instead("limit is zero", "[tools.limits]\nmax_lines = 0\n", ":2: tools.limits.max_lines", "greater than 0"),
    _instead(
        "limit is a fraction", "[tools.limits]\nmax_lines = 1.5\n", ":2: tools.limits.max_lines", "a whole number"
    ),
    _instead("misspelt limit", "[tools.limits]\nmax_line = 7\n", ":2: tools.limits.max_line", "tools.limits.max_lines"),
    _instead("copies", '[safety_copy]\nmax_mib = "much"\n', ":2: safety_copy.max_mib", "a whole number"),
    _instead("turns of a run", "[runner]\nmax_turns = 0\n", ":2: runner.max_turns", "greater than 0"),
    _instead("tools of a run", "[runner]\nblocked_tools = 3\n", ":2: runner.blocked_tools", "a list of texts"),
    _instead(
        "misspelt tools of a run", '[runner]\nblock_tools = ["x"]\n', ":2: runner.block_tools", "runner.blocked_tools"
    ),
    _instead("dry run is a word", '[runner]\ndry_run = "yes"\n', ":2: runner.dry_run", "true or false"),
    _instead("provider", '[model]\nprovider = "skynet"\n', ":2: model.provider", "anthropic, openai"),
    _instead("address", "[model]\nbase_url = 3\n", ":2: model.base_url", "is not text"),
    _instead("thousands of unknown keys", "[ui]\n" + "".join(f"k{n} = 1\n" for n in range(5_000)), "", "more than"),
)


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.mkdir()


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def _circle(path: Path) -> None:
    path.symlink_to(path.name)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.write(STRICT)
        file.truncate(100 * 2**20)


NO_FILES: dict[str, Callable[[Path], None]] = {
    "pipe": _pipe, "folder": _folder, "dangling link": _dangling, "circle": _circle, "device": _device, "huge": _huge,
}  # fmt: skip
"""What stands in the place of the file and cannot be read as one, and must not be waited for."""
