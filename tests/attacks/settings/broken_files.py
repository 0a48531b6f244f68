"""Settings files with one mistake each, beside `sandbox = "strict"` and blocked commands that must stay in force."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

STRICT = b'[execution]\nsandbox = "strict"\nblocked_commands = ["rm"]\n'
"""The user's settings. Mistakes follow from line 4 on, or are in one of these lines."""


@dataclass(frozen=True, slots=True)
class Broken:
    name: str
    content: bytes
    place: str
    """The message's text after the file's path."""
    says: str = ""


def _behind(name: str, text: str, place: str, says: str = "") -> Broken:
    return Broken(name, STRICT + text.encode(), place, says)


def _instead(name: str, text: str, place: str, says: str = "") -> Broken:
    return Broken(name, text.encode(), place, says)


def _execution(name: str, line: str, says: str) -> Broken:
    return _instead(name, f"[execution]\n{line}\n", f":2: execution.{line.partition(' ')[0]}", says)


BROKEN_FILES: tuple[Broken, ...] = (
    _execution("misspelt choice", 'sandbox = "strct"', "restricted, strict, none"),
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
    _execution("misspelt key", 'sanbox = "strict"', "execution.sandbox"),
    _execution("misspelt list", 'blocked_comands = ["rm"]', "blocked_commands"),
    _execution("half a name", 'blocked = ["rm"]', "blocked_commands"),
    _execution("hyphens", 'blocked-commands = ["rm"]', "blocked_commands"),
    _execution("capitals", 'Sandbox = "strict"', "execution.sandbox"),
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
    _execution("choice is a number", "sandbox = 3", "restricted, strict, none"),
    _execution("choice is a list", 'sandbox = ["strict"]', "restricted, strict, none"),
    _instead(
        "choice is a table", "[execution.sandbox]\nstrict = true\n", ":1: execution.sandbox", "restricted, strict, none"
    ),
    _execution("choice is true", "approval = true", "always, on_write"),
    _execution("list is a number", "blocked_commands = 3", "a list of texts"),
    _execution("list of numbers", "blocked_commands = [1]", "a list of texts"),
    _execution("list of lists", 'blocked_commands = [["rm"]]', "a list of texts"),
    _instead(
        "list is a table",
        "[execution.blocked_commands]\nrm = true\n",
        ":1: execution.blocked_commands",
        "a list of texts",
    ),
    _execution("NUL in a list", 'blocked_commands = ["r\\u0000m"]', "NUL"),
    _execution("folder of an unknown user", 'allowed_paths = ["~nobody-has-this/x"]', "path"),
    _execution("time is a word", 'timeout_seconds = "soon"', "a number"),
    _execution("time is negative", "timeout_seconds = -3", "greater than 0"),
    _execution("time is nan", "timeout_seconds = nan", "greater than 0"),
    _execution("quoted negative time", 'timeout_seconds = "-3"', "greater than 0"),
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
    _instead("provider", '[model]\nprovider = "skynet"\n', ":2: model.provider", "anthropic, bedrock"),
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
