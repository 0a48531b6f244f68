"""Says in plain words what makes a command dangerous. Judged from the parsed line alone."""

import re
from collections.abc import Iterator

from msgspec import Struct

from desktop_agent.core.base.regex import regex
from desktop_agent.core.policy.paths import inside, sensitivity
from desktop_agent.core.policy.read_only_commands import GIT_READERS, is_reading
from desktop_agent.core.policy.segments import SHELLS, ParsedCommand, Segment

NETWORK = frozenset({
    "curl", "wget", "ssh", "scp", "sftp", "rsync", "ftp", "telnet", "nc", "ncat", "netcat", "socat", "ping", "dig",
    "nslookup", "host", "http", "https", "aria2c", "gh", "glab", "aws", "gcloud", "az", "kubectl", "helm", "twine",
    "npx", "bunx", "uvx", "apt", "apt-get", "dnf", "yum", "brew", "pacman", "apk", "snap", "flatpak", "yt-dlp",
})  # fmt: skip

NETWORK_COMMANDS: dict[str, frozenset[str]] = {
    "git": frozenset({"push", "fetch", "pull", "clone", "ls-remote", "submodule", "send-email", "lfs"}),
    "pip": frozenset({"install", "download", "index", "wheel"}),
    "pip3": frozenset({"install", "download", "index", "wheel"}),
    "pipx": frozenset({"install", "run", "upgrade"}),
    "uv": frozenset({"add", "sync", "lock", "publish", "tool"}),
    "poetry": frozenset({"add", "install", "update", "publish", "lock"}),
    "npm": frozenset({"install", "i", "ci", "add", "update", "publish", "audit", "view", "exec"}),
    "pnpm": frozenset({"install", "i", "add", "update", "publish", "dlx"}),
    "yarn": frozenset({"install", "add", "upgrade", "publish", "dlx"}),
    "cargo": frozenset({"install", "add", "update", "publish", "fetch", "search"}),
    "go": frozenset({"get", "install"}),
    "gem": frozenset({"install", "update", "push", "fetch"}),
    "bundle": frozenset({"install", "update"}),
    "composer": frozenset({"install", "update", "require"}),
    "docker": frozenset({"pull", "push", "build", "run", "login", "compose"}),
    "conda": frozenset({"install", "create", "update"}),
}

GIT_WRITES = frozenset({
    "commit", "add", "rm", "mv", "checkout", "switch", "restore", "reset", "merge", "rebase", "cherry-pick", "revert",
    "stash", "tag", "branch", "init", "gc", "prune", "apply", "am", "clean", "config", "remote", "worktree", "notes",
    "filter-branch", "filter-repo", "update-ref", "update-index", "symbolic-ref", "reflog", "bisect", "pull", "fetch",
    "push", "clone", "submodule", "replace", "repack", "maintenance", "sparse-checkout",
})  # fmt: skip

GIT_COMMANDS = (
    GIT_READERS
    | GIT_WRITES
    | {
        "help", "config", "ls-remote", "archive", "bundle", "fsck", "var", "difftool", "mergetool", "send-email", "lfs",
        "hash-object", "mktree", "write-tree", "read-tree", "commit-tree", "pack-refs", "format-patch", "request-pull",
        "verify-commit", "verify-tag", "verify-pack", "diff-pairs", "merge-tree", "merge-file", "stripspace",
        "fetch-pack", "send-pack", "upload-pack", "receive-pack", "index-pack", "pack-objects", "unpack-objects",
        "rerere", "backfill", "credential", "mailinfo", "mailsplit", "interpret-trailers", "checkout-index", "refs",
        "scalar", "gui", "citool", "for-each-repo", "instaweb", "daemon", "bugreport", "diagnose", "check-mailmap",
        "check-ref-format", "column",
    }
)  # fmt: skip
"""Any other name is an alias or a separate program, which could run any command."""

PROJECT_SCRIPTS = "Runs scripts of this project."

OUTWARD = frozenset({
    "terraform", "tofu", "pulumi", "serverless", "sls", "firebase", "vercel", "netlify", "heroku", "fly", "flyctl",
    "eb", "wrangler", "ansible-playbook", "systemctl", "service", "launchctl", "mail", "mailx", "sendmail", "msmtp",
    "psql", "mysql", "mariadb", "mongo", "mongosh", "redis-cli", "dropdb", "createdb", "sqlcmd", "goreleaser",
    "semantic-release", "lerna", "changeset", "vsce", "fastlane",
})  # fmt: skip

