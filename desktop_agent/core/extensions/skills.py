"""Skills: texts that the model or the user invokes by name, found in the folders of this and of other agents.

A skill is a folder with a `SKILL.md` (agentskills.io/specification), or a file that others call a command or a prompt.
They are read as leniently as the peers read them. A project's files are untrusted: none is read through a link out of
the project, none that holds secrets, and none of its skills is offered before the user trusts the project.
"""

import os
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Generic, Literal, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.paths import real_path
from desktop_agent.core.base.plain_text import shortened
from desktop_agent.core.base.regex import regex
from desktop_agent.core.context.tokens import text_tokens
from desktop_agent.core.extensions.instructions import UserFolders
from desktop_agent.core.extensions.untrusted import FrontMatter, SecretAt, read_start, split, why_unread
from desktop_agent.core.policy.paths import sensitivity
from desktop_agent.core.system.private_files import FileStamp, is_unchanged

SKILL_FILE = "SKILL.md"
MAX_FILE_BYTES = 65_536
MAX_FILES = 300
"""How many files are read in one of the folders of skills."""
_MAX_TEXT = 8 * 2**20
"""How many characters all skills of a folder may have together, because they are kept."""
_MAX_FOLDERS = 2_000
_MAX_DEPTH = 4
_MAX_LEVELS = 32
_MAX_LINE = 200
_MAX_DESCRIPTION = 1_024

AGENTS_OF_FOLDERS: Final = (".agents", ".claude", ".codex", ".github", ".opencode", ".gemini")
_COMMANDS: Final = (
    (".claude/commands", ".md"), (".github/prompts", ".prompt.md"), (".opencode/command", ".md"),
    (".opencode/commands", ".md"), (".gemini/commands", ".toml"),
)  # fmt: skip
_OF_HOME: Final = ((".codex/prompts", ".md"), (".config/opencode/command", ".md"))

Origin = Literal["person", "project"]

_NAME = regex(r"[a-z0-9][a-z0-9_-]{0,63}", re.IGNORECASE)
_PLACE = regex(r"\$(?:ARGUMENTS\[(\d)\]|(ARGUMENTS)\b|([1-9])(?!\d))")
_RUNS = regex(r"!`[^`\n]+`|!\{[^}\n]+\}")
_NOT_RUN = (
    "[The lines above with !`command` were not run, and their output is not in the text. Run those that you need "
    "yourself.]"
)


class Skill(Struct, frozen=True, kw_only=True):
    name: str
    """As it is typed after a slash, in lower case."""
    description: str
    path: Path
    """The file, with links followed."""
    origin: Origin
    place: str
    """Where it was found, as the user knows it: `.claude/skills`."""
    body: str = ""
    arguments: str = ""
    """A hint at the arguments that it takes."""
    allowed_tools: str = ""
    """The tools that it says it needs. This grants none."""
    has_folder: bool = False
    """Whether the files in the folder of `path` belong to it."""
    is_ours: bool = False
    """Whether it is a command from our own folders, which only the user can invoke."""
    plugin: Path | None = None
    """The folder of the plugin that brings it. The answer about the plugin holds for the skill."""
    is_for_model: bool = True
    is_for_user: bool = True
    problem: str = ""
    """Why it cannot be used."""
    warning: str = ""

    @property
    def needs_trust(self) -> bool:
        return self.origin == "project" and not self.is_ours and self.plugin is None

    @property
    def tokens(self) -> int:
        """The estimated tokens of its whole text, which is loaded on request."""
        return round(text_tokens(self.body))

    def prompt(self, rest: str, words: Sequence[str]) -> str:
        """Return its prompt, with the arguments that the user typed filled in."""

        def filled(match: re.Match[str]) -> str:
            if match[2]:
                return rest
            index = int(match[1]) if match[1] else int(match[3]) - 1
            return words[index] if index < len(words) else ""

        body = self.body.replace("${CLAUDE_SKILL_DIR}", str(self.path.parent))
        text = _PLACE.sub(filled, body) if _PLACE.search(body) else f"{body}\n\n{rest}"
        parts = [text.strip()]
        if self.has_folder:
            parts.insert(0, f"[The skill {self.name}, whose files are in {self.path.parent}:]")
        if not self.is_ours and _RUNS.search(self.body):
            parts.append(_NOT_RUN)
        return "\n\n".join(parts)

    @property
    def has_places(self) -> bool:
        return _PLACE.search(self.body) is not None


class Source(Struct, frozen=True, kw_only=True):
    """A folder of skills."""

    folder: Path
    place: str
    suffix: str = ""
    """How the names of its files end; empty for folders with a `SKILL.md`."""
    origin: Origin
    within: Path | None = None
    """Its real folder that no link may lead out of; `None` for the user's own files, which may be anywhere."""
    secret_at: SecretAt | None = None
    is_ours: bool = False
    plugin: str = ""
    """The name of the plugin that brings it, which begins the names of all that is in it."""

    def full_name(self, name: str) -> str:
        return f"{self.plugin}:{name}" if self.plugin else name


