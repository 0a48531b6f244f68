"""What a project may say about how the agent works in it: only what is stricter than what the user chose.

A cloned repository is not the user. Its file is read, compared with the user's settings, and everything in it that
would loosen or decide something else is refused by name. Nothing of it holds before the user trusted it.
"""

import hashlib
import os
import stat
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.settings.loading import FileProblem, FileText, SettingSource, parse_file, values_in
from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.tables import FoundTable
from desktop_agent.core.settings.tightening import tightened
from desktop_agent.core.settings.values import Setting, declared_settings, replaced, shown_value, value_of

PROJECT_FOLDER = ".desktop-agent"
PROJECT_FILE = "config.toml"

_LARGEST_BYTES = 64 * 1024
"""More than a user would read before trusting it."""

_ONLY = (
    "a project may only make approvals, the sandbox, blocked commands, the limits of tools and of spending, and the "
    "search of the web stricter"
)


class Tightened(Struct, frozen=True):
    """One setting that the project makes stricter."""

    key: str
    before: object
    after: object
    line: int | None


class ProjectProposal(Struct, frozen=True):
    """What a project's file comes to under the user's settings."""

    path: Path
    text: str
    changes: tuple[Tightened, ...]
    problems: tuple[FileProblem, ...]
    """What of it is refused, and why."""
    tables: tuple[FoundTable, ...] = ()
    """What its lists of tables hold."""

    @property
    def digest(self) -> str:
        """Stands for the content that was trusted; another content is asked about again."""
        return digest_of_text(self.text)

    def applied_to(self, settings: Settings) -> Settings:
        """Return `settings` with the changes made."""
        for change in self.changes:
            settings = replaced(settings, change.key, change.after)
        return settings

    @property
    def sources(self) -> dict[str, SettingSource]:
        """Where the changed values come from."""
        return {change.key: SettingSource("project", str(self.path), change.line) for change in self.changes}


def digest_of_text(text: str) -> str:
    """Return what stands for a content."""
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=32).hexdigest()


def read_project(root: Path) -> FileText | None:
    """Return what stands in the project's file, None when there is none. Blocks; never raises.

    Only a plain file of reasonable size is read: the project chose what stands there.
    """
    path = root / PROJECT_FOLDER / PROJECT_FILE
    try:
        if stat.S_ISLNK(path.parent.lstat().st_mode):
            return _refused(path, "is in a folder that is a symbolic link, so it is not read")
        if stat.S_ISLNK(path.lstat().st_mode):
            return _refused(path, "is a symbolic link, so it is not read")
        # A pipe in its place would wait for ever.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return _refused(path, "is not a file, so it is not read")
            content = file.read(_LARGEST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return _refused(path, f"cannot be read: {error.strerror or error}")
    if len(content) > _LARGEST_BYTES:
        return _refused(path, f"is larger than {_LARGEST_BYTES // 1024} KiB, so it is not read")
    try:
        return parse_file(path, content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return _refused(path, f"cannot be read: {error}")


def proposal_of(file: FileText, user_settings: Settings) -> ProjectProposal:
    """Return what `file` comes to under the user's settings."""
    if file.problem is not None:
        return ProjectProposal(file.path, file.text, (), (file.problem,))
    values, problems, tables = values_in(file, user_settings)
    changes: list[Tightened] = []
    for key, value in values.items():
        before, line = value_of(user_settings, key), file.line_of(key)
        try:
            after = _tightened(declared_settings()[key], before, value)
        except ValueError as error:
            problems.append(FileProblem(file.path, key, str(error), line))
            continue
        if after != before:
            changes.append(Tightened(key, before, after, line))
    own = tuple(replace(table, is_project=True) for table in tables)
    return ProjectProposal(file.path, file.text, tuple(changes), tuple(problems), own)


def _tightened(setting: Setting, before: object, wanted: object) -> object:
    """Return the value that holds. Raises `ValueError` that says why a project may not set this."""
    if setting.about.tightening is None:
        raise ValueError(f"refused: {_ONLY}")
    after = tightened(setting, before, wanted)
    if after is None:
        word = "lower" if setting.about.tightening == "lower" else "stricter"
        raise ValueError(f"refused: {shown_value(wanted)} is not {word} than your {shown_value(before)}")
    return after


def _refused(path: Path, reason: str) -> FileText:
    return FileText(path, "", {}, FileProblem(path, "", reason, is_fault=True))