_OUTWARD_WORD = regex(r"deploy|publish|release|upload|^push$", re.IGNORECASE)
_SCRIPTS = {"npm": ("run", "test", "start"), "yarn": ("run", "test"), "pnpm": ("run", "test"), "bun": ("run", "test")}
_DELETES = frozenset({"rm", "rmdir", "unlink", "shred", "truncate", "srm", "trash"})
_DISK = frozenset(
    {"dd", "mkfs", "fdisk", "parted", "wipefs", "mount", "umount", "mkswap", "diskutil", "sfdisk", "losetup"}
)
_POWER = frozenset({"shutdown", "reboot", "halt", "poweroff"})
GIT_VALUES = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"})


class Risk(Struct, frozen=True):
    note: str
    cause: str


def risks_of(parsed: ParsedCommand, folder: str, workspace: str) -> tuple[Risk, ...]:
    found: dict[str, Risk] = {}
    for problem in parsed.problems:
        risk = Risk(f"This command could not be fully understood: {problem}.", "")
        found.setdefault(risk.note, risk)
    for segment in parsed.segments:
        for note in _notes(segment, folder, workspace):
            found.setdefault(note, Risk(note, parsed.source(segment)))
    # The order is stable: within one degree, risks come as in the line.
    degrees = [*_GRAVEST_FIRST, ("",)]
    return tuple(
        sorted(found.values(), key=lambda risk: next(i for i, d in enumerate(degrees) if risk.note.startswith(d)))
    )


_GRAVEST_FIRST: tuple[tuple[str, ...], ...] = (
    ("This command could not be fully understood",),
    ("Runs with administrator rights", "Runs what another command prints", "Writes to disks"),
    ("Deletes", "Discards", "Rewrites git", "Overwrites history", "Removes what git", "Shuts"),
    ("Touches a file that often holds secrets", "Changes git's own files"),
    ("Reaches outside", "Ends other programs", "Changes who"),
)


def acts_outward(segment: Segment) -> bool:
    program = segment.program.rpartition("/")[2]
    if program in OUTWARD or needs_network(segment):
        return True
    return any(_OUTWARD_WORD.search(word) for word in segment.words if not word.startswith("-"))


def needs_network(segment: Segment) -> bool:
    program = segment.program.rpartition("/")[2]
    if program in NETWORK or "ssh" in segment.wrappers:
        return True
    if program == "docker" or program not in NETWORK_COMMANDS:
        return program == "docker"
    name = git_command(segment.words) if program == "git" else next((w for w in segment.words[1:] if w[:1] != "-"), "")
    return name in NETWORK_COMMANDS[program]


def writes_git(segment: Segment) -> bool:
    return segment.program == "git" and git_command(segment.words) in GIT_WRITES and not is_reading(segment)


def git_command(words: tuple[str, ...]) -> str:
    index = 1
    while index < len(words) and words[index].startswith("-"):
        index += 2 if words[index] in GIT_VALUES else 1
    return words[index] if index < len(words) else ""


def outside_paths(segment: Segment, folder: str, workspace: str) -> tuple[str, ...]:
    words = [part.text for part in segment.parts[1:] if part.is_known]
    if any(not part.is_known for part in segment.parts[1:]):
        words += [part.text.strip('"') for part in segment.parts[1:] if not part.is_known]
    words += [redirection.target.text for redirection in segment.redirections if redirection.operator != "<<<"]
    return tuple(
        path
        for word in words
        for path in _paths_in(word)
        if not path.startswith("/dev/") and inside(path, folder, workspace) is None
    )


def secret_in(parsed: ParsedCommand) -> Risk | None:
    """Return the risk if a line names a secret. Judges by names alone."""
    for segment in parsed.segments:
        for text in _said(segment):
            if any(sensitivity(piece) == "secret" for piece in _pieces(text)):
                shown = text if text in parsed.text else parsed.source(segment)
                return Risk(
                    f"`{shown}` often holds secrets, and what is printed goes to the model.", parsed.source(segment)
                )
    return None