T = TypeVar("T")


class SourceFolders(ABC, Generic[T]):
    """Finds files for one workspace. Unchanged files are not read again."""

    def __init__(
        self,
        root: Path,
        homes: UserFolders,
        secret_at: Callable[[], SecretAt],
        of_plugins: Callable[[], Iterable[Source]] = tuple,
    ) -> None:
        """`root` has no links in it. `secret_at` and `of_plugins` are called at each look."""
        self._root = root
        self._homes = homes
        self._secret_at = secret_at
        self._of_plugins = of_plugins
        self._known: dict[str, tuple[FileStamp, T]] = {}

    @abstractmethod
    def _sources(self) -> Iterator[Source]: ...

    def _each(self, most_folders: int, read: Callable[[Path, tuple[str, ...], Source], T]) -> Iterator[T]:
        """Yield what `read` makes of each file. At most so many folders are opened."""
        folders, earlier, self._known = iter(range(most_folders)), self._known, {}
        for source in self._sources():
            for path, parts in files_of(source, folders):
                try:
                    stamp = FileStamp.of(os.stat(path))  # noqa: PTH116 - for hundreds of files at each turn
                except (OSError, ValueError):
                    yield read(Path(path), parts, source)
                    continue
                key = f"{source.origin}\0{source.plugin}\0{path}"
                known = earlier.get(key)
                if known is None or not is_unchanged(stamp, known[0]):
                    known = stamp, read(Path(path), parts, source)
                self._known[key] = known
                yield known[1]


class SkillFolders(SourceFolders[Skill]):
    def read(self) -> tuple[Skill, ...]:
        """Return all skills: ours, then the project's, nearest first, then the user's, then the plugins'.

        Blocks; never raises.
        """
        text = 0
        found: dict[Path, Skill] = {}
        for skill in self._each(_MAX_FOLDERS, skill_at):
            text += len(skill.body)
            if skill.path in found:
                continue
            found[skill.path] = skill
            if text > _MAX_TEXT:
                found[skill.path] = replace(skill, body="", problem="there is too much text in all skills together")
        return tuple(found.values())

    def _sources(self) -> Iterator[Source]:
        secret_at = self._secret_at()
        mine, theirs = real_path(self._homes.config / "commands"), self._root / ".desktop-agent" / "commands"
        yield Source(folder=mine, place="commands", suffix=".md", origin="person", within=mine, is_ours=True)
        yield Source(
            folder=theirs, place=".desktop-agent/commands", suffix=".md", origin="project", within=self._root,
            secret_at=secret_at, is_ours=True,
        )  # fmt: skip
        for base in self._levels():
            judge = secret_at if base == self._root else secret_by_name
            for place, suffix in (*_skill_places(), *_COMMANDS):
                yield Source(
                    folder=base / place, place=str(base / place) if base != self._root else place, suffix=suffix,
                    origin="project", within=base, secret_at=judge,
                )  # fmt: skip
        for place, suffix in (*_skill_places(), *_COMMANDS, *_OF_HOME):
            homes = self._homes
            yield Source(folder=homes.at(place), place=homes.shown(place), suffix=suffix, origin="person")
        yield from self._of_plugins()

    def _levels(self) -> tuple[Path, ...]:
        """Return the workspace and the folders above it up to the top of its repository, but never the home folder."""
        levels: list[Path] = []
        home = real_path(self._homes.home)
        for folder in (self._root, *self._root.parents)[:_MAX_LEVELS]:
            if home.is_relative_to(folder):
                break
            levels.append(folder)
            if os.path.lexists(folder / ".git"):
                return tuple(levels)
        return tuple(levels[:1])


def _skill_places() -> Iterator[tuple[str, str]]:
    for agent in AGENTS_OF_FOLDERS:
        yield f"{agent}/skills", ""


def secret_by_name(path: Path, status: os.stat_result) -> str:
    """Judge a file by its name alone, where its other names are not looked for: one that has some may be a secret."""
    return path.name if sensitivity(path.name) == "secret" or status.st_nlink > 1 else ""


