"""Judges by its words what a command line can destroy: files, uncommitted work, branches, stash entries, objects.

Uncertain losses are included. Commands have the forms of git 2.39 to 2.51. Nothing here reads the disk.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from desktop_agent.core.base.regex import regex
from desktop_agent.core.policy.risks import GIT_VALUES
from desktop_agent.core.policy.segments import CHANGES_FOLDER, ParsedCommand, Segment
from desktop_agent.core.policy.shell_words import Word

LossKind = Literal["tree", "file", "uncommitted", "untracked", "ignored", "refs", "objects", "worktree"]
"""What can be lost. `tree`: a file, or a folder with everything below. `file`: a file, but no folder.

In a folder's repository: `uncommitted` changes of tracked files, `untracked` files, `ignored` (also the untracked),
`refs` with the stash, unreachable `objects` with the reflogs. `worktree`: a working tree with git's data about it.
"""

Certainty = Literal["exact", "pattern", "guess"]
"""`pattern`: a shell pattern for names in the place. `guess`: an unknown word's folder."""


class Loss(Struct, frozen=True):
    kind: LossKind
    place: str
    is_destructive: bool = True
    """`mv` and `>` destroy only if something is in their way."""
    certainty: Certainty = "exact"


def losses_of(parsed: ParsedCommand, folder: str) -> tuple[Loss, ...]:
    """What a line that runs in `folder` can destroy, without duplicates. Never raises."""
    found: dict[tuple[LossKind, str], Loss] = {}
    folders = _Folders(folder, is_chain=_is_chain(parsed.text))
    for segment in parsed.segments:
        for base in folders.now:
            for loss in _of_segment(segment, base):
                known = found.get((loss.kind, loss.place), loss)
                certainty = known.certainty if loss.certainty == "guess" else loss.certainty
                is_destructive = known.is_destructive or loss.is_destructive
                found[loss.kind, loss.place] = Loss(loss.kind, loss.place, is_destructive, certainty)
        folders.follow(segment)
    if parsed.problems and _HINTS.search(parsed.text):
        # The part that was not understood contains a destructive word, so it may destroy anything.
        place = _squeezed(folder)
        found |= {(kind, place): Loss(kind, place, certainty="guess") for kind in _EVERYTHING}
    return tuple(found.values())


_EVERYTHING: tuple[LossKind, ...] = ("tree", "uncommitted", "refs")
_HINTS = regex(
    r"\b(rm|rmdir|unlink|shred|truncate|rmtree|removedirs|remove|rimraf|delete|del|clean|reset|checkout|restore|switch"
    r"|stash|worktree|rebase|amend|filter-branch|filter-repo|update-ref|reflog|gc|prune|wipe)\b"
)


class _Folders:
    """The folders in which a line's commands can run: that of the last `cd`, or all so far if that is uncertain."""

    def __init__(self, folder: str, *, is_chain: bool) -> None:
        self._seen = [folder]
        self._is_chain = is_chain

    @property
    def now(self) -> tuple[str, ...]:
        return (self._seen[-1],) if self._is_chain else tuple(dict.fromkeys(self._seen))

    def follow(self, segment: Segment) -> None:
        if segment.program not in CHANGES_FOLDER:
            return
        words = [part for part in segment.parts[1:] if part.text != "--" and part.text not in ("-P", "-L", "-e", "-@")]
        if segment.program == "popd" or not words or not words[0].is_known or words[0].text.startswith(("-", "~", "+")):
            self._is_chain = False  # somewhere else: everything so far stays possible
            if words and not words[0].is_known:
                self._seen.append(_static_part(words[0], self._seen[-1]))
            return
        if len(self._seen) < _MOST_FOLDERS:
            self._seen.append(_joined(self._seen[-1], words[0].text))


_MOST_FOLDERS = 8
"""All further commands count as run in the last of these folders."""


def _is_chain(text: str) -> bool:
    return re.search(r"[;|\n(){}`]|(?<!&)&(?!&)", re.sub(r"\d?>&\d|&>|>\|", "", text)) is None


def _of_segment(segment: Segment, folder: str) -> Iterator[Loss]:
    for redirection in segment.redirections:
        if redirection.is_write:
            yield _loss("file", redirection.target, folder, is_destructive=False)
    if "ssh" in segment.wrappers:
        return  # on another machine
    program = segment.program.rpartition("/")[2].removesuffix(".exe")
    if program == "git":
        yield from _git(segment.parts, folder)
    elif (reader := _PROGRAMS.get(program)) is not None:
        # `find` puts paths below its start folder in for `{}`. Those count as a separate loss.
        is_found = segment.wrappers[-1:] in (("find",), ("gfind",))
        yield from reader([word for word in segment.parts[1:] if not (is_found and word.text == "{}")], folder)


