import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.regex import regex
from desktop_agent.core.policy.shell_words import Word

SYSTEM_FOLDERS = frozenset(
    {"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin"}
)
"""Programs in these folders are the same as those found by their plain names."""

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash"})
OTHER_SHELLS = frozenset({"fish", "csh", "tcsh", "pwsh", "powershell", "cmd", "cmd.exe", "nu", "elvish", "xonsh"})

INTERPRETERS: dict[str, str] = {
    "python": "c", "pypy": "c", "ipython": "c", "perl": "eE", "ruby": "e", "node": "ep", "nodejs": "ep", "bun": "e",
    "php": "rBRE", "lua": "e", "osascript": "e", "Rscript": "e", "tclsh": "", "expect": "c",
}  # fmt: skip

CHANGES_FOLDER = frozenset({"cd", "pushd", "popd", "chdir"})

OPAQUE = frozenset(
    {
        "su", "runuser", "pkexec", "chroot", "unshare", "nsenter", "script", "watch", "parallel", "flock", "strace",
        "ltrace", "gdb", "lldb", "setarch", "linux32", "linux64", "proot", "fakeroot", "systemd-run", "firejail",
        "bwrap", "dbus-run-session", "xvfb-run", "caffeinate", "rlwrap", "unbuffer", "direnv", "entr",
        "start-stop-daemon", "at", "batch", "crontab", "emacs", "vi", "vim", "nvim", "ex", "ed", "m4", "run-parts",
        "perf", "valgrind", "chpst", "setpriv", "capsh", "newgrp", "sg", "hyperfine", "socat", "screen", "tmux",
        "foreach", "repeat",
        # Programs that change rights, limits or namespaces.
        "run0", "please", "machinectl", "systemd-inhibit", "systemd-cat", "aa-exec", "runcon", "cgexec", "fakechroot",
        "cpulimit", "trickle", "faketime", "datefudge", "softlimit", "envdir", "setlock", "setuidgid", "pgrphack",
        "s6-setuidgid", "s6-envdir", "execlineb", "daemonize", "daemon", "nq", "tsp", "dtach", "abduco", "sem",
        "dbus-launch", "ssh-agent", "gpg-agent", "qemu-x86_64", "qemu-i386", "qemu-aarch64", "qemu-arm", "wine",
        "wine64", "box64", "box86", "schedtool", "uclampset", "cset", "jexec", "lxc-attach", "lxc", "vagrant", "mosh",
        "rsh", "pssh", "pdsh", "clush", "ansible", "salt", "logsave", "mispipe", "pee", "heaptrack", "rr", "autoexpect",
        # Terminals, and programs that run a command repeatedly.
        "xterm", "konsole", "gnome-terminal", "alacritty", "kitty", "foot", "x-terminal-emulator", "watchexec",
        "reflex", "nodemon", "cargo-watch", "cmdloop", "aws-vault", "op", "doppler", "dotenv", "foreman", "honcho",
        "envchain",
    }
)  # fmt: skip

SEEN_THROUGH = SHELLS | {
    "env", "nice", "gnice", "ionice", "nohup", "setsid", "time", "timeout", "gtimeout", "stdbuf", "taskset", "chrt",
    "command", "builtin", "exec", "noglob", "nocorrect", "-", "eval", "find", "gfind",
}  # fmt: skip
"""Wrappers that do not change what a command is: not its user, machine, network or libraries."""


class WrapperForm(Struct, frozen=True):
    values: str = ""
    flags: str = ""
    long_values: tuple[str, ...] = ()
    long_flags: tuple[str, ...] = ()
    positionals: int = 0
    takes_assignments: bool = False


