"""Finds the user's rule that decides a call. Pure. Forbid beats ask, ask beats allow.

To allow a line, rules must name *every* command in it that does more than read. To let it out of the sandbox, they must
name every command (`freeing_rule`). To forbid a line, a rule needs to name only *one*.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import chain
from typing import Literal

from desktop_agent.core.base.clock import is_over
from desktop_agent.core.policy.call import CallFacts, PolicyContext
from desktop_agent.core.policy.coverage import TAKE_REMOTE, covers, mention
from desktop_agent.core.policy.paths import inside, normalized, plain_name, sensitivity
from desktop_agent.core.policy.read_only_commands import HARMLESS_VARIABLES, is_harmless_variable, is_reading
from desktop_agent.core.policy.risks import GIT_COMMANDS, git_command
from desktop_agent.core.policy.segments import (
    CHANGES_FOLDER,
    INTERPRETERS,
    OPAQUE,
    OTHER_SHELLS,
    SEEN_THROUGH,
    SHELLS,
    UNKNOWN_VALUE,
    WRAPPERS,
    ParsedCommand,
    Segment,
    bare_name,
)
from desktop_agent.core.policy.shell import parse
from desktop_agent.core.policy.shell_words import Word
from desktop_agent.core.protocol.model import Rule, RuleEffect, RuleKind

Match = Literal["yes", "no", "maybe"]

LAUNCHERS = frozenset({
    "uv", "uvx", "poetry", "pipenv", "pdm", "rye", "hatch", "npx", "npm", "pnpm", "yarn", "bunx", "bun", "bundle",
    "conda", "mise", "asdf", "nix", "nix-shell", "docker", "podman", "kubectl", "make", "git", "tar", "rsync",
})  # fmt: skip

_SUBCOMMANDS = frozenset({
    "git", "npm", "pnpm", "yarn", "bun", "cargo", "go", "uv", "pip", "pip3", "pipx", "poetry", "docker", "podman",
    "kubectl", "helm", "gh", "glab", "make", "just", "task", "dotnet", "gradle", "mvn", "terraform", "brew", "apt",
    "apt-get", "systemctl", "conda", "bundle", "rake", "rails", "mix", "composer", "nox", "tox", "hatch", "pdm", "nix",
})  # fmt: skip

_RUN_ANYTHING = frozenset({
    "git", "npm", "pnpm", "yarn", "bun", "bundle", "uv", "poetry", "pipenv", "pdm", "rye", "hatch", "conda", "mise",
    "asdf", "nix", "docker", "podman", "kubectl", "go", "cargo",
})  # fmt: skip

_NEVER_WIDE = frozenset({
    "rm", "rmdir", "shred", "truncate", "dd", "mv", "cp", "chmod", "chown", "chgrp", "ln", "kill", "killall", "pkill",
    "find", "sed", "awk", "gawk", "mawk", "tee", "curl", "wget", "ssh", "scp", "rsync", "docker", "podman", "kubectl",
    "npx", "bunx", "uvx", "pipx", "install", "tar", "export", "declare", "typeset", "exec", "deno", "aws", "gcloud",
})  # fmt: skip
"""The arguments decide everything, so no rule is offered that names the program alone."""

MOST_WORDS = 20_000

_TRANSPARENT_WRAPPERS = SEEN_THROUGH | {"trap", "coproc", "busybox", "toybox"}

_UNDER_OUTSIDE = frozenset({"time", "timeout", "nice", "nohup", "command"})
"""Wrappers under which a rule can still let the inner command out of the sandbox."""

_LONG_FLAGS = {"--recursive": "r", "--force": "f", "--delete": "d", "--all": "a", "--interactive": "i"}


# --- which rules count --------------------------------------------------------------------------------------------


def in_force(rule: Rule, now: datetime, workspace: str) -> bool:
    if rule.expires_at is not None and is_over(rule.expires_at, now):
        return False
    return rule.scope != "project" or (bool(workspace) and normalized(rule.workspace) == normalized(workspace))


def matching_rule(call: CallFacts, context: PolicyContext, effect: RuleEffect | None = None) -> Rule | None:
    """Return the rule that decides a call. With `effect`, only rules of that effect are considered.

    An allow rule lets the call run inside the sandbox only. `freeing_rule` decides about leaving the sandbox.
    """
    wanted = (effect,) if effect is not None else ("forbid", "ask", "allow")
    valid = [rule for rule in context.rules if rule.effect in wanted and in_force(rule, context.now, context.workspace)]
    return (
        _naming(call, [rule for rule in valid if rule.effect == "forbid"], context)
        or _naming(call, [rule for rule in valid if rule.effect == "ask"], context, is_doubt_enough=True)
        or _allowing(call, [rule for rule in valid if rule.effect == "allow"], context)
    )


def _naming(
    call: CallFacts, rules: Sequence[Rule], context: PolicyContext, *, is_doubt_enough: bool = False
) -> Rule | None:
    """Return the first rule that names the call, or possibly does if `is_doubt_enough`."""
    for rule in rules:
        match rule.kind:
            case "command" if call.command is not None:
                if rule.is_exact:
                    if rule.pattern.strip() == call.command.strip():
                        return rule
                    continue
                parsed = _parsed(call.command, context)
                answer = names_any(rule.pattern, parsed)
                if answer == "yes" or (is_doubt_enough and (answer == "maybe" or mentioned(rule.pattern, parsed))):
                    return rule
            case "edit" if "write_fs" in call.capabilities and call.command is None:
                if any(_matches_path(rule.pattern, path, is_wide=True) for path in call.paths):
                    return rule
            case "tool":
                if fnmatchcase(call.tool.casefold(), rule.pattern.casefold()):
                    return rule
            case _:
                pass
    return None


def forbidding_patterns(context: PolicyContext) -> tuple[str, ...]:
    return tuple(
        rule.pattern
        for rule in context.rules
        if (rule.effect, rule.kind, rule.is_exact) == ("forbid", "command", False)
        and in_force(rule, context.now, context.workspace)
    )


def _allowing(call: CallFacts, rules: Sequence[Rule], context: PolicyContext) -> Rule | None:
    if call.command is not None:
        return _allowing_command(call, rules, context)
    is_ours = call.source != "external" and "network" not in call.capabilities
    if is_ours and ("write_fs" in call.capabilities or any(sensitivity(path) == "secret" for path in call.paths)):
        return _allowing_paths(call, rules)
    names = (rule for rule in rules if rule.kind == "tool")
    return next((rule for rule in names if fnmatchcase(call.tool, rule.pattern)), None)


def _allowing_paths(call: CallFacts, rules: Sequence[Rule]) -> Rule | None:
    edits = [rule for rule in rules if rule.kind == "edit"]
    if not call.paths:
        return next((rule for rule in edits if rule.pattern == "**" and "write_fs" in call.capabilities), None)
    chosen: list[Rule] = []
    for path in call.paths:
        kind = sensitivity(path)
        fitting = (rule for rule in edits if kind is None or sensitivity(rule.pattern) == kind)
        rule = next((rule for rule in fitting if _matches_path(rule.pattern, path, is_wide=False)), None)
        if rule is None:
            return None
        chosen.append(rule)
    return chosen[0]


def _allowing_command(call: CallFacts, rules: Sequence[Rule], context: PolicyContext) -> Rule | None:
    assert call.command is not None
    commands = [rule for rule in rules if rule.kind == "command"]
    if exact := next((rule for rule in commands if _is_exactly(rule, call)), None):
        return exact
    if call.details:
        return None
    parsed = _parsed(call.command, context)
    plain = [
        rule for rule in commands if not rule.is_exact and not (rule.is_unconfined and launches_anything(rule.pattern))
    ]
    if parsed.problems or not plain or not stays_inside(parsed, call.folder, context.workspace):
        return None
    if not all(is_harmless_variable(name) for segment in parsed.segments for name, _ in segment.assignments):
        return None
    chosen: list[Rule] = []
    for segment in parsed.segments:
        if needs_no_rule(segment):
            continue
        fitting = [rule for rule in plain if names_all_of(rule.pattern, segment)]
        if not fitting:
            return None
        chosen.append(min(fitting, key=lambda rule: rule.is_unconfined))
    return min(chosen, key=lambda rule: rule.is_unconfined) if chosen else None


def _parsed(command: str, context: PolicyContext) -> ParsedCommand:
    return parse(command, is_for_sh=context.shell == "sh")


def _is_exactly(rule: Rule, call: CallFacts) -> bool:
    is_same = rule.pattern == call.command and rule.details == call.details
    return rule.is_exact and is_same and rule.folder in ("", call.folder)


def needs_no_rule(segment: Segment) -> bool:
    """Whether a command only reads files that its words name.

    The line then runs where secrets can be read, and a wildcard, a variable or a recursive search may find them.
    """
    if "ssh" in segment.wrappers:
        return True  # a remote command is part of the `ssh` that a rule must name
    return is_reading(segment) and segment.is_static and not _reads_what_it_finds(segment)


def _reads_what_it_finds(segment: Segment) -> bool:
    letters, longs = _flags(segment.words[1:])
    match segment.program:
        case "grep" | "egrep" | "fgrep":
            return bool(letters & {"r", "d"} or {name[:5] for name in longs} & {"--rec", "--der", "--dir"})
        case "rg":
            return bool(letters & {"u", "."} or {name[:4] for name in longs} & {"--hi", "--un"})
        case _:
            return False


def freeing_rule(call: CallFacts, context: PolicyContext) -> Rule | None:
    """Return the rule that lets a command line run outside the sandbox: its rules name *every* command in it.

    The rule applies in the repository in which it was made, until something that git runs changes there.
    """
    return _freeing(call, context, [rule for rule in _unconfined(context) if counts_here(rule, call)])


def stale_rule(call: CallFacts, context: PolicyContext) -> Rule | None:
    return _freeing(call, context, [rule for rule in _unconfined(context) if not counts_here(rule, call)])


def counts_here(rule: Rule, call: CallFacts) -> bool:
    made = rule.repository, rule.repository_mark
    return all(made) and made == (call.repository, call.repository_mark)


def _unconfined(context: PolicyContext) -> list[Rule]:
    return [
        rule
        for rule in context.rules
        if (rule.effect, rule.kind, rule.is_unconfined) == ("allow", "command", True)
        and in_force(rule, context.now, context.workspace)
    ]


def _freeing(call: CallFacts, context: PolicyContext, valid: Sequence[Rule]) -> Rule | None:
    assert call.command is not None
    if exact := next((rule for rule in valid if _is_exactly(rule, call)), None):
        return exact
    parsed = _parsed(call.command, context)
    plain = [rule for rule in valid if not rule.is_exact and not launches_anything(rule.pattern)]
    own = [segment for segment in parsed.segments if "ssh" not in segment.wrappers]  # the others run elsewhere
    if call.details or parsed.problems or not own or "<<" in call.command:
        return None
    chosen = [next((rule for rule in plain if _frees(rule, segment)), None) for segment in own]
    return chosen[0] if all(chosen) else None


def _frees(rule: Rule, segment: Segment) -> bool:
    is_plain = (
        set(segment.wrappers) <= _UNDER_OUTSIDE
        and all(name in HARMLESS_VARIABLES and value != UNKNOWN_VALUE for name, value in segment.assignments)
        and not any(redirection.has_file for redirection in segment.redirections)
        and segment.program not in CHANGES_FOLDER
    )
    return is_plain and names_all_of(rule.pattern, segment) and covers(split_pattern(rule.pattern), segment.words)


# --- commands -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def split_pattern(pattern: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(pattern))
    except ValueError:
        return tuple(pattern.split())


def names_all_of(pattern: str, segment: Segment) -> bool:
    """Whether a command begins with exactly the pattern's words, and nothing in it is unknown."""
    wanted = split_pattern(pattern)
    if not wanted or not segment.is_static or not _TRANSPARENT_WRAPPERS.issuperset(segment.wrappers):
        return False
    return segment.words[: len(wanted)] == wanted


