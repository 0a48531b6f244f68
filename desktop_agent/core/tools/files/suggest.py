"""Did you mean: finds what is most similar to a missing name, path or text."""

import os
from collections import deque
from collections.abc import Iterable
from heapq import nlargest
from itertools import islice
from operator import itemgetter
from pathlib import Path

from desktop_agent.core.base.file_names import legible_name
from desktop_agent.core.base.regex import regex

LIMIT = 3
MOST_COMPARED = 20_000
LONGEST_COMPARED = 300
LONGEST_SHOWN = 200

_ALIKE = 60

_BETWEEN_WORDS = regex(r"[\s_.-]+")
_DULL = frozenset({"__pycache__", "node_modules"})


def closest_names(name: str, candidates: Iterable[str]) -> tuple[str, ...]:
    wanted = _words(name)
    if not any(wanted):
        return ()
    scored = ((_likeness(wanted, _words(text)), text) for text in islice(candidates, MOST_COMPARED))
    found = nlargest(LIMIT, (pair for pair in scored if pair[0] >= _ALIKE), key=itemgetter(0))
    return tuple(text for _, text in found)


def closest_paths(missing: Path, root: Path) -> tuple[str, ...]:
    """Return up to three entries with names like `missing`, relative to `root`. Suffixes are ignored. Blocks."""
    folder = missing.parent
    try:
        names = [entry.name for entry in islice(folder.iterdir(), MOST_COMPARED)]
    except OSError:
        return ()
    stems: dict[str, list[str]] = {}
    for name in names:
        stems.setdefault(Path(name).stem, []).append(name)
    # Among names that differ only in their suffix, the one with the same suffix comes first.
    alike = [name for stem in closest_names(missing.stem, stems) for name in sorted(stems[stem])]
    alike.sort(key=lambda name: Path(name).stem != missing.stem or Path(name).suffix != missing.suffix)
    return tuple(legible_name((folder / name).relative_to(root).as_posix()) for name in alike[:LIMIT])


def _words(name: str) -> list[str]:
    return _BETWEEN_WORDS.split(name.lower())


def _likeness(wanted: list[str], words: list[str]) -> float:
    if set(wanted) <= set(words):
        return 90.0 + 10.0 * len(wanted) / len(words)
    from rapidfuzz import fuzz  # takes 17 ms to import, and most calls do not need it

    return max(
        fuzz.ratio(" ".join(wanted), " ".join(words)), fuzz.ratio(" ".join(sorted(wanted)), " ".join(sorted(words)))
    )


def paths_named(name: str, root: Path) -> tuple[str, ...]:
    """Return up to three files with this name, nearest first. Blocks, for a bounded time."""
    found: list[str] = []
    looked_at = 0
    folders = deque([root])
    while folders and looked_at < MOST_COMPARED and len(found) < LIMIT:
        try:
            entries = sorted(os.scandir(folders.popleft()), key=lambda entry: entry.name)
        except OSError:
            continue
        looked_at += len(entries)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in _DULL:
                    folders.append(Path(entry.path))
            elif entry.name == name:
                found.append(Path(entry.path).relative_to(root).as_posix())
    return tuple(map(legible_name, found[:LIMIT]))


def same_words(wanted: str, text: str) -> int | None:
    lines = [line.split() for line in text.split("\n")[:MOST_COMPARED]]
    needle = [line.split() for line in wanted.strip("\n").split("\n")]
    if not any(needle):
        return None
    starts = (number for number in range(len(lines) - len(needle) + 1) if lines[number] == needle[0])
    return next((start + 1 for start in starts if lines[start : start + len(needle)] == needle), None)


def similar_lines(wanted: str, text: str) -> tuple[int, ...]:
    from rapidfuzz import fuzz, process

    first = next((line.strip()[:LONGEST_COMPARED] for line in wanted.split("\n") if line.strip()), "")
    lines = [line.strip()[:LONGEST_COMPARED] for line in text.split("\n")[:MOST_COMPARED]]
    found = process.extract(first, lines, scorer=fuzz.ratio, limit=LIMIT, score_cutoff=60) if first else []
    return tuple(number + 1 for _, _, number in found)


def similar_shown(wanted: str, text: str) -> str:
    lines = text.split("\n")
    return "\n".join(f"{number}: {lines[number - 1][:LONGEST_SHOWN]}" for number in similar_lines(wanted, text))