def files_of(source: Source, folders: Iterator[int]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the files of skills in a folder, with the parts of their names. `folders` limits how many are opened."""
    if not os.path.exists(source.folder):  # noqa: PTH110 - most of dozens are not there, which costs less to learn so
        return
    try:
        top = source.folder.resolve(strict=True)
        if source.within is not None and not top.is_relative_to(source.within):
            return
    except (OSError, RuntimeError):  # it is not there, or its links are circular
        return
    if source.plugin and (own := _named_itself(top, source)) is not None:
        yield own
        return
    for count, found in enumerate(_files_below(os.fspath(top), (), source, folders)):
        if count == MAX_FILES:
            return
        yield found


def _named_itself(top: Path, source: Source) -> tuple[str, tuple[str, ...]] | None:
    """Return the file of a source that is a single file or skill, as plugins may name them; `None` for a folder."""
    if source.suffix and top.name.lower().endswith(source.suffix) and top.is_file():
        return os.fspath(top), (top.name[: -len(source.suffix)],)
    if not source.suffix and os.path.lexists(top / SKILL_FILE):
        return os.fspath(top / SKILL_FILE), (top.name,)
    return None


def _files_below(
    folder: str, parts: tuple[str, ...], source: Source, folders: Iterator[int]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    if next(folders, None) is None:
        return
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in found:
        if entry.name.startswith("."):
            continue
        # Only the user's own folders may be links. How deep they are followed is limited.
        if entry.is_dir(follow_symlinks=source.within is None):
            below = (*parts, entry.name)
            if not source.suffix and os.path.lexists(path := f"{entry.path}/{SKILL_FILE}"):
                yield path, below
            elif len(below) < (1 if source.plugin and not source.suffix else _MAX_DEPTH):
                yield from _files_below(entry.path, below, source, folders)
        elif source.suffix and entry.name.lower().endswith(source.suffix):
            yield entry.path, (*parts, entry.name[: -len(source.suffix)])


def skill_at(path: Path, parts: tuple[str, ...], source: Source) -> Skill:
    is_folder = not source.suffix
    try:
        real, text = text_of(path, source)
        found = _of_toml(text) if source.suffix == ".toml" else split(text)
        problem = "" if found.body else "it is empty"
    except ValueError as error:
        real, found, problem = path, FrontMatter(), str(error)
    except (OSError, RuntimeError) as error:  # the latter for a link that leads to itself, before Python 3.13
        real, found, problem = path, FrontMatter(), f"it cannot be read: {why_unread(error)}"
    description = " ".join(found.text("description").split())
    if is_folder and not problem and not description:
        problem = found.problem or "its front matter has no description"
    body = found.body.replace("${CLAUDE_PLUGIN_ROOT}", str(source.within)) if source.plugin else found.body
    given = found.text("name") if is_folder and not source.plugin else ""  # in a plugin, the folder's name counts
    name, warning = _name(given, parts, is_lenient=not source.is_ours)
    if not name:
        name, problem = ":".join(parts).lower(), problem or warning
    return Skill(
        name=source.full_name(name),
        description=_one_line(description, _MAX_DESCRIPTION) or _first_line(found.body) or path.name,
        path=real,
        origin=source.origin,
        place=source.place,
        body=body,
        arguments=_one_line(found.text("argument-hint"), _MAX_LINE),
        allowed_tools=_one_line(found.text("allowed-tools"), _MAX_LINE),
        has_folder=is_folder,
        is_ours=source.is_ours,
        plugin=source.within if source.plugin else None,
        # Without a description, the model could not know what a command is for.
        is_for_model=bool(description)
        and not source.is_ours
        and not found.switch("disable-model-invocation", default=False),
        is_for_user=found.switch("user-invocable", default=True),
        problem=problem,
        warning=warning or found.problem,
    )


def _name(given: str, parts: tuple[str, ...], *, is_lenient: bool) -> tuple[str, str]:
    """Return the name of a skill, empty if it can have none, and what is wrong with the name that it was given."""
    wrong = "its name has characters other than letters, digits, - and _"
    if given and _NAME.fullmatch(given):
        return given.lower(), "" if given == parts[-1] else "its name is not that of its folder"
    own = parts[-1:] if given else parts
    if all(map(_NAME.fullmatch, own)):
        return ":".join(own).lower(), wrong if given else ""
    words = re.sub(r"[^a-z0-9:]+", "-", (given or ":".join(parts)).lower()).strip("-:")[:64]
    return (words, wrong) if is_lenient else ("", wrong)


def _of_toml(text: str) -> FrontMatter:
    """Read a command of Gemini CLI. Raises `ValueError`."""
    try:
        found = cast("Mapping[str, object]", tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"it is not valid TOML: {error}") from None
    fields = {name: value for name in ("description",) if isinstance(value := found.get(name), str)}
    prompt = found.get("prompt")
    return FrontMatter(fields, prompt.replace("{{args}}", "$ARGUMENTS").strip() if isinstance(prompt, str) else "")


def text_of(path: Path, source: Source) -> tuple[Path, str]:
    """Return the path of a file without links, and its text. Raises `ValueError` with a reason, and `OSError`."""
    target = path.resolve(strict=True)
    if source.within is not None and not target.is_relative_to(source.within):
        raise ValueError("it is a link that leads out of the folder")
    if not target.is_file():
        raise ValueError("it is no file")
    content = read_start(target, MAX_FILE_BYTES + 1, source.secret_at)
    if len(content) > MAX_FILE_BYTES:
        raise ValueError(f"it has more than {MAX_FILE_BYTES // 1024} KiB")
    try:
        return target, content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None


def _first_line(body: str) -> str:
    return next((_one_line(line.strip("# \t"), _MAX_LINE) for line in body.splitlines() if line.strip("# \t")), "")


def _one_line(text: str, most: int) -> str:
    if not text.isprintable():
        text = "".join(sign if sign.isprintable() else " " for sign in text)
    return shortened(text.strip(), most)