_LIMITS = (
    "as", "core", "cpu", "data", "fsize", "locks", "memlock", "msgqueue", "nice", "nofile", "nproc", "rss", "rtprio",
    "rttime", "sigpending", "stack",
)  # fmt: skip
WRAPPERS: dict[str, WrapperForm] = {
    "env": WrapperForm("u", "i0v", ("unset",), ("ignore-environment", "null", "debug"), takes_assignments=True),
    "sudo": WrapperForm(
        "ugpCchrtTUDR",
        "AbEHknPSBisv",
        ("user", "group", "prompt", "chdir", "host", "role", "type"),
        ("non-interactive", "preserve-env", "set-home", "stdin", "login", "shell", "background", "askpass"),
        takes_assignments=True,
    ),
    "doas": WrapperForm("uC", "ns"),
    "nice": WrapperForm("n", "0123456789", ("adjustment",)),
    "ionice": WrapperForm("cn", "t", ("class", "classdata"), ("ignore",)),
    "setsid": WrapperForm("", "cfw", (), ("ctty", "fork", "wait")),
    "time": WrapperForm("", "plv", (), ("portability", "verbose")),
    "timeout": WrapperForm("ks", "v", ("kill-after", "signal"), ("preserve-status", "foreground", "verbose"), 1),
    "stdbuf": WrapperForm("ioe", "", ("input", "output", "error")),
    "prlimit": WrapperForm("op", "", ("output", "pid", *_LIMITS), ("noheadings", "raw", "verbose", *_LIMITS)),
    "numactl": WrapperForm(
        "mNCipPw",
        "lbaH",
        ("membind", "cpunodebind", "physcpubind", "interleave", "preferred", "weighted-interleave"),
        ("localalloc", "balancing", "all"),
    ),
    "choom": WrapperForm("np", "", ("adjust", "pid")),
    "chronic": WrapperForm("", "ev"),
    "ifne": WrapperForm("", "n"),
    "torsocks": WrapperForm("uaP", "qd", ("user", "pass", "address", "port"), ("quiet", "debug", "isolate")),
    "proxychains": WrapperForm("f", "q"),
    "tini": WrapperForm("ep", "sgvw"),
    "dumb-init": WrapperForm("r", "cv", ("rewrite",), ("single-child", "verbose")),
    "gosu": WrapperForm("", "", (), (), 1),
    "taskset": WrapperForm("", "a", (), ("all-tasks",), 1),
    "chrt": WrapperForm("TPD", "abfior", (), ("batch", "fifo", "idle", "other", "rr"), 1),
    "command": WrapperForm("", "p"),
    "exec": WrapperForm("a", "cl"),
    "xargs": WrapperForm(
        "InPLsdEa",
        "0rtpxoi",
        ("max-args", "max-procs", "max-lines", "replace", "delimiter", "arg-file", "max-chars"),
        ("null", "no-run-if-empty", "verbose", "interactive", "exit", "open-tty"),
    ),
}
_WITHOUT_OPTIONS = "nohup eatmydata catchsegv torify builtin coproc noglob nocorrect - busybox toybox"
WRAPPERS.update(dict.fromkeys(_WITHOUT_OPTIONS.split(), WrapperForm()))
_NAMESAKES = {"gnice": "nice", "gtimeout": "timeout", "proxychains4": "proxychains", "su-exec": "gosu"}
WRAPPERS.update((name, WRAPPERS[like]) for name, like in _NAMESAKES.items())

_LOADER = regex(r"ld(-linux|-musl)?[\w.-]*\.so(\.\d+)?")
_LOADER_FORM = WrapperForm(
    "",
    "",
    ("library-path", "preload", "audit", "argv0", "inhibit-rpath", "glibc-hwcaps-prepend", "glibc-hwcaps-mask"),
    ("inhibit-cache", "list", "verify"),
)

_OUR_SHELLS = frozenset({"bash", "rbash", "sh", "dash", "ash"})
"""Shells that read a script as we parse it. zsh and ksh evaluate more of its words."""
_POSIX_SHELLS = frozenset({"sh", "dash", "ash"})
_PIPEFAIL = Word("pipefail")
_SSH_VALUES = "BbcDEeFIiJLlmOopQRSWw"
_ASSIGNMENT = regex(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL | re.ASCII)


class Unwrapped(Struct, frozen=True):
    words: tuple[Word, ...] = ()
    script: str | None = None
    assignments: tuple[tuple[str, str], ...] = ()
    problem: str = ""
    is_beside: bool = False
    """Whether the wrapper also does something itself, so that it counts as a command of its own."""
    is_posix: bool = False
    """Whether the `script` is for a shell that might not know bash's own syntax, or might read it differently."""