def names_any(pattern: str, parsed: ParsedCommand) -> Match:
    """Whether the pattern names any command of a line, however that is wrapped or written."""
    answer: Match = "maybe" if parsed.problems else "no"
    looked_at = 0
    for words in chain.from_iterable(map(_word_lists, parsed.segments)):
        match _names(pattern, words):
            case "yes":
                return "yes"
            case "maybe":
                answer = "maybe"
            case _:
                pass
        looked_at += len(words) if _is_program(pattern, words) else 0
        if looked_at > MOST_WORDS:
            return "maybe"
    return answer


def mentioned(pattern: str, parsed: ParsedCommand) -> str:
    """Return the word, behind a program's name, that names the command of `pattern`; empty if there is none."""
    return mention(split_pattern(pattern), parsed)


def _is_program(pattern: str, words: tuple[Word, ...]) -> bool:
    wanted = split_pattern(pattern)
    return bool(words and wanted) and bare_name(words[0].text) == bare_name(wanted[0])


def _word_lists(segment: Segment) -> Iterator[tuple[Word, ...]]:
    if segment.parts:
        yield segment.parts
        if segment.program.rpartition("/")[2] in LAUNCHERS:
            for index in range(1, len(segment.parts)):
                yield segment.parts[index:]
    yield from segment.outer


