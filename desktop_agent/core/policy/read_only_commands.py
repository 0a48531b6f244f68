"""Tells which commands only read, by a table of programs with the options and words that do more."""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from desktop_agent.core.base.regex import regex
from desktop_agent.core.policy.segments import SEEN_THROUGH, ParsedCommand, Segment

HARMLESS_VARIABLES = frozenset({
    "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "TZ", "TERM",
    "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI", "RUST_BACKTRACE",
    "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING", "PYTHONUTF8", "QT_QPA_PLATFORM", "DEBUG",
    "VERBOSE",
})  # fmt: skip

_LOCAL_NAME = regex(r"[a-z][a-z0-9]{0,15}")
_TIED_NAMES = frozenset({"path", "fpath", "cdpath", "manpath", "mailpath", "prompt", "argv", "status", "histchars"})


class Reader(Struct, frozen=True):
    letters: str = ""
    longs: tuple[str, ...] = ()
    """Without `--`. Their abbreviations count, too, because programs accept them."""
    most_files: int | None = None
    """How many operands the program may have, because it writes to further ones."""


_HARMLESS = Reader()

READERS: dict[str, Reader] = {
    **dict.fromkeys(
        (
            "ls", "cat", "head", "tail", "wc", "nl", "grep", "egrep", "fgrep", "stat", "du", "df", "pwd", "echo", "id",
            "whoami", "groups", "uname", "which", "basename", "dirname", "realpath", "readlink", "cut", "tr", "tac",
            "rev", "fold", "expand", "unexpand", "paste", "comm", "join", "od", "hexdump", "strings", "cksum", "md5sum",
            "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "md5", "shasum", "cmp", "jq",
            "nproc", "printenv", "tty", "column", "seq", "true", "false", ":", "cd", "type", "sleep", "exit",
            "return", "break", "continue", "uptime", "free", "tsort", "look", "sum",
        ),
        _HARMLESS,
    ),
    "sort": Reader("oTS", ("output", "compress-program", "temporary-directory", "buffer-size")),
    "uniq": Reader(most_files=1),
    "arch": Reader("abcdefghijklmnopqrstuvwxyz", most_files=0),  # on macOS it starts what follows
    "tree": Reader("oR", ("output",)),
    "file": Reader("CzZp", ("compile", "uncompress", "uncompress-noreport", "preserve-date")),
    "rg": Reader("z", ("pre", "hostname-bin", "search-zip")),
    "diff": Reader("l", ("paginate",)),
    "hostname": Reader("bFy", ("boot", "file", "nis", "yp", "domain"), most_files=0),
    "env": Reader("uiSCv", ("unset", "chdir", "split-string", "ignore-environment"), most_files=0),
    "fd": Reader("xXcl", ("exec", "exec-batch", "list-details")),
    "locale": Reader(),
    "getconf": Reader("v"),
}  # fmt: skip

VERSION_OF = frozenset({
    "python", "python3", "pip", "pip3", "node", "npm", "git", "cargo", "rustc", "ruby", "gcc", "g++", "clang", "make",
    "cmake", "docker", "uv", "ruff", "bash", "zsh", "perl", "php", "rg", "jq", "sqlite3", "go", "java", "curl", "gh",
})  # fmt: skip

GIT_READERS = frozenset({
    "status", "log", "diff", "show", "rev-parse", "ls-files", "blame", "annotate", "describe", "shortlog", "rev-list",
    "ls-tree", "cat-file", "merge-base", "name-rev", "diff-tree", "diff-index", "diff-files", "for-each-ref",
    "show-ref", "show-branch", "count-objects", "grep", "check-ignore", "check-attr", "whatchanged", "version",
    "cherry", "range-diff",
})  # fmt: skip
_GIT_GLOBALS = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"})
_GIT_BAD_LONGS = (
    "output", "output-directory", "ext-diff", "textconv", "filters", "open-files-in-pager", "exec", "show-signature",
    "upload-pack", "ext-grep", "paginate", "batch-command", "help", "remerge-diff",
)  # fmt: skip
"""Options of git that write, run another program (a diff driver, gpg, a pager with `--help`), or store a result."""
_VERIFIES = regex(r"%[-+ ]?G")
"""A placeholder of `--format` that makes gpg verify a signature: `%G?`, `%GK`, `%GS` …"""
_VERIFIES_REF = regex(r"(?<!contents:)signature")
"""The same for refs: `%(signature:grade)`, `--sort=signature`. `contents:signature` only prints it."""
_PLAIN_MERGES = regex(r"=(off|none|on|m|first-parent|1|separate|c|combined|cc|dense-combined)")
_GIT_LISTS: dict[str, re.Pattern[str]] = {
    "branch": regex(
        r"(-a|-r|-v|-vv|-av|-avv|-l|--list|--all|--remotes|--verbose|--show-current|--(no-)?merged|--no-color|--column|"
        r"--sort=\S+|--format=[^%]*)"
    ),
    "tag": regex(r"(-l|--list|-n\d*|--column|--sort=\S+)"),
    "remote": regex(r"(-v|--verbose)"),
    "stash": regex(r"(list|show|-p|--stat|stash@\{\d+\}|\d+)"),
    "reflog": regex(r"(show|-\d+|HEAD|--oneline)"),
    "worktree": regex(r"(list|--porcelain)"),
    "submodule": regex(r"(status|--recursive)"),
    "config": regex(r"(--list|-l|--get|get|list|--local|--show-origin|[\w.-]+)"),
}

