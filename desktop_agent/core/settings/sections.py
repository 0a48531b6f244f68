"""The settings themselves: every section with its fields, their types, defaults and what a user reads about them."""

from dataclasses import dataclass, field
from typing import Literal

from desktop_agent.core.settings.declaring import About, AboutSection, about

DEFAULT_MODEL = "claude-sonnet-5-5"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """`[model]`: who answers."""

    provider: Literal["anthropic", "demo"] = field(
        default="anthropic",
        metadata=about(
            About(
                title="Provider",
                text="Whose model answers. The demo follows a script and needs neither a key nor a network.",
                words={"anthropic": "Anthropic", "demo": "Demo, without a key"},
                effect="next session",
            )
        ),
    )
    name: str = field(
        default=DEFAULT_MODEL,
        metadata=about(
            About(
                title="Model",
                text="The model's name, as its provider calls it.",
                effect="next session",
                variable="ANTHROPIC_MODEL",
            )
        ),
    )
    base_url: str = field(
        default="",
        metadata=about(
            About(
                title="Address",
                text="Another address than the provider's own, for a gateway or proxy.",
                holds="address",
                unset="the provider's own",
                effect="next session",
                variable="ANTHROPIC_BASE_URL",
            )
        ),
    )
    max_tokens: int = field(
        default=16_000,
        metadata=about(
            About(
                title="Longest answer",
                text="How long a single answer may be. A longer one is cut and can be continued.",
                unit="tokens",
                variable="ANTHROPIC_MAX_TOKENS",
            )
        ),
    )
    context_tokens: int = field(
        default=200_000,
        metadata=about(
            About(
                title="Context window",
                text="How much the model can read at once: guidance, conversation and answer together.",
                unit="tokens",
                least=1_000,
                is_advanced=True,
            )
        ),
    )
    generates_titles: bool = field(
        default=True,
        metadata=about(
            About(
                title="Name sessions",
                text="Let the model name a session after its first turn, with one small request.",
            )
        ),
    )
    allow_readable_proxy: bool = field(
        default=False,
        metadata=about(
            About(
                title="Let a proxy read along",
                text="Send requests to an http:// address through a proxy, which can then read the key and the "
                "conversation. Without it, such requests are refused.",
                is_advanced=True,
            )
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionSettings:
    """`[compaction]`: when a long conversation is summarised, so that it still fits the model."""

    auto: bool = field(
        default=True,
        metadata=about(
            About(
                title="Summarise by itself",
                text="Summarise the older part of a conversation when it comes to more than the target.",
            )
        ),
    )
    keep_last_turns: int = field(
        default=4,
        metadata=about(
            About(
                title="Turns kept whole",
                text="How many of the last turns a summary leaves as they are.",
                unit="turns",
                least=1,
                most=1_000,
            )
        ),
    )
    target_tokens: int = field(
        default=180_000,
        metadata=about(
            About(
                title="Target",
                text="The size of a conversation from which on it is summarised.",
                unit="tokens",
                least=1_000,
            )
        ),
    )
    pins_tokens: int = field(
        default=2_000,
        metadata=about(
            About(
                title="Room for pins",
                text="How much may be pinned; pins are sent with every request.",
                unit="tokens",
                least=100,
                most=100_000,
            )
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionSettings:
    """`[execution]`: what may happen without a question."""

    approval: Literal["always", "on_write", "on_request", "never"] = field(
        default="on_write",
        metadata=about(
            About(
                title="Approvals",
                text="What the agent does without asking. A session can have its own, chosen below the composer.",
                words={
                    "always": "Asks before every call",
                    "on_write": "Asks before writing",
                    "on_request": "Asks to leave the sandbox",
                    "never": "Never asks",
                },
                effect="next session",
                tightening="stricter",
            )
        ),
    )
    sandbox: Literal["restricted", "strict", "none"] = field(
        default="restricted",
        metadata=about(
            About(
                title="Sandbox",
                text="What confines commands. Without a sandbox nothing does, and every command asks.",
                words={
                    "restricted": "Sandbox: this folder",
                    "strict": "Sandbox: read-only",
                    "none": "No sandbox",
                },
                effect="next session",
                tightening="stricter",
            )
        ),
    )
    allowed_paths: tuple[str, ...] = field(
        default=(),
        metadata=about(
            About(
                title="Other folders",
                text="Folders beside the workspace that tools may read and commands may write. `~` is the home folder; "
                "a relative one is relative to the settings file.",
                holds="folders",
            )
        ),
    )
    home_visible: tuple[str, ...] = field(
        default=(),
        metadata=about(
            About(
                title="Visible in the home folder",
                text="Files and folders of the home folder that commands in the sandbox may read, beside tool chains "
                "and their caches; the rest of it is not there for them. `~` is the home folder.",
                holds="folders",
            )
        ),
    )
    passed_variables: tuple[str, ...] = field(
        default=(),
        metadata=about(
            About(
                title="Variables passed on",
                text="Names of environment variables that commands get although they look like a credential, or lead "
                "out of the sandbox, such as `DATABASE_URL`. `desktop-agent doctor` lists what is kept back.",
                effect="next session",
            )
        ),
    )
    blocked_commands: tuple[str, ...] = field(
        default=(),
        metadata=about(
            About(
                title="Blocked commands",
                text="What no command may begin with, such as `shutdown` or `git push`, also behind wrappers and "
                "inside pipes.",
                tightening="more",
            )
        ),
    )
    timeout_seconds: float | None = field(
        default=None,
        metadata=about(
            About(
                title="Longest command",
                text="How long a command may take at most, whatever its call says.",
                unit="seconds",
                unset="the call decides",
            )
        ),
    )
    max_processes: int = field(
        default=512,
        metadata=about(
            About(
                title="Processes of a command",
                text="How many processes a command may have at once, with all that they start. One that has more, or "
                "four times as many threads, is stopped.",
                unit="processes",
                least=16,
                is_advanced=True,
                tightening="lower",
            )
        ),
    )
    max_memory_gib: float | None = field(
        default=None,
        metadata=about(
            About(
                title="Memory of a command",
                text="How much memory all processes of a command may hold together. One that holds more is stopped.",
                unit="GiB",
                unset="three quarters of the machine's memory",
                is_advanced=True,
            )
        ),
    )
    max_open_files: int = field(
        default=8192,
        metadata=about(
            About(
                title="Open files of a process",
                text="How many files each process of a command may have open at once. The system gives it no more.",
                unit="files",
                least=64,
                is_advanced=True,
                tightening="lower",
            )
        ),
    )


IGNORED_FOLDERS = (
    ".git", ".hg", ".svn", ".jj",
    "node_modules", ".venv", "venv", ".tox", ".nox",
    "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis",
    ".gradle", ".terraform", ".next", ".cache",
)  # fmt: skip
"""Folders that tools make anew by themselves, and version control's own files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureSettings:
    """`[capture]`: what is watched for changes while a command runs, and so can be undone."""

    ignored_folders: tuple[str, ...] = field(
        default=IGNORED_FOLDERS,
        metadata=about(
            About(
                title="Folders not watched",
                text="Names of folders, anywhere in the workspace, whose content is not watched while a command runs. "
                "What changes there cannot be undone.",
            )
        ),
    )
    max_file_bytes: int = field(
        default=8 * 2**20,
        metadata=about(
            About(
                title="Largest file",
                text="The largest file of which a copy is kept.",
                unit="MiB",
                per_unit=2**20,
                is_advanced=True,
            )
        ),
    )
    max_total_bytes: int = field(
        default=512 * 2**20,
        metadata=about(
            About(
                title="All copies",
                text="Of how much a copy is kept at most. What git has unchanged needs none.",
                unit="MiB",
                per_unit=2**20,
                is_advanced=True,
            )
        ),
    )
    max_files: int = field(
        default=100_000,
        metadata=about(
            About(title="Watched files", text="How many files are watched.", unit="files", is_advanced=True)
        ),
    )
    max_seconds: float = field(
        default=20.0,
        metadata=about(
            About(
                title="Longest look",
                text="How long one look through the workspace may take.",
                unit="seconds",
                is_advanced=True,
            )
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLimits:
    """`[tools.limits]`: how much of a tool's result the model reads."""

    max_tool_tokens: int = field(
        default=4000,
        metadata=about(
            About(
                title="Result for the model",
                text="How much of a tool's result the model reads. People see all of it.",
                unit="tokens",
                tightening="lower",
            )
        ),
    )
    max_stdout_bytes: int = field(
        default=131_072,
        metadata=about(
            About(
                title="Bytes of a result",
                text="The same limit in bytes; the smaller one counts.",
                unit="KiB",
                per_unit=1024,
                is_advanced=True,
                tightening="lower",
            )
        ),
    )
    max_lines: int = field(
        default=800,
        metadata=about(
            About(
                title="Lines of a result",
                text="How many lines of a tool's result the model reads.",
                unit="lines",
                tightening="lower",
            )
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyCopySettings:
    """`[safety_copy]`: how much is copied before a command that destroys; what is more is named and not copied."""

    max_files: int = field(
        default=20_000,
        metadata=about(
            About(
                title="Files copied before",
                text="How many files are copied before a command that destroys. What is more is named and not copied.",
                unit="files",
                is_advanced=True,
            )
        ),
    )
    max_mib: int = field(
        default=200,
        metadata=about(
            About(
                title="Size copied before",
                text="How much is copied before a command that destroys.",
                unit="MiB",
                is_advanced=True,
            )
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsSettings:
    """`[tools]`: what holds for all tools."""

    limits: ToolLimits = field(
        default_factory=ToolLimits,
        metadata=about(AboutSection("Tool results", "How much of a tool's result the model reads.")),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UiSettings:
    """`[ui]`: how the window looks."""

    theme: Literal["system", "light", "dark"] = field(
        default="system",
        metadata=about(
            About(
                title="Theme",
                text="Light or dark.",
                words={"system": "As the system", "light": "Light", "dark": "Dark"},
            )
        ),
    )
    colour_blind_safe_diff: bool = field(
        default=False,
        metadata=about(
            About(
                title="Diffs in blue and orange",
                text="Instead of green and red, for people who confuse these.",
            )
        ),
    )
    chat_font_px: int = field(
        default=13,
        metadata=about(
            About(title="Size of chat text", text="Before the scaling of the screen.", unit="pixels", least=8, most=40)
        ),
    )
    code_font_px: int = field(
        default=12,
        metadata=about(
            About(title="Size of code", text="In the conversation and in output.", unit="pixels", least=8, most=40)
        ),
    )
    diff_font_px: float = field(
        default=11.5,
        metadata=about(
            About(title="Size of diffs", text="In the review and in questions.", unit="pixels", least=8, most=40)
        ),
    )
    opens_approvals: bool = field(
        default=False,
        metadata=about(
            About(
                title="Open questions in a dialog",
                text="As soon as they come, instead of with Review… on their card in the conversation.",
            )
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSettings:
    """`[runner]`: defaults of `desktop-agent run`. What its command line says goes before."""

    max_turns: int = field(
        default=8,
        metadata=about(
            About(
                title="Requests of a run",
                text="How many requests a run sends to the model at most.",
                unit="requests",
                effect="next run",
            )
        ),
    )
    exit_on_tool_error: bool = field(
        default=False,
        metadata=about(
            About(title="Stop at the first failure", text="End the run after the first failed call.", effect="next run")
        ),
    )
    dry_run: bool = field(
        default=False,
        metadata=about(About(title="Dry run", text="Answer every tool call without running it.", effect="next run")),
    )
    allowed_tools: tuple[str, ...] = field(
        default=(),
        metadata=about(About(title="Allowed tools", text="The only tools a run has.", unset="all", effect="next run")),
    )
    blocked_tools: tuple[str, ...] = field(
        default=(),
        metadata=about(About(title="Blocked tools", text="Tools that a run does not have.", effect="next run")),
    )
    audit_log: str = field(
        default="",
        metadata=about(
            About(
                title="Audit log",
                text="A file to which every tool call is appended as a JSON line.",
                unset="none",
                holds="file",
                effect="next run",
            )
        ),
    )
    changes_log: str = field(
        default="",
        metadata=about(
            About(
                title="Log of changes",
                text="A file to which every change is appended as a JSON line.",
                unset="none",
                holds="file",
                effect="next run",
            )
        ),
    )
    debug_tool_use: bool = field(
        default=False,
        metadata=about(
            About(title="Show tool calls", text="Show every tool call on standard error.", effect="next run")
        ),
    )
    tool_debug_log: str = field(
        default="",
        metadata=about(
            About(
                title="Log of shown calls",
                text="A file to which the tool calls that are shown are appended, too.",
                unset="none",
                holds="file",
                effect="next run",
            )
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set. Names and defaults are part of the application's contract."""

    model: ModelSettings = field(
        default_factory=ModelSettings, metadata=about(AboutSection("Model", "Who answers, and how much."))
    )
    compaction: CompactionSettings = field(
        default_factory=CompactionSettings,
        metadata=about(
            AboutSection("Long conversations", "When a conversation is summarised, so that it still fits the model.")
        ),
    )
    execution: ExecutionSettings = field(
        default_factory=ExecutionSettings,
        metadata=about(AboutSection("Approvals", "What may happen without a question, and what confines commands.")),
    )
    safety_copy: SafetyCopySettings = field(
        default_factory=SafetyCopySettings,
        metadata=about(AboutSection("Safety copies", "How much is copied before a command that destroys.")),
    )
    capture: CaptureSettings = field(
        default_factory=CaptureSettings,
        metadata=about(
            AboutSection(
                "Changes of commands", "What is watched for changes while a command runs, and so can be undone."
            )
        ),
    )
    tools: ToolsSettings = field(
        default_factory=ToolsSettings, metadata=about(AboutSection("Tools", "What holds for all tools."))
    )
    ui: UiSettings = field(
        default_factory=UiSettings, metadata=about(AboutSection("Appearance", "How the window looks."))
    )
    runner: RunnerSettings = field(
        default_factory=RunnerSettings,
        metadata=about(AboutSection("Command line", "Defaults of `desktop-agent run`. Its own options go before.")),
    )