_Reader = Callable[[Sequence[Word], str], Iterator[Loss]]


def _every_operand(kind: LossKind, *, is_destructive: bool = True, values: Sequence[str] = ()) -> _Reader:
    return lambda words, folder: (
        _loss(kind, word, folder, is_destructive=is_destructive) for word in _operands(words, values)
    )


def _moves(words: Sequence[Word], folder: str) -> Iterator[Loss]:
    operands = _operands(words, values=("-t", "-S", "--target-directory", "--suffix"))
    for word in operands[:-1] if not _target_option(words) else operands:
        yield _loss("tree", word, folder, is_destructive=False)
    yield from _overwrites(words, folder)


def _overwrites(words: Sequence[Word], folder: str) -> Iterator[Loss]:
    operands = _operands(words, values=("-t", "-S", "-m", "-o", "-g", "--target-directory", "--suffix", "--mode"))
    target = _target_option(words)
    if target is None:
        if not operands:
            return
        target = operands[-1]
        operands = operands[:-1]
    place, _ = _place(target, folder)
    yield Loss("file", place, is_destructive=False)
    for word in operands:
        name = posixpath.basename(word.text.rstrip("/")) if word.is_known else ""
        inner = posixpath.join(place, name) if name not in ("", ".", "..") else place
        yield Loss("tree", _squeezed(inner), is_destructive=False)


def _rsync(words: Sequence[Word], folder: str) -> Iterator[Loss]:
    operands = _operands(words, values=("-e", "--rsh", "--exclude", "--include", "--filter", "-f"))
    is_deleting = any(word.text.startswith(("--del", "--remove-source-files")) for word in words)
    if operands and ":" not in operands[-1].text:
        yield _loss("tree", operands[-1], folder, is_destructive=is_deleting)
    if any(word.text == "--remove-source-files" for word in words):
        for word in operands[:-1]:
            yield _loss("tree", word, folder)


def _find(words: Sequence[Word], folder: str) -> Iterator[Loss]:
    texts = [word.text for word in words]
    starts: list[Word] = []
    for word in words:
        if word.text.startswith(("-", "(", "!", ",")) and word.text not in ("-L", "-H", "-P"):
            break
        if word.text not in ("-L", "-H", "-P"):
            starts.append(word)
    runs = [texts[at + 1] for at, text in enumerate(texts[:-1]) if text in ("-exec", "-execdir", "-ok", "-okdir")]
    is_deleting = "-delete" in texts
    if is_deleting or any(posixpath.basename(name) not in _HARMLESS for name in runs):
        is_destructive = is_deleting or any(posixpath.basename(name) in _DELETING for name in runs)
        for word in starts or [Word(".")]:
            yield _loss("tree", word, folder, is_destructive=is_destructive)


_HARMLESS = frozenset({"grep", "egrep", "rg", "cat", "head", "tail", "wc", "ls", "stat", "file", "echo", "printf"})
_DELETING = frozenset({"rm", "rmdir", "unlink", "shred", "truncate", "srm", "trash", "rimraf", "del-cli"})
_PROGRAMS: dict[str, _Reader] = {
    **dict.fromkeys(_DELETING, _every_operand("tree")),
    **dict.fromkeys(
        ("truncate", "shred"),
        _every_operand("file", values=("-s", "-r", "-n", "--size", "--reference", "--iterations")),
    ),
    "mv": _moves,
    **dict.fromkeys(("cp", "install", "ln"), _overwrites),
    **dict.fromkeys(("tee", "sponge"), _every_operand("file", is_destructive=False)),
    "dd": lambda words, folder: (
        _loss("file", Word(word.text[3:], word.kind), folder) for word in words if word.text.startswith("of=")
    ),
    "rsync": _rsync,
    **dict.fromkeys(("find", "gfind"), _find),
}

