"""Commands that are prompts: from files of the user and of the project, and from MCP servers."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.plain_text import named, shortened
from desktop_agent.core.extensions.front_matter import FrontMatter, split
from desktop_agent.core.extensions.untrusted import SecretAt, read_start
from desktop_agent.core.mcp.connection import Connection
from desktop_agent.core.mcp.server_status import OfferedPrompt
from desktop_agent.core.slash.declarations import BUILT_IN_NAMES, Declaration, Invocation, Origin

PROJECT_FOLDER = Path(".desktop-agent", "commands")
MAX_FILE_BYTES = 65_536
MAX_FILES = 300
_MAX_DEPTH = 4
_MAX_LINE = 200

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.IGNORECASE)
_PLACE = re.compile(r"\$(ARGUMENTS\b|[1-9](?!\d))")


class OwnCommand(Struct, frozen=True, kw_only=True):
    declaration: Declaration
    path: Path
    body: str

    def prompt(self, invocation: Invocation) -> str:
        words = invocation.words

        def filled(match: re.Match[str]) -> str:
            if match[1] == "ARGUMENTS":
                return invocation.rest
            index = int(match[1]) - 1
            return words[index] if index < len(words) else ""

        if _PLACE.search(self.body):
            return _PLACE.sub(filled, self.body).strip()
        return f"{self.body}\n\n{invocation.rest}".strip()


def read_own_commands(config: Path, workspace: Path, secret_at: SecretAt) -> tuple[OwnCommand, ...]:
    """Return the user's and the project's commands by name; unusable ones have a `problem`. Blocks."""
    found = list(_read_folder(config / "commands", config / "commands", "person", None))
    found += _read_folder(workspace / PROJECT_FOLDER, workspace, "project", secret_at)
    taken = dict.fromkeys(BUILT_IN_NAMES, "a built-in command has this name")
    commands: list[OwnCommand] = []
    for command in found:
        name = command.declaration.name
        problem = command.declaration.problem or taken.get(name, "")
        commands.append(replace(command, declaration=replace(command.declaration, problem=problem)))
        if not problem:
            taken[name] = f"another command has this name, in {command.path}"
    return tuple(sorted(commands, key=lambda command: (command.declaration.name, command.declaration.origin)))


def _read_folder(folder: Path, limits: Path, origin: Origin, secret_at: SecretAt | None) -> Iterator[OwnCommand]:
    """Yield the commands in a folder. Their files must lie within `limits`."""
    try:
        root = folder.resolve(strict=True)
        if not root.is_dir() or not root.is_relative_to(limits.resolve(strict=True)):
            return
    except (OSError, RuntimeError):  # it is not there, or its links go in circles
        return
    for count, path in enumerate(_markdown_files(root, _MAX_DEPTH)):
        if count == MAX_FILES:
            return
        yield _read_command(path, root, origin, secret_at)


def _markdown_files(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir() and not entry.is_symlink():
            if depth > 1:
                yield from _markdown_files(entry, depth - 1)
        elif entry.suffix.lower() == ".md":
            yield entry


def _read_command(path: Path, root: Path, origin: Origin, secret_at: SecretAt | None) -> OwnCommand:
    parts = path.relative_to(root).with_suffix("").parts
    name = ":".join(parts).lower()
    try:
        found = split(_read(path, root, secret_at))
        problem = "" if all(map(_NAME.fullmatch, parts)) else "its name has other signs than letters, digits, - and _"
        problem = problem or ("" if found.body else "it is empty")
    except ValueError as error:
        found, problem = FrontMatter(), str(error)
    except (OSError, RuntimeError) as error:  # the latter for a link that leads to itself, before Python 3.13
        found, problem = FrontMatter(), f"it cannot be read: {getattr(error, 'strerror', None) or error}"
    default = "[ARGUMENTS]" if _PLACE.search(found.body) else ""
    return OwnCommand(
        declaration=Declaration(
            name=name,
            arguments=_one_line(found.text("argument-hint")) or default,
            summary=_one_line(found.text("description")) or _first_line(found.body) or path.name,
            origin=origin,
            asks_model=True,
            problem=problem,
        ),
        path=path,
        body=found.body,
    )


def _read(path: Path, root: Path, secret_at: SecretAt | None) -> str:
    """Return the text of a file inside `root`. Raises `ValueError` with a reason, and `OSError`."""
    target = path.resolve(strict=True)
    if not target.is_relative_to(root):
        raise ValueError("it is a link that leads out of the folder")
    if not target.is_file():
        raise ValueError("it is no file")
    content = read_start(target, MAX_FILE_BYTES + 1, secret_at)
    if len(content) > MAX_FILE_BYTES:
        raise ValueError(f"it has more than {MAX_FILE_BYTES // 1024} KiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None


def _first_line(body: str) -> str:
    return next((_one_line(line.strip("# \t")) for line in body.splitlines() if line.strip("# \t")), "")


def _one_line(text: str) -> str:
    return shortened("".join(sign if sign.isprintable() else " " for sign in text).strip(), _MAX_LINE)


BETWEEN = ":"
_LONGEST_SUMMARY = 200
LONGEST_PROMPT = 200_000


class ServerPrompt(Struct, frozen=True):
    connection: Connection
    offered: OfferedPrompt

    @property
    def declaration(self) -> Declaration:
        asked = (each.name if each.is_required else f"[{each.name}]" for each in self.offered.arguments)
        about = self.offered.description or self.offered.title
        return Declaration(
            name=command_name(self.connection.definition.name, self.offered.name),
            arguments=named(" ".join(asked).upper()),
            summary=named(" ".join(about.split()))[:_LONGEST_SUMMARY] or "A prompt of a server",
            origin="server",
            asks_model=True,
        )

    async def text(self, invocation: Invocation) -> str:
        """Return the prompt that the server makes from these arguments. Raises `ServerError` and `UsageError`."""
        text = await self.connection.prompt(self.offered.name, self._arguments(invocation.words))
        if not text.strip():
            raise UsageError(f"/{invocation.name} came to no text.")
        if len(text) > LONGEST_PROMPT:
            raise UsageError(f"/{invocation.name} came to more than {LONGEST_PROMPT:,} characters.")
        return text

    def _arguments(self, words: Sequence[str]) -> Mapping[str, str]:
        names = [argument.name for argument in self.offered.arguments]
        given: dict[str, str] = {}
        rest: list[str] = []
        for word in words:
            name, equals, value = word.partition("=")
            if equals and name in names:
                given[name] = value
            else:
                rest.append(word)
        free = [name for name in names if name not in given]
        if rest and not free:
            raise UsageError(f"`{named(rest[0])}` is not expected there.", hint=self._usage)
        given |= dict(zip(free, rest, strict=False))
        if len(rest) > len(free):
            given[free[-1]] = " ".join(rest[len(free) - 1 :])
        if missing := [each.name for each in self.offered.arguments if each.is_required and each.name not in given]:
            raise UsageError(f"{named(missing[0])} is missing.", hint=self._usage)
        return given

    @property
    def _usage(self) -> str:
        declared = self.declaration
        return f"Write it as `/{declared.name} {declared.arguments}`.".replace(" `.", "`.")


def command_name(server: str, prompt: str) -> str:
    return named(f"{server}{BETWEEN}{'-'.join(prompt.split())}".lower())


def prompts_of(connections: Sequence[Connection]) -> tuple[ServerPrompt, ...]:
    found: dict[str, ServerPrompt] = {}
    for connection in connections:
        for offered in connection.status.prompts:
            found.setdefault(command_name(connection.definition.name, offered.name), ServerPrompt(connection, offered))
    return tuple(found.values())