_FIND_TESTS = frozenset({
    "-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-regextype", "-type", "-xtype", "-size",
    "-newer", "-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-maxdepth", "-mindepth", "-depth", "-prune",
    "-print", "-print0", "-printf", "-ls", "-empty", "-not", "-and", "-or", "-a", "-o", "-perm", "-user", "-group",
    "-links", "-inum", "-readable", "-writable", "-executable", "-quit", "-follow", "-xdev", "-mount", "-true",
    "-false", "-L", "-H", "-P", "-E", "-s", "-daystart", "-noleaf", "-lname", "-ilname", "-samefile", "-nouser",
})  # fmt: skip

_DATE_WORD = regex(r"\+|--(date=|iso-8601|rfc-3339=|utc)|(-u|-R|-I\w*)\Z")
_SED_COMMAND = regex(r"((\d+|\$|/[^/\\\n]*/)(,(\+?\d+|\$|/[^/\\\n]*/))?!?)?\s*([pdq=lhHgGxDNP]|s(?P<rest>.+))?")
_SED_FLAGS = regex(r"[gpiI0-9]*")


def only_reads(parsed: ParsedCommand) -> bool:
    return not parsed.problems and bool(parsed.segments) and all(map(is_reading, parsed.segments))


def is_reading(segment: Segment) -> bool:
    if any(wrapper not in SEEN_THROUGH and wrapper != "xargs" for wrapper in segment.wrappers):
        return False
    if not all(is_harmless_variable(name) for name, _ in segment.assignments):
        return False
    for redirection in segment.redirections:
        target = redirection.target
        if redirection.is_write or (not target.is_known and redirection.operator != "<<<"):
            return False
        if re.match(r"/+dev/+(tcp|udp)/", target.text):
            return False
    if not segment.parts:
        return True
    if not segment.parts[0].is_known or any(part.kind == "complex" for part in segment.parts):
        return False
    return _reads(segment)


def is_harmless_variable(name: str) -> bool:
    return name in HARMLESS_VARIABLES or (_LOCAL_NAME.fullmatch(name) is not None and name not in _TIED_NAMES)


def _reads(segment: Segment) -> bool:
    program, arguments = segment.words[0], segment.words[1:]
    if check := _SPECIAL.get(program):
        return segment.is_static and check(arguments)
    if program in VERSION_OF and arguments in (("--version",), ("-V",)):
        return True
    if program in ("[", "test", "[["):
        return _is_test(segment)
    if program == "command":
        return len(arguments) > 1 and arguments[0] in ("-v", "-V")
    reader = READERS.get(program)
    if reader is None:
        return False
    return reader == _HARMLESS or (segment.is_static and _is_within(reader, arguments))


def _is_within(reader: Reader, arguments: Sequence[str]) -> bool:
    files = 0
    for argument in arguments:
        if argument.startswith("--"):
            if _is_shortened(argument, reader.longs):
                return False
        elif argument.startswith("-") and argument != "-":
            if any(letter in reader.letters for letter in argument[1:]):
                return False
        else:
            files += 1
    return reader.most_files is None or files <= reader.most_files


def _is_shortened(argument: str, longs: Sequence[str]) -> bool:
    name = argument[2:].partition("=")[0]
    return bool(name) and any(long.startswith(name) for long in longs)


