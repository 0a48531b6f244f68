"""Plugins: folders that bundle skills, commands, sub-agents, hooks and servers. Reads one, and starts nothing.

There are two forms: Agent Plugins 1.0.0 (https://agent-plugins.org) and Claude Code's
(https://code.claude.com/docs/en/plugins-reference). No path in a plugin may lead out of it, also through links, and
nothing that a manifest names is fetched.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.plain_text import named, shortened
from desktop_agent.core.base.regex import regex
from desktop_agent.core.extensions.agent_files import role_at
from desktop_agent.core.extensions.hooks import FoundHooks, Hook, hooks_in
from desktop_agent.core.extensions.language_servers import LanguageServer, servers_in
from desktop_agent.core.extensions.skills import Origin, Source, files_of, skill_at, text_of
from desktop_agent.core.extensions.untrusted import SecretAt, why_unread
from desktop_agent.core.protocol.codec import as_object
from desktop_agent.core.settings.loading import FileProblem, FoundTable
from desktop_agent.core.settings.table_file import text_in, texts_in
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.system.processes.shell import joined_words

Form = Literal["agent-plugins", "claude"]

AGENT_MANIFEST: Final = "plugin.json"
CLAUDE_MANIFEST: Final = ".claude-plugin/plugin.json"
_MARKETPLACE: Final = ".claude-plugin/marketplace.json"
_USUAL_CLAUDE: Final = ("skills", "commands", "agents", "hooks/hooks.json", ".mcp.json")
_NAME = regex(r"[a-z0-9][a-z0-9._-]{0,63}")

_TEXTS: Final = ("name", "version", "description", "homepage", "repository", "license")
_DESCRIBING: Final = (*_TEXTS, "$schema", "author", "keywords")
_OF_CLAUDE: Final = ("commands", "agents", "skills", "hooks", "mcpServers", "lspServers")
_MOST_PATHS: Final = 100
_MOST_SERVERS: Final = 50
_MOST_FOLDERS: Final = 500


class Brought(Struct, frozen=True):
    """The names of what a plugin offers the model."""

    skills: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()

    @property
    def by_kind(self) -> dict[str, tuple[str, ...]]:
        """The names by the kind in words, without empty kinds."""
        kinds = {"skills": self.skills, "commands": self.commands, "sub-agents": self.agents}
        return {kind: names for kind, names in kinds.items() if names}


class Plugin(Struct, frozen=True, kw_only=True):
    name: str
    root: Path
    """Its folder, without links."""
    data: Path
    """A folder for the data of its programs. It need not exist."""
    origin: Origin
    form: Form = "claude"
    version: str = ""
    description: str = ""
    skills: tuple[Source, ...] = ()
    commands: tuple[Source, ...] = ()
    roles: tuple[Source, ...] = ()
    hooks: tuple[Hook, ...] = ()
    servers: tuple[FoundTable, ...] = ()
    server_lines: tuple[str, ...] = ()
    """What each server starts or reaches, as the plugin writes it: with variables that are not filled in."""
    language_servers: tuple[LanguageServer, ...] = ()
    problems: tuple[FileProblem, ...] = ()
    brought: Brought = Brought()

    @property
    def problem_lines(self) -> tuple[str, ...]:
        """What is not used and why, with paths below its folder."""
        named_ = (replace(one, path=one.path.relative_to(self.root)) for one in self.problems)
        return tuple(named(str(one)) for one in named_)

    @property
    def unconfined(self) -> tuple[str, ...]:
        """What it runs outside the sandbox: a line for each hook and each MCP server."""
        hooks = (f"hook {hook.name}: {named(hook.line)}" for hook in self.hooks)
        return (*hooks, *(f"server {line}" for line in self.server_lines))

    @property
    def confined(self) -> tuple[str, ...]:
        """What it runs in the sandbox: a line for each language server."""
        return tuple(f"language server {one.name}, in the sandbox: {one.shown}" for one in self.language_servers)

    @property
    def starts(self) -> tuple[str, ...]:
        return (*self.unconfined, *self.confined)

    @property
    def checkers(self) -> tuple[LanguageServer, ...]:
        """Its language servers as they run, with the variables filled in."""
        own = {"CLAUDE_PLUGIN_ROOT": str(self.root), "CLAUDE_PLUGIN_DATA": str(self.data)}
        return tuple(
            replace(
                one,
                command=_filled((one.command,), own)[0],
                args=_filled(one.args, own),
                env={**own, **dict(zip(one.env, _filled(one.env.values(), own), strict=True))},
                read_folders=(str(self.root),),
                scope="plugin",
            )
            for one in self.language_servers
        )


class UnusablePluginError(ValueError):
    """The folder is no plugin that can be used. The message is the reason, worded to follow its name and a colon."""


def _brought_by(plugin: Plugin) -> Brought:
    folders = iter(range(_MOST_FOLDERS))

    def skills(sources: Iterable[Source]) -> tuple[str, ...]:
        found = (skill_at(Path(path), parts, one) for one in sources for path, parts in files_of(one, folders))
        return tuple(dict.fromkeys(skill.name for skill in found if not skill.problem))

    roles = (role_at(Path(path), parts, one) for one in plugin.roles for path, parts in files_of(one, folders))
    names = tuple(dict.fromkeys(file.role.name for file in roles if not file.problem))
    return Brought(skills=skills(plugin.skills), commands=skills(plugin.commands), agents=names)


def is_plugin(folder: Path) -> bool:
    return any((folder / name).is_file() for name in (CLAUDE_MANIFEST, AGENT_MANIFEST))


def read_plugin(
    root: Path, data: Path, origin: Origin, secret_at: SecretAt, environ: Mapping[str, str], name: str = ""
) -> Plugin:
    """Read the plugin in a folder without links. Blocks. Raises `UnusablePluginError`.

    `environ` fills in variables that Claude's form asks for; a project's plugin should get none. `name` is used where
    there is no manifest.
    """
    reader = _Reader(root, Source(folder=root, place="", origin=origin, within=root, secret_at=secret_at))
    if (root / CLAUDE_MANIFEST).is_file():
        form, manifest = "claude", reader.document(CLAUDE_MANIFEST)
    elif (root / AGENT_MANIFEST).is_file():
        form, manifest = "agent-plugins", reader.document(AGENT_MANIFEST)
    elif any((root / usual).exists() for usual in _USUAL_CLAUDE):
        form, manifest = "claude", {"name": (name or root.name).lower().lstrip(".")}
    elif (root / _MARKETPLACE).is_file():
        raise UnusablePluginError(f"it is a list of plugins; name the folder of one: {_listed(reader)}")
    else:
        raise UnusablePluginError(f"there is no {CLAUDE_MANIFEST} and no {AGENT_MANIFEST} in it")
    plugin = Plugin(
        name=_name_in(manifest, is_strict=form == "agent-plugins"),
        root=root,
        data=data,
        origin=origin,
        form=form,
        version=shortened(named(str(manifest.get("version", ""))), 40),
        description=shortened(named(str(manifest.get("description", ""))), 400),
    )
    read = reader.of_claude if form == "claude" else reader.of_agent_plugins
    plugin = read(plugin, manifest, environ)
    return replace(plugin, brought=_brought_by(plugin))


def _name_in(manifest: Mapping[str, object], *, is_strict: bool) -> str:
    """Return the name in a manifest. Raises `UnusablePluginError` for a field of the wrong type."""
    for key in _TEXTS:
        if not isinstance(manifest.get(key, ""), str) and (is_strict or key == "name"):
            raise UnusablePluginError(f"`{key}` in its manifest is not a text")
    if is_strict:
        if not _is_object_of(manifest.get("author", {}), str):
            raise UnusablePluginError("`author` in its manifest is not an object of texts")
        keywords = manifest.get("keywords", [])
        if not isinstance(keywords, list) or not all(isinstance(word, str) for word in cast("list[object]", keywords)):
            raise UnusablePluginError("`keywords` in its manifest is not a list of texts")
        if not _is_object_of(manifest.get("extensions", {}), dict):
            raise UnusablePluginError("`extensions` in its manifest is not an object of objects")
    name = str(manifest.get("name", "")).lower()
    if _NAME.fullmatch(name) is None:
        raise UnusablePluginError("its name is missing, or has characters other than letters, digits, `-`, `_` and `.`")
    return name


def _is_object_of(value: object, kind: type) -> bool:
    return isinstance(value, dict) and all(isinstance(one, kind) for one in cast("dict[str, object]", value).values())


def _listed(reader: "_Reader") -> str:
    entries = reader.document(_MARKETPLACE).get("plugins")
    places = [
        named(place)[:80]
        for entry in (cast("list[object]", entries) if isinstance(entries, list) else [])
        if isinstance(place := as_object(entry).get("source"), str)
    ]
    return ", ".join(places[:20]) or "it lists none that is in it"


class _Reader:
    """Reads the files of one plugin, and collects what is wrong with them."""

    def __init__(self, root: Path, source: Source) -> None:
        self._root = root
        self._source = source
        self._problems: list[FileProblem] = []

    # -- the two forms --

    def of_agent_plugins(self, plugin: Plugin, manifest: Mapping[str, object], _environ: Mapping[str, str]) -> Plugin:
        self._note_unknown(AGENT_MANIFEST, manifest, (*_DESCRIBING, "extensions"))
        variables = {"PLUGIN_ROOT": str(plugin.root), "PLUGIN_DATA": str(plugin.data)}
        servers = self._servers_in("mcp.json") if (self._root / "mcp.json").exists() else {}
        plugin = replace(plugin, skills=tuple(self._sources(plugin, "skills", "", ["skills"])))
        return self._complete(plugin, "mcp.json", servers, variables, variables)

    def of_claude(self, plugin: Plugin, manifest: Mapping[str, object], environ: Mapping[str, str]) -> Plugin:
        self._note_unknown(CLAUDE_MANIFEST, manifest, (*_DESCRIBING, *_OF_CLAUDE))
        variables = {"CLAUDE_PLUGIN_ROOT": str(plugin.root), "CLAUDE_PLUGIN_DATA": str(plugin.data)}

        def places(key: str, usual: str) -> list[str]:
            return self._paths(key, [usual, *_as_list(manifest.get(key))], usual)

        hooks = FoundHooks()
        inline = manifest.get("hooks")
        for place in places("hooks", "hooks/hooks.json"):
            hooks += _hooks_of(self._file(place), self._root / place)
        if isinstance(inline, dict):
            hooks += _hooks_of({"hooks": cast("object", inline)}, self._root / CLAUDE_MANIFEST)
        self._problems += hooks.problems
        servers: dict[str, object] = {}
        for place in places("mcpServers", ".mcp.json"):
            servers = self._servers_in(place) | servers
        if isinstance(defined := manifest.get("mcpServers"), dict):
            servers = as_object(cast("object", defined)) | servers
        checking = [(self._root / place, self._file(place)) for place in places("lspServers", ".lsp.json")]
        if isinstance(checks := manifest.get("lspServers"), dict):
            checking.append((self._root / CLAUDE_MANIFEST, as_object(cast("object", checks))))
        languages = [servers_in(json.dumps(listed).encode(), path) for path, listed in checking]
        self._problems += [problem for one in languages for problem in one.problems]
        plugin = replace(
            plugin,
            skills=tuple(self._sources(plugin, "skills", "", places("skills", "skills"))),
            commands=tuple(self._sources(plugin, "commands", ".md", places("commands", "commands"))),
            roles=tuple(self._sources(plugin, "agents", ".md", places("agents", "agents"))),
            hooks=tuple(
                replace(hook, args=None if hook.args is None else _filled(hook.args, variables), plugin=plugin.root,
                        variables={**variables, **_kept_as_it_is(plugin)})
                for hook in hooks.hooks
            ),
            language_servers=tuple(one for found in languages for one in found.servers),
        )  # fmt: skip
        return self._complete(plugin, ".mcp.json", servers, variables, {**environ, **variables})

    def _complete(
        self,
        plugin: Plugin,
        place: str,
        servers: Mapping[str, object],
        own: Mapping[str, str],
        known: Mapping[str, str],
    ) -> Plugin:
        """Return the plugin with its servers. `own` are its variables for its folders, `known` all that it may name."""
        path, tables, lines = self._root / place, list[FoundTable](), list[str]()
        for number, (name, entry) in enumerate(servers.items(), 1):
            if number > _MOST_SERVERS:
                self._problems.append(
                    FileProblem(path, "", f"has more than {_MOST_SERVERS} servers; the others are not used")
                )
                break
            try:
                line = _server_line(as_object(entry))
                if not isinstance(as_object(entry).get("env", {}), dict):  # a list of them would not be shown
                    raise ValueError("env is not an object")  # noqa: TRY004, TRY301 - as for the other mistakes
                self._require_inside(entry)
                table = foreign_server(f"{plugin.name}-{name}" if name != plugin.name else name, entry, known)
                self._settle(table, plugin, own)
            except ValueError as error:
                self._problems.append(FileProblem(path, named(name), str(error)))
                continue
            tables.append(
                FoundTable(key="mcp.definitions", number=number, value=table, path=path, line=None, plugin=plugin.name)
            )
            lines.append(f"{named(name)}: {line}")
        return replace(plugin, servers=tuple(tables), server_lines=tuple(lines), problems=tuple(self._problems))

    def _settle(self, table: dict[str, object], plugin: Plugin, own: Mapping[str, str]) -> None:
        """Resolve the program of a server and the folder that it starts in."""
        command, cwd = table.get("command"), table.get("cwd")
        if isinstance(command, str) and command.startswith(("./", ".\\")):
            table["command"] = str(self._inside(command))
        if isinstance(cwd, str):
            table["cwd"] = cwd if Path(cwd).is_absolute() else str(self._inside(cwd))
        elif plugin.form == "agent-plugins" and command:
            table["cwd"] = str(plugin.root)
        added = {**(own if plugin.form == "claude" else {}), **_kept_as_it_is(plugin)}
        if added and command:
            table["env"] = {**added, **as_object(table.get("env"))}

    # -- files --

    def document(self, place: str) -> dict[str, object]:
        """Return the JSON object in a file. Raises `UnusablePluginError`."""
        try:
            _, text = text_of(self._root / place, self._source)
            found: object = json.loads(text)
        except (OSError, ValueError, RecursionError) as error:
            raise UnusablePluginError(f"{place} cannot be read: {why_unread(error)}") from error
        if not isinstance(found, dict):
            raise UnusablePluginError(f"{place} has no JSON object")
        return cast("dict[str, object]", found)

    def _file(self, place: str) -> dict[str, object]:
        """Return the JSON object in a file; an empty one, and a problem, if there is none."""
        try:
            return self.document(place)
        except UnusablePluginError as error:
            self._problems.append(FileProblem(self._root / place, "", str(error)))
            return {}

    def _servers_in(self, place: str) -> dict[str, object]:
        document = self._file(place)
        servers = document.get("mcpServers", document)  # Claude also reads a file that is only the list
        return as_object(servers)

    def _sources(self, plugin: Plugin, kind: str, suffix: str, places: Iterable[str]) -> Iterator[Source]:
        for place in places:
            shown = f"{plugin.name}/{kind}"
            yield replace(self._source, folder=self._root / place, place=shown, suffix=suffix, plugin=plugin.name)

    # -- what stands in a manifest --

    def _note_unknown(self, place: str, manifest: Mapping[str, object], known: Iterable[str]) -> None:
        for key in sorted(manifest.keys() - set(known))[:10]:
            self._problems.append(
                FileProblem(self._root / place, named(key)[:40], "is not known here, so it is not used")
            )

    def _paths(self, key: str, given: Iterable[object], usual: str) -> list[str]:
        """Return the paths that exist, without links. The `usual` one need not."""
        found: dict[str, None] = {}
        for path, _ in zip(given, range(_MOST_PATHS), strict=False):
            try:
                if not isinstance(path, str):
                    raise ValueError("it is not a path")  # noqa: TRY004, TRY301 - one kind of error for a manifest
                place = self._inside(path)
                if place.exists():
                    found[place.relative_to(self._root).as_posix()] = None
                elif path != usual:
                    raise ValueError("it is not there")  # noqa: TRY301
            except ValueError as error:
                self._problems.append(
                    FileProblem(self._root / CLAUDE_MANIFEST, key, f"{named(str(path))[:80]}: {error}")
                )
        return list(found)

    def _inside(self, place: str) -> Path:
        """Return a path of the plugin without links. Raises `ValueError` for one that leads out of it."""
        try:
            path = (self._root / place).resolve()
        except (OSError, RuntimeError) as error:  # the latter for circular links
            raise ValueError("it cannot be found") from error
        if not path.is_relative_to(self._root):
            raise ValueError("it leads out of the plugin")
        return path

    def _require_inside(self, value: object) -> None:
        """Raise `ValueError` for a path below the plugin's folder that leads out of it."""
        if isinstance(value, str):
            for match in _IN_ROOT.finditer(value):
                self._inside(f".{match[1]}")
        elif isinstance(value, dict | list):
            inner = (
                as_object(cast("object", value)).values() if isinstance(value, dict) else cast("list[object]", value)
            )
            for one in inner:
                self._require_inside(one)


