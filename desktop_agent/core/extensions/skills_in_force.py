"""Decides which of the skills found are in force, and what the model learns of them and their files."""

import json
import logging
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Literal, cast

from msgspec import Struct

from desktop_agent.core.base.errors import StorageError, ToolError, storage_error
from desktop_agent.core.base.plain_text import named, shortened
from desktop_agent.core.context.tokens import text_tokens
from desktop_agent.core.extensions.skills import SKILL_FILE, Skill, SkillFolders, secret_by_name
from desktop_agent.core.extensions.untrusted import read_start, why_unread
from desktop_agent.core.policy.paths import sensitivity
from desktop_agent.core.protocol.model import GuidanceFile
from desktop_agent.core.settings.workspace_settings import ProjectItem, WorkspaceSettings
from desktop_agent.core.system.file_writes import write_private

MAX_FILE_CHARS = 65_536
_MAX_FILES = 100
_MAX_DEPTH = 5
_MAX_FOUND = 20
_MAX_USES = 500
_DESCRIPTIONS = (1_024, 300, 120, 50)
"""How long descriptions may be, in characters: the first of these with which all skills fit."""

logger = logging.getLogger(__name__)


class SkillUses:
    """Which skills were used, newest first, so that those used least recently are left out where room is short."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def newest(self) -> tuple[str, ...]:
        """Blocks. An unreadable file counts as empty: only an order depends on it."""
        try:
            found: object = json.loads(self._path.read_bytes()[: 2**20])
        except (OSError, ValueError, RecursionError):
            return ()
        return tuple(map(str, cast("list[object]", found)[:_MAX_USES])) if isinstance(found, list) else ()

    def note(self, skill: Skill) -> None:
        """Blocks; never raises."""
        path = str(skill.path)
        newest = [path, *(other for other in self.newest() if other != path)]
        try:
            with storage_error("The use of a skill could not be noted.", path=self._path):
                write_private(self._path, json.dumps(newest[:_MAX_USES]).encode())
        except StorageError as error:
            logger.warning("%s %s", error.title, error.detail)


State = Literal["on", "off", "waiting", "unusable"]


class ListedSkill(Struct, frozen=True):
    skill: Skill
    state: State
    """`waiting`: for the user's answer whether the project is trusted."""
    reason: str = ""


def listed(skills: Sequence[Skill], *, is_trusted: bool, off: Collection[str]) -> tuple[ListedSkill, ...]:
    """Return the state of each skill. Of several with one name, the first is used."""
    taken: dict[str, Skill] = {}

    def state(skill: Skill) -> ListedSkill:
        if skill.problem:
            return ListedSkill(skill, "unusable", skill.problem)
        if skill.needs_trust and not is_trusted:
            return ListedSkill(skill, "waiting")
        if skill.name in off:
            return ListedSkill(skill, "off")
        first = taken.setdefault(skill.name, skill)
        if first is not skill:
            return ListedSkill(skill, "unusable", f"another skill has this name, in {first.path}")
        return ListedSkill(skill, "on", skill.warning)

    return tuple(map(state, skills))


class Skills:
    """The skills of one workspace, for all of its sessions."""

    def __init__(self, folders: SkillFolders, settings: WorkspaceSettings, uses: SkillUses) -> None:
        self.folders = folders
        self.settings = settings
        self.uses = uses
        self.usable: tuple[Skill, ...] = ()
        """Those in force at the last look."""

    @property
    def for_model(self) -> tuple[Skill, ...]:
        return tuple(skill for skill in self.usable if skill.is_for_model)

    def look(self) -> tuple[ListedSkill, ...]:
        """Blocks; never raises."""
        current = self.settings.current.skills
        found = listed(self.folders.read(), is_trusted=self.settings.trusts_texts, off=current.off)
        if not current.enable:
            off = "all skills are switched off"
            found = tuple(each if each.skill.is_ours else ListedSkill(each.skill, "off", off) for each in found)
        self.usable = tuple(each.skill for each in found if each.state == "on")
        return found

    def named(self, name: str) -> Skill:
        """Return a skill that the model may use. Raises `ToolError` (not_found)."""
        wanted = name.strip().removeprefix("/").lower()
        for skill in self.for_model:
            if skill.name == wanted:
                return skill
        raise ToolError(f"There is no skill {name!r}. Find one with search.", error_type="not_found")

    def search(self, words: str) -> tuple[Skill, ...]:
        wanted = words.casefold().split()
        return tuple(
            skill
            for skill in self.for_model
            if all(word in f"{skill.name} {skill.description}".casefold() for word in wanted)
        )[:_MAX_FOUND]

    def readable_folders(self) -> tuple[Path, ...]:
        """Return the folders outside the project that commands in the sandbox may read, for the scripts in them."""
        own = (skill for skill in self.usable if skill.has_folder and skill.origin == "person")
        folders = dict.fromkeys(skill.plugin or skill.path.parent for skill in own)
        return tuple(folder for folder in folders if not any(map(_is_secret, _all_files(folder))))


