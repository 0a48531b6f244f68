"""What a git command can destroy: uncommitted work, untracked files, refs, the stash, objects, worktrees.

Losses that git prevents unless forced are not counted; an unknown command counts as one that moves refs. The forms are
those of git's manual pages, git 2.39 to 2.51.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.policy.risks import GIT_VALUES
from desktop_agent.core.policy.shell_words import Word

LossKind = Literal["tree", "file", "uncommitted", "untracked", "ignored", "refs", "objects", "worktree"]
"""What can be lost at a place. `tree`: a file, or a folder with everything below. `file`: a file, but no folder.

In the repository of a folder: `uncommitted` changes of tracked files, `untracked` files, `ignored` files as well,
`refs` with the stash, unreachable `objects` with the reflogs. `worktree`: a working tree with git's data about it.
"""

_READING = frozenset({
    "status", "log", "diff", "show", "blame", "grep", "ls-files", "ls-tree", "ls-remote", "rev-parse", "rev-list",
    "describe", "cat-file", "help", "version", "shortlog", "for-each-ref", "name-rev", "merge-base", "count-objects",
    "check-ignore", "var", "whatchanged", "range-diff", "cherry", "archive", "bundle", "fsck", "diff-tree",
    "diff-index", "diff-files", "show-ref", "annotate", "init", "clone", "config", "add", "push", "send-email",
})  # fmt: skip
"""Commands that move no local branch, tag or stash entry, and discard no file."""


class GitLoss(Struct, frozen=True):
    """One possible loss, in the folder reached through `folders`, one after the other (`-C a -C b`)."""

    kind: LossKind
    path: Word | None = None
    """The path in that folder; None: the whole folder or its repository."""
    is_destructive: bool = True
    folders: tuple[Word, ...] = ()


class _Call(Struct, frozen=True):
    name: str
    words: tuple[Word, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.words)

    def has(self, *options: str) -> bool:
        """Whether any of these options is present: short ones also in a bundle (`-fd`), long ones also abbreviated."""
        return any(_is_option(text, option) for text in self._before_dashes() for option in options)

    @property
    def operands(self) -> tuple[Word, ...]:
        before = len(self._before_dashes())
        plain = (word for word in self.words[:before] if not word.text.startswith("-"))
        return (*plain, *self.words[before + 1 :])

    def _before_dashes(self) -> tuple[str, ...]:
        texts = self.texts
        return texts[: texts.index("--")] if "--" in texts else texts


def git_losses(parts: Sequence[Word]) -> Iterator[GitLoss]:
    """Yield what a git command can destroy; `parts` begins with the word `git`."""
    folders: list[Word] = []
    index = 1
    while index < len(parts) and parts[index].text.startswith("-"):
        text = parts[index].text
        value = parts[index + 1] if index + 1 < len(parts) else None
        if text in ("-C", "--work-tree") and value is not None:
            folders.append(value)
        elif text.startswith("--work-tree="):
            folders.append(Word(text.partition("=")[2], parts[index].kind))
        index += 2 if text in GIT_VALUES else 1
    if index >= len(parts):
        return
    name = parts[index].text if parts[index].is_known else ""
    call = _Call(name, tuple(parts[index + 1 :]))
    if name in _READING or call.has("--help"):
        return
    reader = _READERS.get(name, _by_options)
    for loss in reader(call):
        yield replace(loss, folders=tuple(folders))


def _is_option(text: str, option: str) -> bool:
    if option.startswith("--"):
        name = text.partition("=")[0]
        return len(name) > 3 and option.startswith(name)
    return text.startswith("-") and not text.startswith("--") and option[1] in text[1:]


def _clean(call: _Call) -> Iterator[GitLoss]:
    if call.has("-n", "--dry-run"):
        return
    yield GitLoss("ignored" if call.has("-x", "-X") else "untracked")


def _checkout(call: _Call) -> Iterator[GitLoss]:
    operands = call.operands
    names_files = "--" in call.texts or len(operands) > 1 or any(_looks_like_a_path(word) for word in operands)
    is_new = call.has("-b", "--orphan")
    is_forced = call.has("-f", "--force", "-B", "--ours", "--theirs", "-p", "--patch", "--pathspec-from-file")
    yield from _both(is_destructive=is_forced or (names_files and not is_new))


def _looks_like_a_path(word: Word) -> bool:
    return not word.is_known or word.text == "." or "/" in word.text or "." in word.text.lstrip(".")


def _stash(call: _Call) -> Iterator[GitLoss]:
    action = call.operands[0].text if call.operands else "push"
    if action in ("list", "show"):
        return
    if action in ("drop", "clear"):
        yield GitLoss("refs")
        return
    yield from _both(is_destructive=action in ("pop", "branch"))
    if call.has("-u", "--include-untracked", "-a", "--all"):
        yield GitLoss("ignored" if call.has("-a", "--all") else "untracked", is_destructive=False)


def _worktree(call: _Call) -> Iterator[GitLoss]:
    action, *rest = call.operands or (Word(""),)
    if action.text == "remove":
        for word in rest:
            yield GitLoss("worktree", word)
    elif action.text in ("prune", "move"):
        yield GitLoss("worktree")
    if action.text != "list":
        yield GitLoss("refs", is_destructive=action.text == "remove")


def _cleans_up(call: _Call) -> Iterator[GitLoss]:
    forgets = {"gc": call.has("--prune"), "repack": call.has("-a", "-d"), "prune": not call.has("-n", "--dry-run")}
    if forgets.get(call.name, not call.operands or call.operands[0].text in ("expire", "delete")):
        yield GitLoss("objects")
        yield GitLoss("refs")


def _reflog(call: _Call) -> Iterator[GitLoss]:
    if call.operands and call.operands[0].text in ("expire", "delete"):
        yield from _cleans_up(call)


def _removes(call: _Call) -> Iterator[GitLoss]:
    if not call.has("-n", "--dry-run"):
        for word in call.operands:
            yield GitLoss("tree", word)
        yield from _both()


def _moves(call: _Call) -> Iterator[GitLoss]:
    for word in call.operands:
        yield GitLoss("tree", word, is_destructive=False)


def _submodule(call: _Call) -> Iterator[GitLoss]:
    action, *rest = call.operands or (Word("status"),)
    if action.text in ("deinit", "update"):
        is_forced = action.text == "deinit" or call.has("-f", "--force")
        for word in rest or [Word(".")]:
            yield GitLoss("tree", word, is_destructive=is_forced)


def _both(*, is_destructive: bool = True) -> Iterator[GitLoss]:
    yield GitLoss("uncommitted", is_destructive=is_destructive)
    yield GitLoss("refs", is_destructive=is_destructive)


_READERS: dict[str, Callable[[_Call], Iterator[GitLoss]]] = {
    "clean": _clean,
    "checkout": _checkout,
    "stash": _stash,
    "worktree": _worktree,
    "gc": _cleans_up,
    "prune": _cleans_up,
    "repack": _cleans_up,
    "reflog": _reflog,
    "rm": _removes,
    "mv": _moves,
    "submodule": _submodule,
}
"""Commands whose words need their own parser; for all others the options suffice."""


class _Form(Struct, frozen=True):
    """What a command can lose, and the options that make the loss its purpose."""

    kinds: tuple[LossKind, ...]
    options: tuple[str, ...] = ()
    is_always_destructive: bool = False


_BOTH: tuple[LossKind, ...] = ("uncommitted", "refs")
_FORMS: dict[str, _Form] = {
    **dict.fromkeys(
        ("restore", "checkout-index", "read-tree", "rebase", "filter-branch", "filter-repo"),
        _Form(_BOTH, is_always_destructive=True),
    ),
    **dict.fromkeys(("update-ref", "symbolic-ref", "replace", "notes"), _Form(("refs",), is_always_destructive=True)),
    **dict.fromkeys(
        ("merge", "pull", "am", "cherry-pick", "revert", "bisect", "apply"),
        _Form(_BOTH, ("--abort", "--rebase", "-r", "--force", "--quit", "--skip")),
    ),
    "switch": _Form(_BOTH, ("-f", "--force", "--discard-changes", "-C", "--force-create")),
    "reset": _Form(_BOTH, ("--hard", "--merge", "--keep")),
    "commit": _Form(("refs",), ("--amend",)),
    "branch": _Form(("refs",), ("-D", "-d", "--delete", "-f", "--force", "-M", "-C")),
    "tag": _Form(("refs",), ("-d", "--delete", "-f", "--force")),
}
_UNKNOWN = _Form(("refs",))
"""For commands that are not listed, and for `fetch`."""


def _by_options(call: _Call) -> Iterator[GitLoss]:
    form = _FORMS.get(call.name, _UNKNOWN)
    is_destructive = form.is_always_destructive or call.has(*form.options)
    for kind in form.kinds:
        yield GitLoss(kind, is_destructive=is_destructive)