def program_name(word: str) -> str:
    if "/" not in word:
        return word
    path = PurePosixPath(word)
    return path.name if str(path.parent) in SYSTEM_FOLDERS and ".." not in path.parts else word


def bare_name(word: str) -> str:
    return word.replace("\\", "/").rpartition("/")[2].casefold().removesuffix(".exe")


def unwrap(words: Sequence[Word]) -> tuple[Unwrapped, ...]:
    if not words or not words[0].is_known:
        return ()
    name = program_name(words[0].text)
    base = name.rpartition("/")[2].casefold()
    layers = _layers(base, tuple(words[1:]))
    if name == base:
        return layers
    # `./env` and `ENV` may be any program. The commands that they seem to run can be forbidden, but not allowed.
    problem = f"`{name}` is not the system's `{base}`"
    return tuple(replace(layer, problem=layer.problem or problem) for layer in layers)


def _layers(base: str, rest: tuple[Word, ...]) -> tuple[Unwrapped, ...]:
    if takes := _UNWRAPPERS.get(base):
        return takes(rest)
    if base in SHELLS:
        return (_shell(base, rest),)
    if problem := _why_opaque(base, rest):
        return (Unwrapped(problem=problem, is_beside=True),)
    if _LOADER.fullmatch(base):
        return (_plain(base, _LOADER_FORM, rest),)
    if base in WRAPPERS and not (base == "command" and rest and rest[0].text in ("-v", "-V")):
        return (_plain(base, WRAPPERS[base], rest),)
    return ()


def _why_opaque(base: str, rest: tuple[Word, ...]) -> str | None:
    if base in (".", "source"):
        return f"`{base}` runs a file's commands in this shell"
    if base in _CHANGES_MEANING:
        return f"`{base}` changes what later commands mean"
    if base == "set" and not all(_is_plain_set(word) for word in rest):
        return "`set` changes how the rest is read"
    if base == "jobs" and rest:
        return "`jobs` can run other programs"
    if base in OTHER_SHELLS:
        return f"a script for {base}"
    if base in OPAQUE:
        return f"`{base}` can run other programs"
    return interpreter_code(base, rest)


def interpreter_code(base: str, rest: Sequence[Word]) -> str | None:
    """Return a note if an interpreter gets code from the command line or its input; None otherwise."""
    family = re.sub(r"[\d.]+(\.exe)?$", "", base) or base
    if family in ("awk", "gawk", "mawk", "nawk"):
        text = " ".join(word.text for word in rest)
        is_plain = not re.search(r"system|\||getline|>", text) and all(word.kind != "complex" for word in rest)
        return None if is_plain else f"a program for {base}"
    if family == "deno":
        return "code for deno" if rest and rest[0].text in ("eval", "repl") else None
    if family not in INTERPRETERS:
        return None
    for word in rest:
        if not word.text.startswith("-"):
            return None if word.is_known or word.kind == "simple" else f"code for {base}"
        if word.text == "-" or word.text in ("--eval", "--print", "--run"):
            return f"code for {base}"
        if word.text.startswith("--"):
            if word.text in ("--version", "--help"):
                return None
            continue
        if word.text in ("-V", "-h", "-v") or word.text.startswith("-m"):
            return None
        if any(letter in INTERPRETERS[family] for letter in word.text[1:]):
            return f"code for {base}"
    return f"code for {base} from its input"


