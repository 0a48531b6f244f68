"""Which files of the open folder the conversation may lead to."""

from collections.abc import Iterable, Mapping


class KnownFiles:
    """The files of the open folder, as far as they are known; none in the beginning."""

    def __init__(self) -> None:
        self._root = ""
        self._paths: frozenset[str] = frozenset()
        self._names: Mapping[str, str] = {}
        self._changed: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self._paths or self._changed)

    def set_files(self, root: str, paths: frozenset[str], names: Mapping[str, str]) -> bool:
        """Know these files below `root`, and by which names alone (`names_alone`) some are meant.

        Return whether they are others than those that were known.
        """
        is_other = (self._root, self._paths) != (f"{root}/", paths)
        self._root, self._paths, self._names = f"{root}/", paths, names
        self._changed = frozenset()
        return is_other

    def set_changed(self, paths: Iterable[str]) -> None:
        """Know these files as well, which the conversation changed: some of them since the others were listed."""
        self._changed = frozenset(paths)

    def find(self, written: str) -> str:
        """Return the file that is meant by a path or name, relative to the folder; empty when there is none."""
        path = written.removeprefix("./")
        if path.startswith("/"):
            if not path.startswith(self._root):
                return ""
            path = path.removeprefix(self._root)
        if path in self._paths or path in self._changed:
            return path
        return self._names.get(path, "") if "." in path else ""


def names_alone(paths: Iterable[str]) -> dict[str, str]:
    """Return the names that only one of these files has, with its path. Meant for a thread."""
    found: dict[str, str] = {}
    for path in paths:
        name = path.rpartition("/")[2]
        found[name] = "" if name in found else path
    return {name: path for name, path in found.items() if path}
