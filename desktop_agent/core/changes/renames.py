"""Which file is which while files are renamed, replaced, deleted and made anew: where each began and where it ended.

Two files never end at one path, and the records of all of them make the later files of the earlier ones.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from desktop_agent.core.protocol.model import FileChange, FileImage


class Life(Struct):
    """One file from the first to the last of its changes: it was `before` at `origin`, and is `after` at `end`.

    `before` is None for a file that came into being, `after` for one that is gone.
    """

    origin: str
    end: str
    before: FileImage | None
    after: FileImage | None
    places: set[int] = field(default_factory=set[int])
    """Which of the changes are its own, by their place in the sequence."""

    @property
    def path(self) -> str:
        """Where to look for it: a file that is gone is missing where it was at first."""
        return self.origin if self.after is None and self.before is not None else self.end


def follow(changes: Sequence[FileChange]) -> list[Life]:
    """Follow every file through `changes`, given in the order they were made. The paths of the result are unique."""
    departures = dict(pairs(changes))
    left = set(departures.values())
    here: dict[str, Life] = {}
    replaced: list[Life] = []
    for place, change in enumerate(changes):
        if place in left:
            continue  # with the other half of the rename
        there = here.get(change.path)
        if place in departures:
            if there is None and change.before is not None:
                there = Life(change.path, change.path, change.before, None)
            if there is not None:
                there.after = None
                replaced.append(there)
            departed = changes[departures[place]]
            life = here.pop(departed.path, None) or Life(departed.path, departed.path, departed.before, None)
            life.places.add(departures[place])
            life.end = change.path
        else:
            life = there or Life(change.path, change.path, change.before, change.after)
        life.after = change.after
        life.places.add(place)
        here[change.path] = life
    replaced_at = {life.end: life for life in replaced if life.origin == life.end}
    for place, change in enumerate(changes):
        if life := replaced_at.get(change.path):  # what others did at the path of a file is part of what became of it
            life.places.add(place)
    return _with_own_origins(_one_for_each_path([*replaced, *here.values()], changes))


def pairs(changes: Sequence[FileChange]) -> Iterator[tuple[int, int]]:
    """Find the two halves of every rename: the places of the arrival and of the departure."""
    leaving: dict[tuple[str, str], list[int]] = {}
    for place, change in enumerate(changes):
        if change.moved_to:
            leaving.setdefault((change.path, change.moved_to), []).append(place)
    for place, change in enumerate(changes):
        waiting = leaving.get((change.moved_from, change.path))
        if change.moved_from and waiting:
            yield place, waiting.pop(0)


def _one_for_each_path(lives: list[Life], changes: Sequence[FileChange]) -> list[Life]:
    """Bring together what meets at one path: a file that is gone from there, and one that came there.

    That can leave another one gone from where it came from, where in turn a third may have come, and so on.
    """
    by_path: dict[str, Life] = {}
    waiting = list(lives)
    while waiting:
        life = waiting.pop(0)
        other = by_path.pop(life.path, None)
        if other is None:
            by_path[life.path] = life
        else:
            gone, there = (life, other) if life.after is None else (other, life)
            waiting += _met(gone, there, changes)
    return list(by_path.values())


def _met(gone: Life, there: Life, changes: Sequence[FileChange]) -> Iterator[Life]:
    if gone.before is None:  # it was not there at first, so nothing is missing
        there.places |= gone.places
        yield there
        return
    path = gone.path
    if there.before is not None and there.origin != path:
        places = {place for place in there.places if changes[place].path == there.origin}
        yield Life(there.origin, there.origin, there.before, None, places)
        there.places -= places
    yield Life(path, there.end, gone.before, there.after, gone.places | there.places)


def _with_own_origins(lives: list[Life]) -> list[Life]:
    """Let a path be the origin of one file only; another one that claims it counts as new.

    Two claim it when a rename was taken back in a way that is not among the changes, and the file then changed.
    """
    claimed: set[str] = set()
    for life in sorted(lives, key=lambda life: life.origin != life.path):
        if life.before is not None and life.origin in claimed:
            life.origin, life.before = life.end, None
        elif life.before is not None:
            claimed.add(life.origin)
    return lives