def _names(pattern: str, parts: tuple[Word, ...]) -> Match:
    wanted = split_pattern(pattern)
    if not wanted or not parts:
        return "no"
    if not parts[0].is_known:
        return "maybe"
    program = bare_name(parts[0].text)
    own, dash, command = program.partition("-")  # git's own name for `git push` as a program is `git-push`
    program = own if own == "git" else program
    if program != bare_name(wanted[0]):
        return "no"
    words = [part.text for part in parts[1:] if part.is_known]
    if program == "git" and dash:
        words = [command, *words]
    name = git_command(("git", *words)) if program == "git" else ""
    behind_options = words[words.index(name) :] if name and name in words else words
    if _begins(wanted[1:], words) or _begins(wanted[1:], behind_options):
        return "yes"
    is_alias = bool(name) and name not in GIT_COMMANDS
    return "maybe" if is_alias or any(not part.is_known for part in parts[1:]) else "no"


def _begins(wanted: Sequence[str], words: Sequence[str]) -> bool:
    letters, longs = _flags(words)
    wanted_letters, wanted_longs = _flags(wanted)
    if not wanted_letters <= letters or not wanted_longs <= longs:
        return False
    plain = [word for word in words if not word.startswith("-") or word == "-"]
    place = 0
    for word in wanted:
        if word.startswith("-") and word != "-":
            continue
        if word.startswith(("/", "~", ".")):
            if not any(normalized(re.sub("/+", "/", other)) == normalized(word) for other in plain):
                return False
        elif word.endswith("="):
            if not any(other.startswith(word) for other in plain):  # `dd of=y if=x`: the order of words does not matter
                return False
        elif place < len(plain) and plain[place] == word:
            place += 1
        else:
            return False
    return True