def _said(segment: Segment) -> Iterator[str]:
    words = [*segment.parts[1:], *(redirection.target for redirection in segment.redirections)]
    words += [word for outer in segment.outer for word in outer[1:]]
    yield from (word.text if word.is_known else re.sub("[\"'\\\\]", "", word.text) for word in words)
    yield from (value for _, value in segment.assignments)


def _paths_in(word: str) -> Iterator[str]:
    if "://" in word:
        return
    value = word.partition("=")[2] if word.startswith("-") else word
    if value.startswith(("$HOME", "${HOME")):
        yield "~"
    elif value.startswith(("/", "~", "..")) or "/.." in value:
        yield value


def _notes(segment: Segment, folder: str, workspace: str) -> Iterator[str]:
    words, program = segment.words, segment.program.rpartition("/")[2]
    if "sudo" in segment.wrappers or "doas" in segment.wrappers:
        yield "Runs with administrator rights (sudo)."
    if segment.is_piped and program in SHELLS:
        yield "Runs what another command prints as a script."
    yield from _deletes(program, words)
    if program == "git":
        yield from _history(words)
    if program in _DISK or program.startswith("mkfs."):
        yield "Writes to disks or devices directly."
    if program in _POWER:
        yield "Shuts the computer down."
    if program in ("kill", "killall", "pkill"):
        yield "Ends other programs."
    if program in ("chmod", "chown", "chgrp"):
        yield "Changes who may use files."
    if needs_network(segment):
        yield "Uses the network."
    if (program in _SCRIPTS and words[1:2] and words[1] in _SCRIPTS[program]) or program in ("make", "just", "task"):
        yield PROJECT_SCRIPTS
    if paths := outside_paths(segment, folder, workspace):
        yield f"Reaches outside the workspace: {', '.join(paths[:3])}."
    yield from _sensitive(segment)


def _deletes(program: str, words: tuple[str, ...]) -> Iterator[str]:
    if program == "rm" and any(re.match(r"-\w*[rR]|--recursive", word) for word in words[1:]):
        yield "Deletes folders with everything in them."
    elif program in _DELETES or (program == "find" and "-delete" in words):
        yield "Deletes files."
    elif program == "git" and git_command(words) == "clean":
        yield "Deletes untracked files."
    elif program == "rsync" and any(word.startswith("--del") for word in words):
        yield "Deletes files."


def _history(words: tuple[str, ...]) -> Iterator[str]:
    name, rest = git_command(words), set(words)
    is_forced = any(re.match(r"--force|-\w*f|--mirror|\+", word) for word in words[2:])
    if name in ("rebase", "filter-branch", "filter-repo", "replace") or (name == "commit" and "--amend" in rest):
        yield "Rewrites git's history."
    elif name == "reset" and "--hard" in rest:
        yield "Discards uncommitted changes, and may drop commits."
    elif name == "push" and (is_forced or "--delete" in rest):
        yield "Overwrites history on the server."
    elif (name in ("checkout", "restore") and ("--" in rest or "." in rest or name == "restore")) or (
        name in ("checkout", "switch") and (is_forced or "--discard-changes" in rest)
    ):
        yield "Discards uncommitted changes."
    elif name == "stash" and rest & {"drop", "clear"}:
        yield "Discards stashed changes."
    elif (name == "branch" and (rest & {"-D", "-d", "--delete"})) or (name == "tag" and rest & {"-d", "--delete"}):
        yield "Deletes a branch or tag."
    elif name in ("gc", "prune", "reflog") and (rest & {"expire", "delete"} or any("prune" in word for word in words)):
        yield "Removes what git needs to restore commits."


def _sensitive(segment: Segment) -> Iterator[str]:
    targets = [redirection.target.text for redirection in segment.redirections if redirection.operator != "<<<"]
    texts = [*segment.words[1:], *targets]
    kinds = {kind: text for text in texts for piece in _pieces(text) if (kind := sensitivity(piece))}
    if "secret" in kinds:
        yield f"Touches a file that often holds secrets: {kinds['secret']}."
    if "git" in kinds and not is_reading(segment):
        yield f"Changes git's own files: {kinds['git']}."


def _pieces(text: str) -> Iterator[str]:
    """The parts of a word that can name a file, as in `@.env`, `--file=.env` and `host:.ssh/id_rsa`."""
    if len(text) < 300 and not re.search(r"\s", text):
        yield from (piece for piece in re.split(r"[=:@,]", text) if piece)
