"""What a command line can destroy, judged by its words: files, uncommitted work, branches, stash entries, objects.

The result decides what is copied before the command runs, so it errs on the side of too much: an unknown word (a
variable, the input of `xargs`) stands for everything in the folder. Nothing here looks at the disk: a place need not
exist, and paths are judged by their text alone.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from desktop_agent.core.policy.git_losses import GitLoss, LossKind, git_losses
from desktop_agent.core.policy.segments import CHANGES_FOLDER, ParsedCommand, Segment
from desktop_agent.core.policy.shell_words import Word

Certainty = Literal["exact", "pattern", "guess"]
"""`exact`: the place as named. `pattern`: a shell pattern for names in it. `guess`: the folder of an unknown word."""


class Loss(Struct, frozen=True):
    """One possible loss, and whether it is the purpose of the command."""

    kind: LossKind
    place: str
    """Absolute, with `/`, or with `~` for the home folder; without `.` and `..`."""
    is_destructive: bool = True
    """Whether the command always destroys: `rm` does; `mv` and `>` only if something is in their way."""
    certainty: Certainty = "exact"


def losses_of(parsed: ParsedCommand, folder: str) -> tuple[Loss, ...]:
    """Return what a line that runs in `folder` can destroy, without duplicates. Never raises."""
    found: dict[tuple[LossKind, str], Loss] = {}
    folders = _Folders(folder, is_chain=_is_chain(parsed.text))
    for segment in parsed.segments:
        for base in folders.now:
            for loss in _of_segment(segment, base):
                known = found.get((loss.kind, loss.place))
                found[loss.kind, loss.place] = loss if known is None else _stronger(known, loss)
        folders.follow(segment)
    if parsed.problems and _HINTS.search(parsed.text):
        # Somewhere in what was not understood is a word of destruction: it may mean anything.
        place = _squeezed(folder)
        found |= {(kind, place): Loss(kind, place, certainty="guess") for kind in _EVERYTHING}
    return tuple(found.values())


_EVERYTHING: tuple[LossKind, ...] = ("tree", "uncommitted", "refs")
_HINTS = re.compile(
    r"\b(rm|rmdir|unlink|shred|truncate|rmtree|removedirs|remove|rimraf|delete|del|clean|reset|checkout|restore|switch"
    r"|stash|worktree|rebase|amend|filter-branch|filter-repo|update-ref|reflog|gc|prune|wipe)\b"
)

# --- folders ------------------------------------------------------------------------------------------------------


class _Folders:
    """The folders that commands of a line can run in: that of the last `cd`, or any so far where that is uncertain."""

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
"""Once a line visits more, the rest counts as run in the last one."""


def _is_chain(text: str) -> bool:
    """Whether the line stops at the first command that fails: commands are joined only by `&&`."""
    return re.search(r"[;|\n(){}`]|(?<!&)&(?!&)", re.sub(r"\d?>&\d|&>|>\|", "", text)) is None


# --- commands -----------------------------------------------------------------------------------------------------


def _of_segment(segment: Segment, folder: str) -> Iterator[Loss]:
    for redirection in segment.redirections:
        if redirection.is_write:
            yield _loss("file", redirection.target, folder, is_destructive=False)
    if "ssh" in segment.wrappers:
        return  # on another machine
    program = segment.program.rpartition("/")[2].removesuffix(".exe")
    if program == "git":
        yield from (_from_git(loss, folder) for loss in git_losses(segment.parts))
    elif (reader := _PROGRAMS.get(program)) is not None:
        # What `find` puts in for `{}` lies where it starts, and that is a loss of its own.
        is_found = segment.wrappers[-1:] in (("find",), ("gfind",))
        yield from reader([word for word in segment.parts[1:] if not (is_found and word.text == "{}")], folder)


def _from_git(loss: GitLoss, folder: str) -> Loss:
    base = folder
    for word in loss.folders:
        base, _ = _place(word, base)
    if loss.path is None:
        return Loss(loss.kind, _squeezed(base), loss.is_destructive)
    return _loss(loss.kind, loss.path, base, is_destructive=loss.is_destructive)


def _deletes(words: Sequence[Word], folder: str) -> Iterator[Loss]:
    for word in _operands(words):
        yield _loss("tree", word, folder)


def _truncates(words: Sequence[Word], folder: str) -> Iterator[Loss]:
    for word in _operands(words, values=("-s", "-r", "-n", "--size", "--reference", "--iterations")):
        yield _loss("file", word, folder)


def _moves(words: Sequence[Word], folder: str) -> Iterator[Loss]:
    operands = _operands(words, values=("-t", "-S", "--target-directory", "--suffix"))
    for word in operands[:-1] if not _target_option(words) else operands:
        yield _loss("tree", word, folder, is_destructive=False)
    yield from _overwrites(words, folder)


def _overwrites(words: Sequence[Word], folder: str) -> Iterator[Loss]:
    """Yield what `cp a b dir` or `cp a b` overwrites: the file, or the files with these names in the folder."""
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


def _writes(words: Sequence[Word], folder: str) -> Iterator[Loss]:
    for word in _operands(words):
        yield _loss("file", word, folder, is_destructive=False)


def _dd(words: Sequence[Word], folder: str) -> Iterator[Loss]:
    for word in words:
        if word.text.startswith("of="):
            yield _loss("file", Word(word.text[3:], word.kind), folder)


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
_PROGRAMS: dict[str, Callable[[Sequence[Word], str], Iterator[Loss]]] = {
    **dict.fromkeys(_DELETING - {"truncate", "shred"}, _deletes),
    "truncate": _truncates,
    "shred": _truncates,
    "mv": _moves,
    "cp": _overwrites,
    "install": _overwrites,
    "ln": _overwrites,
    "tee": _writes,
    "sponge": _writes,
    "dd": _dd,
    "rsync": _rsync,
    "find": _find,
    "gfind": _find,
}

# --- words --------------------------------------------------------------------------------------------------------


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
    """Return the folder of `mv -t folder`."""
    for at, word in enumerate(words):
        if word.text in ("-t", "--target-directory") and at + 1 < len(words):
            return words[at + 1]
        if word.text.startswith("--target-directory="):
            return Word(word.text.partition("=")[2], word.kind)
    return None


def _loss(kind: LossKind, word: Word, folder: str, *, is_destructive: bool = True) -> Loss:
    place, certainty = _place(word, folder)
    return Loss(kind, place, is_destructive, certainty)


def _stronger(one: Loss, other: Loss) -> Loss:
    certainty = one.certainty if other.certainty == "guess" else other.certainty
    return Loss(one.kind, one.place, one.is_destructive or other.is_destructive, certainty)


def _place(word: Word, folder: str) -> tuple[str, Certainty]:
    """Return the path that a word means, or the parent folder when only that is known."""
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
