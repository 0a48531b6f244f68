"""The sections about calls: what may happen without a question, what is captured, copied and read of it."""

from typing import Literal

from desktop_agent.core.settings.declaring import Section, section, setting


class ExecutionSettings(Section, frozen=True, kw_only=True):
    """`[execution]`: what may happen without a question."""

    approval: Literal["always", "on_write", "on_request", "never"] = setting(
        "on_write",
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
    sandbox: Literal["restricted", "strict", "none"] = setting(
        "restricted",
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
    allowed_paths: tuple[str, ...] = setting(
        (),
        title="Other folders",
        text="Folders beside the workspace that tools may read and commands may write. `~` is the home folder; "
        "a relative one is relative to the settings file.",
        holds="folders",
    )
    home_visible: tuple[str, ...] = setting(
        (),
        title="Visible in the home folder",
        text="Files and folders of the home folder that commands in the sandbox may read, beside tool chains "
        "and their caches; the rest of it is not there for them. `~` is the home folder.",
        holds="folders",
    )
    passed_variables: tuple[str, ...] = setting(
        (),
        title="Variables passed on",
        text="Names of environment variables that commands get although they look like a credential, or lead "
        "out of the sandbox, such as `DATABASE_URL`. `desktop-agent doctor` lists what is kept back.",
        effect="next session",
    )
    blocked_commands: tuple[str, ...] = setting(
        (),
        title="Blocked commands",
        text="What no command may begin with, such as `shutdown` or `git push`, also behind wrappers and inside pipes.",
        tightening="more",
    )
    timeout_seconds: float | None = setting(
        None,
        title="Longest command",
        text="How long a command may take at most, whatever its call says.",
        unit="seconds",
        unset="the call decides",
    )
    max_processes: int = setting(
        512,
        title="Processes of a command",
        text="How many processes a command may have at once, with all that they start. One that has more, or "
        "four times as many threads, is stopped.",
        unit="processes",
        least=16,
        is_advanced=True,
        tightening="lower",
    )
    max_memory_gib: float | None = setting(
        None,
        title="Memory of a command",
        text="How much memory all processes of a command may hold together. One that holds more is stopped.",
        unit="GiB",
        unset="three quarters of the machine's memory",
        is_advanced=True,
    )
    max_open_files: int = setting(
        8192,
        title="Open files of a process",
        text="How many files each process of a command may have open at once. The system gives it no more.",
        unit="files",
        least=64,
        is_advanced=True,
        tightening="lower",
    )


IGNORED_FOLDERS = (
    ".git", ".hg", ".svn", ".jj",
    "node_modules", ".venv", "venv", ".tox", ".nox",
    "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis",
    ".gradle", ".terraform", ".next", ".cache",
)  # fmt: skip
"""Folders that tools make anew by themselves, and version control's own files."""


class CaptureSettings(Section, frozen=True, kw_only=True):
    """`[capture]`: what is watched for changes while a command runs, and so can be undone."""

    ignored_folders: tuple[str, ...] = setting(
        IGNORED_FOLDERS,
        title="Folders not watched",
        text="Names of folders, anywhere in the workspace, whose content is not watched while a command runs. "
        "What changes there cannot be undone.",
    )
    max_file_bytes: int = setting(
        8 * 2**20,
        title="Largest file",
        text="The largest file of which a copy is kept.",
        unit="MiB",
        per_unit=2**20,
        is_advanced=True,
    )
    max_total_bytes: int = setting(
        512 * 2**20,
        title="All copies",
        text="Of how much a copy is kept at most. What git has unchanged needs none.",
        unit="MiB",
        per_unit=2**20,
        is_advanced=True,
    )
    max_files: int = setting(
        100_000, title="Watched files", text="How many files are watched.", unit="files", is_advanced=True
    )
    max_seconds: float = setting(
        20.0,
        title="Longest look",
        text="How long one look through the workspace may take.",
        unit="seconds",
        is_advanced=True,
    )


class ToolLimits(Section, frozen=True, kw_only=True):
    """`[tools.limits]`: how much of a tool's result the model reads."""

    max_tool_tokens: int = setting(
        4000,
        title="Result for the model",
        text="How much of a tool's result the model reads. People see all of it.",
        unit="tokens",
        tightening="lower",
    )
    max_stdout_bytes: int = setting(
        131_072,
        title="Bytes of a result",
        text="The same limit in bytes; the smaller one counts.",
        unit="KiB",
        per_unit=1024,
        is_advanced=True,
        tightening="lower",
    )
    max_lines: int = setting(
        800,
        title="Lines of a result",
        text="How many lines of a tool's result the model reads.",
        unit="lines",
        tightening="lower",
    )


class SafetyCopySettings(Section, frozen=True, kw_only=True):
    """`[safety_copy]`: how much is copied before a command that destroys; what is more is named and not copied."""

    max_files: int = setting(
        20_000,
        title="Files copied before",
        text="How many files are copied before a command that destroys. What is more is named and not copied.",
        unit="files",
        is_advanced=True,
    )
    max_mib: int = setting(
        200,
        title="Size copied before",
        text="How much is copied before a command that destroys.",
        unit="MiB",
        is_advanced=True,
    )


class ToolsSettings(Section, frozen=True, kw_only=True):
    """`[tools]`: what holds for all tools."""

    limits: ToolLimits = section(ToolLimits, "Tool results", "How much of a tool's result the model reads.")
