"""The agents that are known by name, and where they are installed. Starts nothing."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, cast

from msgspec import Struct

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.base.regex import regex
from desktop_agent.core.protocol.codec import as_object, text_in
from desktop_agent.core.protocol.model import AgentSession
from desktop_agent.core.settings.loading import read_plain
from desktop_agent.core.system.processes.shell import find_program, joined_words


class KnownAgent(Struct, frozen=True, kw_only=True):
    name: str
    title: str
    programs: tuple[str, ...]
    """The programs that may start it; an older one's name is last."""
    args: tuple[str, ...] = ()
    signs_in: tuple[str, ...] = ()
    """The arguments with which the program signs in, in a terminal, if the protocol does not tell them."""
    env: Mapping[str, str] = {}
    """Variables that make an agent without a mode for it ask before it acts. The user's own values come first."""
    install: str
    """What a person types to install it."""
    credentials: tuple[str, ...] = ()
    """The variables with the credentials of its own account, by its documentation."""
    resume: tuple[str, ...] = ()
    """The command, to be followed by a session's id, that continues in its own program; empty if untested."""

    @property
    def needs(self) -> str:
        return f"Install it with `{self.install}`."


KNOWN_AGENTS: tuple[KnownAgent, ...] = (
    KnownAgent(
        name="claude", title="Claude Code", programs=("claude-agent-acp", "claude-code-acp"),
        install="npm install -g @agentclientprotocol/claude-agent-acp",
        credentials=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
        resume=("claude", "--resume"),
    ),
    KnownAgent(
        name="codex", title="Codex", programs=("codex-acp",), install="npm install -g @agentclientprotocol/codex-acp",
        credentials=("OPENAI_API_KEY", "CODEX_API_KEY"), resume=("codex", "resume"),
    ),
    KnownAgent(
        name="gemini", title="Gemini CLI", programs=("gemini",), args=("--acp",),
        install="npm install -g @google/gemini-cli", credentials=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    KnownAgent(
        name="opencode", title="OpenCode", programs=("opencode",), args=("acp",),
        env={"OPENCODE_PERMISSION": '{"edit":"ask","bash":"ask","webfetch":"ask"}'},
        install="npm install -g opencode-ai", credentials=("OPENCODE_API_KEY",), resume=("opencode", "--session"),
    ),
    KnownAgent(
        name="qwen", title="Qwen Code", programs=("qwen",), args=("--acp",),
        install="npm install -g @qwen-code/qwen-code", credentials=("DASHSCOPE_API_KEY",),
    ),
    KnownAgent(
        name="copilot", title="GitHub Copilot", programs=("copilot",), args=("--acp",),
        install="npm install -g @github/copilot",
        credentials=("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"),
    ),
    KnownAgent(
        name="kimi", title="Kimi Code", programs=("kimi",), args=("acp",),
        install="npm install -g @moonshot-ai/kimi-code", credentials=("KIMI_API_KEY", "MOONSHOT_API_KEY"),
    ),
    KnownAgent(
        name="vibe", title="Mistral Vibe", programs=("vibe-acp",), install="uv tool install mistral-vibe",
        credentials=("MISTRAL_API_KEY",),
    ),
    KnownAgent(
        name="goose", title="Goose", programs=("goose",), args=("acp",), signs_in=("configure",),
        install="brew install block-goose-cli",
    ),
)  # fmt: skip


def known_agent(name: str) -> KnownAgent | None:
    return next((agent for agent in KNOWN_AGENTS if agent.name == name), None)


def kind_of(name: str) -> str:
    """Return the known agent that calls itself by this name over the protocol; empty for another one."""
    program = name.rpartition("/")[2].lower()  # some send the name of their package
    return next((agent.name for agent in KNOWN_AGENTS if program in agent.programs), "")


_SESSION_ID = regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


def is_session_id_of_agent(text: str) -> bool:
    """Whether a text may be the id of an agent's session. Files of others name ids, and users run them in commands."""
    return _SESSION_ID.fullmatch(text) is not None


class WayBack(NamedTuple):
    title: str
    command: str


def way_back(sessions: Iterable[AgentSession], folder: str) -> WayBack | None:
    """Return the command that continues a conversation in its agent's own program, in the folder of the session."""
    for one in reversed([*sessions]):
        known = known_agent(one.kind or one.agent)
        if known is not None and known.resume and is_session_id_of_agent(one.id):
            return WayBack(known.title, f"{joined_words(('cd', folder))} && {joined_words((*known.resume, one.id))}")
    return None


def agent_started_by(command: str, args: tuple[str, ...]) -> KnownAgent | None:
    """Return the known agent that a command line starts."""
    name = Path(command).stem
    known = (one for one in KNOWN_AGENTS if name in one.programs and args[: len(one.args)] == one.args)
    return next(known, None)


class FoundProgram(Struct, frozen=True):
    program: str
    env: Mapping[str, str]
    """An extended `PATH`, if the program is not on it: the launchers of npm look there for `node`."""


def find_agent(known: KnownAgent, environ: Mapping[str, str], workspace: Path | None = None) -> str | None:
    """Return the program that starts an agent here. Blocks."""
    return next((name for name in known.programs if locate(name, environ, workspace) is not None), None)


def locate(program: str, environ: Mapping[str, str], workspace: Path | None = None) -> FoundProgram | None:
    """Look for a program on `PATH`, then in the folders of npm and other installers. Blocks."""
    if find_program(program, environ, workspace) is not None:
        return FoundProgram(program, {})
    others = os.pathsep.join(map(str, _folders(environ)))
    if (found := find_program(program, {**environ, "PATH": others}, workspace)) is None:
        return None
    return FoundProgram(found, {"PATH": os.pathsep.join((str(Path(found).parent), environ.get("PATH", os.defpath)))})


_LARGEST_FILE = 2**16


def installed_version(program: str, environ: Mapping[str, str], workspace: Path | None = None) -> str:
    """Return the version of a program that npm installed, from its package; empty for others. Blocks."""
    found = locate(program, environ, workspace)
    path = find_program(found.program, environ, workspace) or found.program if found is not None else program
    for folder in Path(os.path.realpath(path)).parents:
        if "node_modules" not in folder.parts:
            return ""
        if version := text_in(_package(folder / "package.json"), "version"):
            return named(version)
    return ""


def _package(path: Path) -> Mapping[str, object]:
    try:
        return as_object(cast("object", json.loads(read_plain(path, _LARGEST_FILE))))
    except (OSError, ValueError, RecursionError):
        return {}


_PLACES = (
    ".local/bin", ".npm-global/bin", ".volta/bin", ".bun/bin", ".opencode/bin", "AppData/Roaming/npm",
    "/opt/homebrew/bin", "/usr/local/bin",
)  # fmt: skip
_PREFIX = regex(r"^\s*prefix\s*=\s*(.+?)\s*$", re.MULTILINE)


def _folders(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield folders of programs that a desktop's `PATH` often lacks, as shells get it from their start-up files."""
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or os.sep)
    prefixes = [environ.get("npm_config_prefix", ""), environ.get("NPM_CONFIG_PREFIX", "")]
    npmrc = home / ".npmrc"
    with suppress(OSError):  # unreadable: npm could not read it either
        prefixes += _PREFIX.findall(read_plain(npmrc, _LARGEST_FILE).decode(errors="replace"))
    for prefix in filter(None, prefixes):
        folder = Path(re.sub(r"^(?:~|\$\{HOME\})(?=/)", lambda _: str(home), prefix))
        yield folder if os.name == "nt" else folder / "bin"
    yield from (home / place for place in _PLACES)
    yield from sorted((home / ".nvm/versions/node").glob("*/bin"), key=_version, reverse=True)


def _version(folder: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", folder.parent.name)]