def _kept_as_it_is(plugin: Plugin) -> Mapping[str, str]:
    """Return variables that keep programs of a project's plugin from writing into it, which would change it."""
    return {"PYTHONDONTWRITEBYTECODE": "1"} if plugin.origin == "project" else {}


def _hooks_of(document: object, path: Path) -> FoundHooks:
    return hooks_in(json.dumps(document).encode(), path, "claude", "plugin")


_IN_ROOT = regex(r"\$\{(?:CLAUDE_)?PLUGIN_ROOT\}([^\s:;,\"']*)")


def _as_list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else [value] if isinstance(value, str) else []


def _filled(texts: Iterable[str], variables: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(re.sub(r"\$\{(\w+)\}", lambda match: variables.get(match[1], match[0]), text) for text in texts)


# --- servers as other programs write them ---------------------------------------------------------------------------

_NOT_IN_NAMES = regex(r"[^A-Za-z0-9-]+")
_MOST_NAME = 32
_REFERENCE = regex(r"\$\{(?:(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?|[^}]*)\}")


def foreign_server(name: str, entry: object, environ: Mapping[str, str]) -> dict[str, object]:
    """Return a server of another program's file as a table of ours, with variables filled in. Raises `ValueError`."""
    if not isinstance(entry, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 -- one kind of error for all that is wrong with an entry
    values = cast("dict[str, object]", entry)
    if values.get("type") == "sse":
        raise ValueError("the old SSE transport is not supported; use the server's streamable HTTP address")
    taken = {key: values[key] for key in ("command", "args", "env", "cwd", "url", "headers") if values.get(key)}
    if "serverUrl" in values:  # as Windsurf writes it
        taken["url"] = values["serverUrl"]
    taken = {key: _resolved(value, environ) for key, value in taken.items()}
    is_enabled = not values.get("disabled") and values.get("enabled", True) is True
    return {"name": plain_name(name), **taken, **({} if is_enabled else {"enabled": False})}


def plain_name(name: str) -> str:
    """Return a name that a server can have. A long name is cut, and made unique with a digest."""
    plain = _NOT_IN_NAMES.sub("-", name).strip("-")
    if len(plain) > _MOST_NAME:
        plain = f"{plain[: _MOST_NAME - 5].strip('-')}-{digest_of(name.encode())[:4]}"
    return plain or "server"


def _resolved(value: object, environ: Mapping[str, str]) -> object:
    if isinstance(value, dict):
        return {key: _resolved(inner, environ) for key, inner in as_object(cast("object", value)).items()}
    if isinstance(value, list):
        return [_resolved(inner, environ) for inner in cast("list[object]", value)]
    return _REFERENCE.sub(lambda match: _value_of(match, environ), value) if isinstance(value, str) else value


def _value_of(reference: re.Match[str], environ: Mapping[str, str]) -> str:
    name: str | None = reference["name"]
    default: str | None = reference["default"]
    if name is None:
        raise ValueError(f"it asks for a value with {reference[0]}; add the server by hand, with that value")
    value = environ.get(name, default)
    if value is None:
        raise ValueError(f"it needs the variable {name}, which is not set: set {name}, then import it again")
    return value or default or ""


def _server_line(entry: Mapping[str, object]) -> str:
    """Return what a server starts or reaches, in full, for the question about trust. Raises `ValueError`."""
    url = text_in(entry, "url") or text_in(entry, "serverUrl")
    if url:
        headers = [f"{name}: {value}" for name, value in as_object(entry.get("headers")).items()]
        return named(f"{url} ({', '.join(headers)})" if headers else url)
    words = [text_in(entry, "command", is_needed=True), *texts_in(entry, "args")]
    variables = [f"{name}={joined_words([str(value)])}" for name, value in as_object(entry.get("env")).items()]
    place = f"(in {folder})" if (folder := text_in(entry, "cwd")) else ""
    return named(" ".join(filter(None, [*variables, joined_words(words), place])))