_GIT_READING = frozenset({
    "status", "log", "diff", "show", "blame", "grep", "ls-files", "ls-tree", "ls-remote", "rev-parse", "rev-list",
    "describe", "cat-file", "help", "version", "shortlog", "for-each-ref", "name-rev", "merge-base", "count-objects",
    "check-ignore", "var", "whatchanged", "range-diff", "cherry", "archive", "bundle", "fsck", "diff-tree",
    "diff-index", "diff-files", "show-ref", "annotate", "init", "clone", "config", "add", "push", "send-email",
})  # fmt: skip


class _GitCall:
    def __init__(self, name: str, words: Sequence[Word], folder: str) -> None:
        texts = [word.text for word in words]
        self.name = name
        self.folder = folder
        self.has_dashes = "--" in texts
        end = texts.index("--") if self.has_dashes else len(texts)
        self._texts = texts[:end]
        self.operands = [*(word for word in words[:end] if not word.text.startswith("-")), *words[end + 1 :]]

    @property
    def action(self) -> str:
        return self.operands[0].text if self.operands else ""

    def has(self, *options: str) -> bool:
        """Whether the call has one of these options. Short ones count in a bundle (`-fd`), long ones abbreviated."""
        return any(_is_option(text, option) for text in self._texts for option in options)

    def lost(self, *kinds: LossKind, is_destructive: bool = True) -> Iterator[Loss]:
        return (_loss(kind, None, self.folder, is_destructive=is_destructive) for kind in kinds)

    def lost_at(self, kind: LossKind, words: Sequence[Word], *, is_destructive: bool = True) -> Iterator[Loss]:
        return (_loss(kind, word, self.folder, is_destructive=is_destructive) for word in words)


def _git(parts: Sequence[Word], folder: str) -> Iterator[Loss]:
    index = 1
    while index < len(parts) and parts[index].text.startswith("-"):
        text = parts[index].text
        if text in ("-C", "--work-tree") and index + 1 < len(parts):
            folder, _ = _place(parts[index + 1], folder)
        elif text.startswith("--work-tree="):
            folder, _ = _place(Word(text.partition("=")[2], parts[index].kind), folder)
        index += 2 if text in GIT_VALUES else 1
    if index >= len(parts):
        return
    call = _GitCall(parts[index].text if parts[index].is_known else "", parts[index + 1 :], folder)
    if call.name in _GIT_READING or call.has("--help"):
        return
    if (reader := _GIT_COMMANDS.get(call.name)) is not None:
        yield from reader(call)
        return
    kinds, options = _GIT_FORMS.get(call.name, (("refs",), ()))
    yield from call.lost(*kinds, is_destructive=options is None or call.has(*options))


def _is_option(text: str, option: str) -> bool:
    if option.startswith("--"):
        name = text.partition("=")[0]
        return len(name) > 3 and option.startswith(name)
    return text.startswith("-") and not text.startswith("--") and option[1] in text[1:]


def _git_clean(call: _GitCall) -> Iterator[Loss]:
    if not call.has("-n", "--dry-run"):
        yield from call.lost("ignored" if call.has("-x", "-X") else "untracked")


def _git_checkout(call: _GitCall) -> Iterator[Loss]:
    names_files = (
        call.has_dashes
        or len(call.operands) > 1
        or any(
            not word.is_known or word.text == "." or "/" in word.text or "." in word.text.lstrip(".")
            for word in call.operands
        )
    )
    is_new = call.has("-b", "--orphan")
    is_forced = call.has("-f", "--force", "-B", "--ours", "--theirs", "-p", "--patch", "--pathspec-from-file")
    return call.lost(*_WORK, is_destructive=is_forced or (names_files and not is_new))


def _git_stash(call: _GitCall) -> Iterator[Loss]:
    if call.action in ("drop", "clear"):
        yield from call.lost("refs")
    elif call.action not in ("list", "show"):
        yield from call.lost(*_WORK, is_destructive=call.action in ("pop", "branch"))
        if call.has("-u", "--include-untracked", "-a", "--all"):
            yield from call.lost("ignored" if call.has("-a", "--all") else "untracked", is_destructive=False)


def _git_worktree(call: _GitCall) -> Iterator[Loss]:
    if call.action == "remove":
        yield from call.lost_at("worktree", call.operands[1:])
    elif call.action in ("prune", "move"):
        yield from call.lost("worktree")
    if call.action != "list":
        yield from call.lost("refs", is_destructive=call.action == "remove")


def _git_cleans_up(call: _GitCall) -> Iterator[Loss]:
    forgets = {
        "gc": call.has("--prune"),
        "repack": call.has("-a", "-d"),
        "prune": not call.has("-n", "--dry-run"),
        "reflog": call.action in ("expire", "delete"),
    }
    return call.lost(*(("objects", "refs") if forgets[call.name] else ()))