def skill_items(skills: Sequence[Skill]) -> tuple[ProjectItem, ...]:
    theirs = (skill for skill in skills if skill.needs_trust and not skill.problem)
    return tuple(ProjectItem(kind="skill", name=s.name, path=s.path, detail=s.description) for s in theirs)


class SkillOffer:
    """The list of skills for the model of one session."""

    def __init__(self, skills: Skills) -> None:
        self._skills = skills
        self._made: tuple[tuple[Skill, ...], int, GuidanceFile | None] | None = None

    def text(self, room: int) -> GuidanceFile | None:
        """Return the list in at most `room` tokens; `None` for no skill. Blocks.

        It stays the same, for the provider's cache, until the skills or the room change.
        """
        self._skills.look()
        skills = self._skills.for_model
        if self._made is None or self._made[:2] != (skills, room):
            text = offered(skills, room, self._skills.uses.newest()) if skills else ""
            self._made = (skills, room, GuidanceFile(path="Skills", scope="skills", text=text) if text else None)
        return self._made[2]


def offered(skills: Sequence[Skill], room: int, newest: Sequence[str]) -> str:
    """Return a line for each skill, in at most `room` tokens: shortened if necessary, and at last without some."""
    for most in _DESCRIPTIONS:
        lines = [_line(skill, most) for skill in sorted(skills, key=lambda skill: skill.name)]
        if text_tokens("\n".join(lines)) <= room:
            return "\n".join(lines)
    place = {path: index for index, path in enumerate(newest)}
    by_use = sorted(skills, key=lambda skill: (place.get(str(skill.path), len(place)), skill.name))
    more = "And {0:,} more, which `read_skill` finds with `search`."
    left = room - text_tokens(more.format(len(skills)))
    kept: list[str] = []
    for skill in by_use:
        line = _line(skill, _DESCRIPTIONS[-1])
        left -= text_tokens(f"{line}\n")
        if left < 0:
            break
        kept.append(line)
    return "\n".join([*sorted(kept), more.format(len(skills) - len(kept))])


def _line(skill: Skill, most: int) -> str:
    return f"- {named(skill.name)}: {named(shortened(skill.description, most))} ({named(skill.place)})"


# --- the files of a skill ------------------------------------------------------------------------------------------


def files_of(skill: Skill) -> tuple[str, ...]:
    """Return the files beside `SKILL.md`, relative to its folder. Blocks; never raises."""
    if not skill.has_folder:
        return ()
    return tuple(name for name in _all_files(skill.path.parent) if name != SKILL_FILE and not _is_secret(name))


def _all_files(folder: Path) -> tuple[str, ...]:
    return tuple(name for _, name in zip(range(_MAX_FILES), _files_below(folder, "", _MAX_DEPTH), strict=False))


def _files_below(folder: Path, prefix: str, depth: int) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            if depth > 1 and entry.name not in (".git", "node_modules", "__pycache__"):
                yield from _files_below(Path(entry.path), f"{prefix}{entry.name}/", depth - 1)
        elif entry.is_file(follow_symlinks=False):
            yield f"{prefix}{entry.name}"


def _is_secret(name: str) -> bool:
    return sensitivity(name) == "secret"


def file_of(skill: Skill, name: str) -> tuple[str, bool]:
    """Return the text of a file in a skill's folder, and whether it was cut. Blocks. Raises `ToolError`."""
    folder = skill.path.parent
    try:
        path = (folder / name).resolve(strict=True)
        if not skill.has_folder or not path.is_relative_to(folder):
            raise ToolError(f"{name} is not in the folder of the skill {skill.name}.", error_type="permission")
        if _is_secret(path.relative_to(folder).as_posix()) or (path.stat().st_nlink > 1 and skill.origin == "project"):
            raise ToolError(f"{name} may hold secrets, so it is not read.", error_type="permission")
        if not path.is_file():
            raise ToolError(f"{name} is no file.", error_type="not_found")
        content = read_start(path, MAX_FILE_CHARS + 1, secret_by_name if skill.origin == "project" else None)
    except (OSError, ValueError, RuntimeError) as error:
        raise ToolError(f"{name} cannot be read: {why_unread(error)}", error_type="not_found") from error
    if b"\0" in content:
        raise ToolError(f"{name} is not text. A script may use it.", error_type="validation")
    return content[:MAX_FILE_CHARS].decode(errors="replace"), len(content) > MAX_FILE_CHARS