def _plain(name: str, form: WrapperForm, rest: tuple[Word, ...]) -> Unwrapped:
    index = 0
    while index < len(rest) and (text := rest[index].text).startswith("-") and text != "-":
        if not rest[index].is_known:
            return Unwrapped(problem=f"options of `{name}` that are not known")
        index += 1
        if text == "--":
            break
        step = _option_length(text, form)
        if step is None:
            plain = next((at for at in range(index, len(rest)) if not rest[at].text.startswith("-")), len(rest))
            return Unwrapped(problem=f"`{name} {text}`", words=rest[plain:])
        index += step
    if name == "env" and index < len(rest) and rest[index].text == "-":
        index += 1
    assignments: list[tuple[str, str]] = []
    while form.takes_assignments and index < len(rest) and (found := _ASSIGNMENT.fullmatch(rest[index].text)):
        assignments.append((found[1], found[2]))
        index += 1
    index += form.positionals
    words = rest[index:]
    if any(not word.is_known for word in rest[:index]):  # `timeout $x ls`: `$x` may be several words
        return Unwrapped(problem=f"words of `{name}` that are not known", words=words, is_beside=True)
    if name == "xargs" and words:
        replaced = _replaced_by_xargs(rest[:index])
        words = tuple(Word(word.text, "simple") if replaced and replaced in word.text else word for word in words)
        words = (*words, Word("…", "simple"))
    return Unwrapped(words=words, assignments=tuple(assignments), is_beside=not words)


def _replaced_by_xargs(options: Sequence[Word]) -> str:
    for index, option in enumerate(options):
        if match := re.fullmatch(r"(?:-[0rtpxo]*[IiJ]|--replace=?)(.*)", option.text, re.DOTALL):
            is_next = not match[1] and option.text.endswith(("I", "J")) and index + 1 < len(options)
            return options[index + 1].text if is_next else match[1] or "{}"
    return ""


def _option_length(text: str, form: WrapperForm) -> int | None:
    if text.startswith("--"):
        name, has_value, _ = text[2:].partition("=")
        if name in form.long_values:
            return 0 if has_value else 1
        return 0 if name in form.long_flags else None
    for place, letter in enumerate(text[1:], start=1):
        if letter in form.values:
            return 0 if place + 1 < len(text) else 1
        if letter not in form.flags:
            return None
    return 0


def _script(words: Sequence[Word], problem: str) -> Unwrapped:
    if any(not word.is_known for word in words):
        return Unwrapped(problem=problem, is_beside=True)
    return Unwrapped(script=" ".join(word.text for word in words))


def _shell(name: str, rest: tuple[Word, ...]) -> Unwrapped:
    index, has_script, problem = 0, False, "" if name in _OUR_SHELLS else f"a script for {name}"
    while index < len(rest) and (text := rest[index].text)[:1] in ("-", "+") and text not in ("-", "--"):
        if not rest[index].is_known:
            return Unwrapped(problem=f"options of `{name}` that are not known", is_beside=True)
        index += 1
        if text.startswith("--"):
            if text in ("--version", "--help"):
                return Unwrapped(problem="", is_beside=True)
            if text not in ("--norc", "--noprofile", "--posix", "--login", "--restricted"):
                return Unwrapped(problem=f"`{name} {text}`", is_beside=True)
            problem = problem or (f"`{name} {text}`" if text in ("--posix", "--login") else "")
            continue
        if not re.fullmatch(r"[-+][ceuxfo]+", text) or (text.endswith("o") and rest[index : index + 1] != (_PIPEFAIL,)):
            problem = problem or f"`{name} {text}`"  # such as `-l` and `-i`, which run the user's start files first
        has_script = has_script or "c" in text
        if "s" in text and "c" not in text:
            return Unwrapped(problem=f"`{name}` runs what it reads", is_beside=True)
        index += sum(letter in "oO" for letter in text[1:])
    if index < len(rest) and rest[index].text in ("--", "-"):
        index += 1
    if index >= len(rest):
        return Unwrapped(problem=f"`{name}` runs what it reads", is_beside=True)
    if has_script:
        found = _script(rest[index : index + 1], f"`{name} -c` with text that is not known beforehand")
        return Unwrapped(script=found.script, problem=found.problem or problem, is_posix=name in _POSIX_SHELLS)
    if not rest[index].is_known or rest[index].text.startswith(("/dev/", "/proc/")):
        return Unwrapped(problem=f"`{name}` runs a script that is not known beforehand", is_beside=True)
    return Unwrapped(is_beside=True)