def _git_removes(call: _GitCall) -> Iterator[Loss]:
    if not call.has("-n", "--dry-run"):
        yield from call.lost_at("tree", call.operands)
        yield from call.lost(*_WORK)


def _git_submodule(call: _GitCall) -> Iterator[Loss]:
    if call.action in ("deinit", "update"):
        is_forced = call.action == "deinit" or call.has("-f", "--force")
        yield from call.lost_at("tree", call.operands[1:] or [Word(".")], is_destructive=is_forced)


_WORK: tuple[LossKind, ...] = ("uncommitted", "refs")
_GIT_COMMANDS: dict[str, Callable[[_GitCall], Iterator[Loss]]] = {
    "clean": _git_clean,
    "checkout": _git_checkout,
    "stash": _git_stash,
    "worktree": _git_worktree,
    **dict.fromkeys(("gc", "prune", "repack", "reflog"), _git_cleans_up),
    "rm": _git_removes,
    "mv": lambda call: call.lost_at("tree", call.operands, is_destructive=False),
    "submodule": _git_submodule,
}
"""Commands of git whose words need their own parser. For all others, the options suffice."""

_GIT_FORMS: dict[str, tuple[tuple[LossKind, ...], tuple[str, ...] | None]] = {
    **dict.fromkeys(
        ("restore", "checkout-index", "read-tree", "rebase", "filter-branch", "filter-repo"), (_WORK, None)
    ),
    **dict.fromkeys(("update-ref", "symbolic-ref", "replace", "notes"), (("refs",), None)),
    **dict.fromkeys(
        ("merge", "pull", "am", "cherry-pick", "revert", "bisect", "apply"),
        (_WORK, ("--abort", "--rebase", "-r", "--force", "--quit", "--skip")),
    ),
    "switch": (_WORK, ("-f", "--force", "--discard-changes", "-C", "--force-create")),
    "reset": (_WORK, ("--hard", "--merge", "--keep")),
    "commit": (("refs",), ("--amend",)),
    "branch": (("refs",), ("-D", "-d", "--delete", "-f", "--force", "-M", "-C")),
    "tag": (("refs",), ("-d", "--delete", "-f", "--force")),
}
"""What other commands can lose, and the options that make the loss their purpose (None: it always is)."""


def _operands(words: Sequence[Word], values: Sequence[str] = ()) -> list[Word]:
    found: list[Word] = []
    rest = iter(words)
    for word in rest:
        if word.text == "--" and word.is_known:
            return [*found, *rest]
        if not word.text.startswith("-") or word.text == "-":
            found.append(word)
        elif word.text in values:
            next(rest, None)
    return found


def _target_option(words: Sequence[Word]) -> Word | None:
    for at, word in enumerate(words):
        if word.text in ("-t", "--target-directory") and at + 1 < len(words):
            return words[at + 1]
        if word.text.startswith("--target-directory="):
            return Word(word.text.partition("=")[2], word.kind)
    return None


def _loss(kind: LossKind, word: Word | None, folder: str, *, is_destructive: bool = True) -> Loss:
    place, certainty = _place(word or Word("."), folder)
    return Loss(kind, place, is_destructive, certainty)


def _place(word: Word, folder: str) -> tuple[str, Certainty]:
    if word.is_known:
        return _joined(folder, word.text), "exact"
    if word.kind == "simple" and not re.search(r"[$`{}…\"'\\~]", word.text):
        return _joined(folder, word.text), "pattern"
    return _static_part(word, folder), "guess"


def _static_part(word: Word, folder: str) -> str:
    text = word.text.replace('"', "").replace("'", "").replace("\\", "")
    known = re.split(r"[*?\[{$`~…]|<\(", text, maxsplit=1)[0]
    return _joined(folder, known.rpartition("/")[0] + "/") if "/" in known else _squeezed(folder)


def _joined(folder: str, path: str) -> str:
    if path == "~" or path.startswith("~/"):
        return path  # the home folder, which the caller resolves when it looks at the disk
    return _squeezed(posixpath.join(folder, path))


def _squeezed(path: str) -> str:
    squeezed = posixpath.normpath(path) if path else "/"
    return squeezed.replace("//", "/", 1) if squeezed.startswith("//") else squeezed