def _flags(words: Sequence[str]) -> tuple[set[str], set[str]]:
    letters: set[str] = set()
    longs: set[str] = set()
    for word in words:
        if word == "--":
            break
        if word.startswith("--"):
            name = word.partition("=")[0]
            full = next((long for long in _LONG_FLAGS if len(name) > 3 and long.startswith(name)), name)
            letters |= {_LONG_FLAGS[full]} if full in _LONG_FLAGS else set()
            longs |= set() if full in _LONG_FLAGS else {name}
        elif word.startswith("-") and len(word) > 1:
            letters |= set(word[1:].replace("R", "r"))
    return letters, longs


def stays_inside(parsed: ParsedCommand, folder: str, workspace: str) -> bool:
    """Whether no `cd` or redirection can, by its text, lead outside or to a special file."""
    folders = [folder]
    for segment in parsed.segments:
        if segment.program in CHANGES_FOLDER:
            target = next((word for word in segment.words[1:] if not word.startswith("-")), None)
            if target is None or not segment.is_static:
                return False
            folders += [f"{place}/{target}" if not target.startswith("/") else target for place in list(folders)[:8]]
            if any(inside(place, folder, workspace) is None for place in folders):
                return False
        for redirection in segment.redirections:
            if redirection.is_write and not (redirection.target.is_known and redirection.target.kind == "known"):
                return False
            if redirection.is_write:
                for place in folders:
                    relative = inside(redirection.target.text, place, workspace)
                    if relative is None or sensitivity(relative) is not None:
                        return False
    return True


# --- paths --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _path_pattern(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(signs.get(part, re.escape(part)) for part in parts), re.DOTALL)


def _matches_path(pattern: str, path: str, *, is_wide: bool) -> bool:
    text = normalized(path)
    if text.startswith(("../", "/")) or text == "..":
        return False
    if is_wide:
        text = "/".join(plain_name(part) for part in text.split("/"))
        pattern = pattern.casefold()
    return _path_pattern(pattern.removeprefix("./")).fullmatch(text) is not None


# --- for the rule editor ------------------------------------------------------------------------------------------


def patterns_for(parsed: ParsedCommand) -> tuple[tuple[str, ...], ...]:
    """For each command that needs a rule, the patterns from the narrowest to the widest sensible one.

    Empty if only an exact rule can allow the line: it was not understood, has an unknown word, or uses `sudo`.
    """
    if parsed.problems or not all(is_harmless_variable(name) for s in parsed.segments for name, _ in s.assignments):
        return ()
    found: dict[tuple[str, ...], None] = {}
    for segment in parsed.segments:
        if needs_no_rule(segment):
            continue
        if not segment.parts or not segment.is_static or not _TRANSPARENT_WRAPPERS.issuperset(segment.wrappers):
            return ()
        found[_patterns(segment.words)] = None
    return tuple(found)