def _git(arguments: Sequence[str]) -> bool:
    index = 0
    while index < len(arguments) and arguments[index] in _GIT_GLOBALS:
        index += 1
    if index == len(arguments):
        return False
    name, rest = arguments[index], arguments[index + 1 :]
    if name == "--version":
        return not rest
    if any(_VERIFIES.search(word) for word in rest):
        return False
    if name in ("for-each-ref", "branch", "tag") and any(_VERIFIES_REF.search(word) for word in rest):
        return False
    if name in _GIT_LISTS:
        return _git_lists(name, rest)
    if name not in GIT_READERS:
        return False
    return all(_is_plain_option(name, word) for word in rest)


def _is_plain_option(command: str, word: str) -> bool:
    if not word.startswith("--"):
        return command != "grep" or re.match(r"-\w*O", word) is None
    if _is_shortened(word, ("diff-merges",)):
        return _PLAIN_MERGES.search(word) is not None
    return not _is_shortened(word, _GIT_BAD_LONGS)


def _git_lists(name: str, rest: Sequence[str]) -> bool:
    if not all(_GIT_LISTS[name].fullmatch(word) for word in rest):
        return False
    match name:
        case "stash" | "worktree" | "submodule":
            return bool(rest) and rest[0] in ("list", "show", "status")
        case "config":
            words = [word for word in rest if not word.startswith("-")]
            return (bool({"--list", "-l"} & set(rest)) and not words) or (
                rest[:1] in (("--get",), ("get",)) and len(rest) == 2
            )
        case _:
            return True


def _sed(arguments: Sequence[str]) -> bool:
    """Whether the arguments are `[-nEru] SCRIPT FILE…` with a script of printing commands only."""
    index = 0
    while index < len(arguments) and re.fullmatch(r"-[nEru]+", arguments[index]):
        index += 1
    if index >= len(arguments) or any(word.startswith("-") and word != "-" for word in arguments[index:]):
        return False
    return all(_is_plain_sed(command.strip()) for command in re.split(r"[;\n]", arguments[index]))


def _is_plain_sed(command: str) -> bool:
    match = _SED_COMMAND.fullmatch(command)
    if match is None:
        return False
    rest = match["rest"]
    if rest is None:
        return True
    parts = re.split(rf"(?<!\\){re.escape(rest[0])}", rest[1:])
    return (
        rest[0] in "/|#,:@!" and "\\\\" not in rest and len(parts) == 3 and _SED_FLAGS.fullmatch(parts[2]) is not None
    )


def _is_test(segment: Segment) -> bool:
    """Whether a test only compares values or checks files. With `-v` and `-R`, it evaluates a name.

    `[` takes its operators from its arguments, so an unknown word, unless it is a quoted operand, could be `-v`.
    """
    parts = segment.parts[1:]
    if any(part.text in ("-v", "-R", "<", ">") or "$(" in part.text or "`" in part.text for part in parts):
        return False
    if segment.program == "[[" or segment.is_static:
        return True
    parts = parts[:-1] if parts and parts[-1].text == "]" else parts
    parts = parts[1:] if parts and parts[0].text == "!" else parts
    if not all(part.is_known or _QUOTED.fullmatch(part.text) for part in parts):
        return False
    operator = {2: 0, 3: 1}.get(len(parts))
    return len(parts) == 1 or (operator is not None and parts[operator].text in _OPERATORS[len(parts)])


_QUOTED = regex(r'"[^"]*"')
_OPERATORS = {
    2: frozenset({f"-{letter}" for letter in "abcdefghknoprstuwxzGLNOS"}),
    3: frozenset({"=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"}),
}


def _printf(arguments: Sequence[str]) -> bool:
    words = arguments[1:] if arguments[:1] == ("--",) else arguments
    return bool(words) and not words[0].startswith("-") and _FORMAT.fullmatch(words[0]) is not None


_FORMAT = regex(r"([^%]|%%|%[-+ #0']*(\*|\d+)?(\.(\*|\d*))?([hlLjzt]*[diouxXeEfFgGaAcsbqQ]|\([^()]*\)T))*", re.DOTALL)

_SPECIAL: dict[str, Callable[[Sequence[str]], bool]] = {
    "find": lambda words: all(w[:1] != "-" or w in _FIND_TESTS or re.fullmatch(r"-\d+|-O\d", w) for w in words),
    "git": _git,
    "date": lambda words: all(_DATE_WORD.match(word) for word in words),
    "sed": _sed,
    "set": bool,  # any other form than `set -euo pipefail` is a problem of the whole line
    "printf": _printf,
}