def _find(rest: tuple[Word, ...]) -> tuple[Unwrapped, ...]:
    found: list[Unwrapped] = []
    index = 0
    while index < len(rest):
        if rest[index].text in ("-exec", "-execdir", "-ok", "-okdir"):
            end = next((i for i in range(index + 1, len(rest)) if rest[i].text in (";", "+")), len(rest))
            inner = [Word("{}", "simple") if "{}" in word.text else word for word in rest[index + 1 : end]]
            found.append(Unwrapped(words=tuple(inner), is_beside=True))
            index = end
        elif not rest[index].is_known and _may_be_option(rest[index]):
            found.append(Unwrapped(problem="options of `find` that are not known", is_beside=True))
        index += 1
    return tuple(found)


def _may_be_option(word: Word) -> bool:
    return word.kind == "complex" or word.text.lstrip("\"'").startswith(("-", "$", "`"))


def _ssh(rest: tuple[Word, ...]) -> tuple[Unwrapped, ...]:
    index = 0
    while index < len(rest) and (text := rest[index].text).startswith("-"):
        attached = len(text) > 2
        index += 2 if text[1:2] and text[1] in _SSH_VALUES and not attached else 1
    remote = rest[index + 1 :]
    if not remote:
        return ()
    found = _script(remote, "a remote command that is not known beforehand")
    return (Unwrapped(script=found.script, problem=found.problem, is_beside=True),)


def _trap(rest: tuple[Word, ...]) -> tuple[Unwrapped, ...]:
    rest = rest[1:] if rest and rest[0].text == "--" else rest
    return (_script(rest[:1], "trap runs text that is not known beforehand"),) if rest else ()


_UNWRAPPERS: dict[str, Callable[[tuple[Word, ...]], tuple[Unwrapped, ...]]] = {
    "find": _find,
    "gfind": _find,
    "eval": lambda rest: (_script(rest, "eval runs text that is not known beforehand"),),
    "trap": _trap,
    "ssh": _ssh,
}

_CHANGES_MEANING = frozenset({
    "alias", "unalias", "hash", "enable", "shopt", "setopt", "unsetopt", "bind", "autoload", "zmodload", "complete",
    "compgen", "compopt", "fc",
})  # fmt: skip


def _is_plain_set(word: Word) -> bool:
    return word.is_known and (
        re.fullmatch(r"[-+][euxo]+", word.text) is not None
        or word.text in ("pipefail", "errexit", "nounset", "xtrace", "--")
    )


UNKNOWN_VALUE = "…"
"""Stands for the value of a variable that is unknown before the line runs."""


class Redirection(Struct, frozen=True):
    operator: str
    target: Word

    @property
    def is_write(self) -> bool:
        return ">" in self.operator and self.has_file

    @property
    def has_file(self) -> bool:
        """Whether the redirection opens a file. False for `2>&1`, `>&-`, `/dev/null` and text in the line itself."""
        if self.operator.startswith("<<") or (self.target.is_known and self.target.text == "/dev/null"):
            return False
        return not (self.operator.endswith("&") and re.fullmatch(r"\d+-?|-", self.target.text))


class Segment(Struct, frozen=True, kw_only=True):
    parts: tuple[Word, ...]
    redirections: tuple[Redirection, ...] = ()
    assignments: tuple[tuple[str, str], ...] = ()
    wrappers: tuple[str, ...] = ()
    """The programs under which it runs, such as `sudo`, `env` and `bash`, the outermost first."""
    outer: tuple[tuple[Word, ...], ...] = ()
    """For each wrapper, its own word and all words behind it."""
    start: int = 0
    end: int = 0
    """`start` and `end` span the command in the line, including its wrappers."""
    is_piped: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        texts = tuple(part.text for part in self.parts)
        return (program_name(texts[0]), *texts[1:]) if texts and self.parts[0].is_known else texts

    @property
    def program(self) -> str:
        return self.words[0] if self.parts else ""

    @property
    def is_static(self) -> bool:
        return all(part.is_known for part in self.parts)


class ParsedCommand(Struct, frozen=True):
    """The commands of a line. If it has `problems`, the line was not understood, and `segments` is incomplete."""

    text: str
    segments: tuple[Segment, ...]
    problems: tuple[str, ...] = ()
    is_posix: bool = False
    """Whether the line has only syntax that every POSIX shell reads as bash does."""

    def source(self, segment: Segment) -> str:
        return self.text[segment.start : segment.end]