def patterns_outside(parsed: ParsedCommand) -> tuple[tuple[str, ...], ...]:
    """Patterns for rules that let a line out of the sandbox, narrowest first. The first is the whole line.

    Wider patterns follow only for a single command. Empty if the line is too long to read.
    """
    if "\n" in parsed.text or not parsed.text.isprintable() or len(parsed.text) > _LONGEST_EXACT:
        return ()
    choices = patterns_for(parsed)
    exact = parsed.text.strip()
    if len(parsed.segments) != 1 or len(choices) != 1:
        return ((exact,),)
    words = parsed.segments[0].words
    wider = [
        pattern
        for pattern in choices[0]
        if pattern != exact and not launches_anything(pattern) and covers(split_pattern(pattern), words)
    ]
    return ((exact, *wider),)


_LONGEST_EXACT = 200


def _patterns(words: tuple[str, ...]) -> tuple[str, ...]:
    program = words[0]
    lengths = [len(words)]
    family = re.sub(r"[\d.]+$", "", program)
    if family in INTERPRETERS or program in SHELLS:
        if words[1:2] == ("-m",) and len(words) > 2:
            lengths.append(3)
        elif len(words) > 1 and not words[1].startswith("-"):
            lengths.append(2)
    elif program in _SUBCOMMANDS and len(words) > 1 and not words[1].startswith("-"):
        if words[:2] in TAKE_REMOTE and len(words) > 3 and not words[2].startswith("-"):
            lengths.append(3)
        if words[1] in ("run", "exec") and len(words) > 2:
            lengths.append(3)
        else:
            lengths.append(2)
    if why_too_wide((program,)) is None:
        lengths.append(1)
    return tuple(dict.fromkeys(shlex.join(words[:length]) for length in lengths))


def launches_anything(pattern: str) -> bool:
    words = split_pattern(pattern)
    return len(words) == 1 and bare_name(words[0]) in _RUN_ANYTHING


def why_too_wide(words: tuple[str, ...]) -> str | None:
    program = words[0]
    family = re.sub(r"[\d.]+$", "", program) or program
    if program in SHELLS or program in OTHER_SHELLS or family in INTERPRETERS or program in OPAQUE:
        named = [word for word in words[1:] if not word.startswith("-")]
        return None if named else f"`{program}` runs any program; name the script as well."
    if program in _NEVER_WIDE and len(words) == 1:
        return f"`{program}` alone says nothing about what it works on; add more words."
    if program in _NEVER_WIDE and not [word for word in words[1:] if not word.startswith("-")]:
        return f"`{shlex.join(words)}` says nothing about what it works on; add more words."
    return None


def validate_pattern(kind: RuleKind, pattern: str) -> str | None:
    if not pattern.strip():
        return "This rule never matches because it is empty."
    match kind:
        case "edit":
            return _validate_glob(pattern)
        case "tool":
            return None if re.fullmatch(r"[\w*?.:-]+", pattern) else _never("a tool's name has no such signs")
        case "command":
            return _validate_command(pattern)


def _validate_glob(pattern: str) -> str | None:
    if pattern.startswith(("/", "~")) or ".." in pattern.split("/") or re.match(r"[A-Za-z]:", pattern):
        return _never("it leads outside the workspace; paths are relative to it")
    if "\\" in pattern:
        return _never("paths are written with `/`")
    if sensitivity(pattern) == "git":
        return _never("edit tools never write git's own files")
    return None


def _validate_command(pattern: str) -> str | None:
    try:
        words = tuple(shlex.split(pattern))
    except ValueError:
        return _never("its quotes do not fit")
    parsed = parse(pattern)
    if len(parsed.segments) > 1:
        return _never("it has several commands; every command of a line is matched by itself")
    if re.match(r"[A-Za-z_]\w*=", words[0], re.ASCII):
        return _never("variables before a command are looked through")
    if words[0] in WRAPPERS or words[0] in ("eval", "trap"):
        return _never(f"`{words[0]}` is looked through; name the command behind it")
    if (words[0] in SHELLS and "-c" in words) or (parsed.segments and parsed.segments[0].wrappers):
        return _never(f"`{words[0]}` is looked through; name the command inside")
    if wide := why_too_wide(words):
        return f"This rule is too wide: {wide}"
    if parsed.problems:
        return _never(f"such a command is not fully understood ({parsed.problems[0]})")
    segment = parsed.segments[0] if parsed.segments else None
    if segment is None or segment.redirections:
        return _never("redirections are not part of a command's words")
    if not segment.is_static:
        return _never("its words are taken as they are: no variables, no wildcards")
    return "This rule is not needed: the command only reads." if is_reading(segment) else None


def _never(why: str) -> str:
    return f"This rule never matches because {why}."
