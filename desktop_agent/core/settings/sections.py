"""The settings themselves: every section with its fields, their types, defaults and descriptions."""

from typing import Literal

from desktop_agent.core.models.vendors import PROVIDER_LABELS, VENDORS
from desktop_agent.core.settings.declaring import Section, section, setting
from desktop_agent.core.settings.keyboard import KeySettings


class ExecutionSettings(Section, frozen=True, kw_only=True):
    approval: Literal["always", "on_write", "on_request", "never"] = setting(
        "on_write",
        "Approvals",
        "What the agent does without asking. Each session can choose its own below the message field.",
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
        "Sandbox",
        "How commands are confined. Without a sandbox, nothing confines them, and every command asks first.",
        words={"restricted": "Sandbox: this folder", "strict": "Sandbox: read-only", "none": "No sandbox"},
        effect="next session",
        tightening="stricter",
    )
    allowed_paths: tuple[str, ...] = setting(
        (),
        "Other folders",
        "Folders outside the workspace that tools may read and commands may write. `~` is the home folder; "
        "relative paths are relative to the settings file.",
        holds="folders",
    )
    home_visible: tuple[str, ...] = setting(
        (),
        "Visible in the home folder",
        "Files and folders in the home folder that commands in the sandbox may read, besides tool chains and "
        "their caches. The rest is invisible to them. `~` is the home folder.",
        holds="folders",
    )
    passed_variables: tuple[str, ...] = setting(
        (),
        "Variables passed on",
        "Environment variables to pass to commands even if they look like credentials or could lead out of the "
        "sandbox, such as `DATABASE_URL`. `desktop-agent doctor` lists those that are withheld.",
        effect="next session",
    )
    blocked_commands: tuple[str, ...] = setting(
        (),
        "Blocked commands",
        "Beginnings of commands that never run, such as `shutdown` or `git push`, also behind wrappers and "
        "inside pipes.",
        tightening="more",
    )
    worktree_setup: str = setting(
        "",
        "Set-up of worktrees",
        "A command that runs in each new worktree before its session begins, such as `npm ci`, outside of the sandbox. "
        "One that a project sets runs once you trust the project.",
        tightening="own",
    )
    timeout_seconds: float | None = setting(
        None,
        "Command time limit",
        "The longest that a command may take, even if its call asks for more.",
        unit="seconds",
        unset="set by each call",
    )
    max_processes: int = setting(
        512,
        "Processes of a command",
        "How many processes a command may have at once, including those that they start. A command with more, or "
        "with four times as many threads, is stopped.",
        unit="processes",
        least=16,
        is_advanced=True,
        tightening="lower",
    )
    max_memory_gib: float | None = setting(
        None,
        "Memory of a command",
        "How much memory all processes of a command may hold together. A command that holds more is stopped.",
        unit="GiB",
        unset="three quarters of the machine's memory",
        is_advanced=True,
    )
    max_open_files: int = setting(
        8192,
        "Open files of a process",
        "How many files each process of a command may have open at once. The system enforces this limit.",
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
"""Folders that tools recreate automatically, and version control's own files."""


class CaptureSettings(Section, frozen=True, kw_only=True):
    ignored_folders: tuple[str, ...] = setting(
        IGNORED_FOLDERS,
        "Folders not watched",
        "Names of folders, anywhere in the workspace, whose content is not watched while a command runs. "
        "What changes there cannot be undone.",
    )
    max_file_bytes: int = setting(
        8 * 2**20, "Largest file", "The largest file that is copied.", unit="MiB", per_unit=2**20, is_advanced=True
    )
    max_total_bytes: int = setting(
        512 * 2**20,
        "Total size of copies",
        "The most that is copied. Files unchanged in git need no copy.",
        unit="MiB",
        per_unit=2**20,
        is_advanced=True,
    )
    max_files: int = setting(100_000, "Watched files", "How many files are watched.", unit="files", is_advanced=True)
    max_seconds: float = setting(
        20.0, "Scan time limit", "How long one scan of the workspace may take.", unit="seconds", is_advanced=True
    )


class ToolLimits(Section, frozen=True, kw_only=True):
    max_tool_tokens: int = setting(
        4000,
        "Tokens of a result",
        "How much of a tool's result the model reads. People see all of it.",
        unit="tokens",
        tightening="lower",
    )
    max_stdout_bytes: int = setting(
        131_072,
        "Bytes of a result",
        "The same limit in bytes. The smaller of the two applies.",
        unit="KiB",
        per_unit=1024,
        is_advanced=True,
        tightening="lower",
    )
    max_lines: int = setting(
        800, "Lines of a result", "How many lines of a tool's result the model reads.", unit="lines", tightening="lower"
    )


class SafetyCopySettings(Section, frozen=True, kw_only=True):
    max_files: int = setting(
        20_000,
        "Files in a safety copy",
        "How many files are copied before a destructive command. Files beyond that are named but not copied.",
        unit="files",
        is_advanced=True,
    )
    max_mib: int = setting(
        200, "Size of a safety copy", "How much is copied before a destructive command.", unit="MiB", is_advanced=True
    )


class ToolsSettings(Section, frozen=True, kw_only=True):
    limits: ToolLimits = section(ToolLimits, "Tool results", "How much of a tool's result the model reads.")


class UiSettings(Section, frozen=True, kw_only=True):
    language: Literal["system", "en", "de", "zh-cn"] = setting(
        "system",
        "Language",
        "The language of the window. The model's text and the command line are not translated.",
        words={"system": "Same as system", "en": "English", "de": "Deutsch", "zh-cn": "简体中文"},
        effect="next start",
    )
    theme: Literal["system", "light", "dark", "high-contrast-light", "high-contrast-dark"] = setting(
        "system",
        "Theme",
        "Light or dark, with more contrast for people who need it. A contrast setting of the system applies, too.",
        words={
            "system": "Same as system",
            "light": "Light",
            "dark": "Dark",
            "high-contrast-light": "Light, high contrast",
            "high-contrast-dark": "Dark, high contrast",
        },
    )
    colour_blind_safe_diff: bool = setting(
        False, "Diffs in blue and orange", "Instead of green and red, for people who cannot tell these apart."
    )
    interface_font_px: int = setting(
        13,
        "Size of the interface",
        "For names, lists, buttons and menus, before display scaling.",
        unit="pixels",
        least=10,
        most=18,
        effect="next start",
    )
    chat_font_px: int = setting(13, "Size of chat text", "Before display scaling.", unit="pixels", least=8, most=40)
    code_font_px: int = setting(
        12, "Size of code", "In the conversation and in output.", unit="pixels", least=8, most=40
    )
    diff_font_px: float = setting(
        11.5, "Size of diffs", "In the review and in questions.", unit="pixels", least=8, most=40
    )
    density: Literal["comfortable", "compact"] = setting(
        "comfortable",
        "Density of the conversation",
        "How close together lines and messages stand.",
        words={"comfortable": "Comfortable", "compact": "Compact"},
    )
    motion: Literal["system", "full", "reduced"] = setting(
        "system",
        "Animations",
        "Blinking carets, pulsing marks, sliding docks and menus. Nothing is conveyed by animation alone.",
        words={"system": "Same as system", "full": "Always", "reduced": "Never"},
    )
    spelling: bool = setting(
        True,
        "Underline misspelled words",
        "In your message, with the system's dictionaries for your languages and English, where installed.",
    )
    commit_trailer: bool = setting(
        False,
        "Name the model in commits",
        "With a line `Assisted-by:` at the end of the message. The sheet of a commit has a tick for it, too.",
    )
    opens_approvals: bool = setting(
        False,
        "Show questions in a dialog",
        "As soon as they arrive, instead of only after Review… on their card in the conversation.",
    )
    notifications: bool = setting(
        True,
        "Notifications",
        "From the desktop, when something waits for you or a turn ends while the window is not in front.",
    )
    notification_sound: bool = setting(False, "Sound of notifications", "Where the desktop supports sounds.")
    release_address: str = setting(
        "",
        "Look for updates at",
        "The address of the latest release, as GitHub and Forgejo offer it: `https://…/releases/latest`. The window "
        "asks it once a day, tells you of a newer version, and installs nothing. Without an address, it asks nobody.",
        unset="none",
        holds="address",
    )


DEFAULT_MODEL = "claude-sonnet-5-5"


class ModelSettings(Section, frozen=True, kw_only=True):
    provider: str = setting(
        "anthropic",
        "Provider",
        "The provider whose model answers. The demo follows a script and needs neither a key nor a network.",
        words=PROVIDER_LABELS,
        effect="next session",
    )
    name: str = setting(
        DEFAULT_MODEL,
        "Model",
        "The model's name at its provider.",
        effect="next session",
        variables={vendor.id: vendor.model_variable for vendor in VENDORS if vendor.model_variable},
    )
    base_url: str = setting(
        "",
        "Address",
        "A different address than the provider's own, for a gateway or proxy. A named account has its own.",
        holds="address",
        unset="the provider's own",
        effect="next session",
        variables={vendor.id: vendor.address_variable for vendor in VENDORS if vendor.address_variable},
    )
    max_tokens: int = setting(
        16_000,
        "Longest answer",
        "How long a single answer may be. A longer one is cut and can be continued.",
        unit="tokens",
        variables={"anthropic": "ANTHROPIC_MAX_TOKENS"},
    )
    account: str = setting(
        "",
        "Account",
        "Which of the provider's accounts is used. `desktop-agent auth status` lists them.",
        unset="the default one",
        effect="next session",
    )
    effort: str = setting(
        "",
        "Effort",
        "How much the model thinks before it answers, in its provider's term, such as low or high. `desktop-agent"
        " models list` shows the levels of each model; a model without this level gets none.",
        unset="the model's own",
        effect="next session",
    )
    client: Literal["direct", "sdk"] = setting(
        "direct",
        "Requests to Anthropic",
        "Who sends them. The SDK takes a second longer to start. For clouds and profiles it is always used.",
        words={"direct": "This program", "sdk": "Anthropic's SDK"},
        effect="next session",
        is_advanced=True,
    )
    fallback: str = setting(
        "",
        "When the model is overloaded",
        "The model, as PROVIDER/NAME, that answers a request when the usual one is still overloaded after all "
        "retries. The conversation says so; the next request goes to the usual one again.",
        holds="model",
        unset="the request fails",
        is_advanced=True,
    )
    context_tokens: int = setting(
        200_000,
        "Context window",
        "The context window of models for which it is not known: guidance, conversation and "
        "answer together. `desktop-agent models list` shows what is known.",
        unit="tokens",
        least=1_000,
        is_advanced=True,
    )
    web_search: Literal["local", "provider"] = setting(
        "local",
        "Web search",
        "Who searches the web. This program asks before each search. A provider searches while its model "
        "answers, without asking: it sends the search terms to the web, and charges for each search. If the provider "
        "has no search, this program's is used.",
        words={"local": "This program", "provider": "The model's provider"},
        tightening="stricter",
    )
    generates_titles: bool = setting(
        True, "Name sessions", "Let the model name a session after its first turn, with one small request."
    )
    text_calls: bool = setting(
        True,
        "Calls written as text",
        "Some local models write a tool call into their answer. It counts as a call if there is no other.",
    )
    allow_readable_proxy: bool = setting(
        False,
        "Allow a proxy to read requests",
        "Send requests to an http:// address through a proxy, which can then read the key and the "
        "conversation. Without it, such requests are refused.",
        is_advanced=True,
    )


class SpendingSettings(Section, frozen=True, kw_only=True):
    session_usd: float | None = setting(
        None,
        "One conversation",
        "What a conversation may cost before the agent asks whether to go on. Only known costs count.",
        unit="US dollars",
        unset="no limit",
        tightening="lower",
    )
    day_usd: float | None = setting(
        None,
        "A day",
        "What all conversations of a day (UTC) may cost together before the agent asks whether to go on.",
        unit="US dollars",
        unset="no limit",
        tightening="lower",
    )


class SubagentSettings(Section, frozen=True, kw_only=True):
    most_at_once: int = setting(
        6,
        "At once",
        "How many sub-agents of a conversation work side by side; further ones wait. 0 offers the model none.",
        unit="sub-agents",
        least=0,
        most=20,
        effect="next session",
    )
    max_requests: int = setting(
        60,
        "Requests of a sub-agent",
        "The most requests that a sub-agent may send to the model, unless its role says how many.",
        unit="requests",
        least=1,
        most=1_000,
    )
    most_deep: int = setting(
        1,
        "Levels",
        "How many levels of sub-agents there may be. With 1, sub-agents have none of their own.",
        unit="levels",
        least=1,
        most=3,
        effect="next session",
    )


class ContextSettings(Section, frozen=True, kw_only=True):
    instructions_off: tuple[str, ...] = setting(
        (),
        "Instructions not sent",
        "Files of instructions that the model does not get: paths, or globs such as `GEMINI.md` and "
        "`.cursor/rules/**`; `**` stands for all. “What the model sees” has a switch for each file.",
    )


class CompactionSettings(Section, frozen=True, kw_only=True):
    auto: bool = setting(
        True, "Summarise automatically", "Summarise the older part of a conversation when it exceeds the target."
    )
    keep_last_turns: int = setting(
        4,
        "Turns kept in full",
        "How many of the last turns a summary leaves as they are.",
        unit="turns",
        least=1,
        most=1_000,
    )
    target_tokens: int = setting(
        180_000, "Target size", "The size above which a conversation is summarised.", unit="tokens", least=1_000
    )
    pins_tokens: int = setting(
        2_000,
        "Room for pins",
        "How much may be pinned; pins are sent with every request.",
        unit="tokens",
        least=100,
        most=100_000,
    )


class McpSettings(Section, frozen=True, kw_only=True):
    enable: bool = setting(
        True, "Use MCP servers", "Start the servers that are defined, and let the model call their tools."
    )
    servers: tuple[str, ...] = setting(
        ("mcp://local",),
        "Servers in use",
        "The names of the servers that are used.",
        words={"mcp://local": "All that are defined"},
        is_advanced=True,
    )
    tools_share: int = setting(
        10,
        "Room for server tools",
        "If the definitions of these tools would take more of the model's context window than this, the model "
        "gets a tool search instead, and the tools that it finds. 0 always uses the search, 100 never does.",
        unit="%",
        least=0,
        most=100,
    )


class SkillsSettings(Section, frozen=True, kw_only=True):
    enable: bool = setting(
        True,
        "Use skills",
        "Offer the skills of your home folder, and those of this folder once you trust it, to the model and as slash "
        "commands.",
    )
    off: tuple[str, ...] = setting(
        (),
        "Skills switched off",
        "Skills to switch off, by name. They are offered neither to the model nor as slash commands.",
        is_advanced=True,
    )
    prompt_share: int = setting(
        2,
        "Room for the list of skills",
        "How much of the model's context window their names and descriptions may take. What does not fit is shortened; "
        "then those that you used longest ago are left out, and the model can search for them.",
        unit="%",
        least=0,
        most=20,
    )


class HookSettings(Section, frozen=True, kw_only=True):
    enabled: bool = setting(True, "Run hooks", "Run the commands that are defined for events of a session.")
    from_home: bool = setting(
        False,
        "Hooks of other programs",
        "Also run the hooks in your home folder that you set up for Claude Code, Codex, Cursor or Copilot.",
    )
    off: tuple[str, ...] = setting((), "Hooks switched off", "Hooks to switch off, by their digests.", is_advanced=True)


class DiagnosticsSettings(Section, frozen=True, kw_only=True):
    enabled: bool = setting(
        True,
        "Use language servers",
        "Let installed language servers check the files that a call of the agent changes.",
    )
    tell: Literal["errors", "warnings", "nothing"] = setting(
        "errors",
        "Reported to the model",
        "Which of the new problems in these files are reported to the model.",
        words={"errors": "Errors", "warnings": "Errors and warnings", "nothing": "Nothing"},
    )
    wait_seconds: float = setting(
        2.0,
        "Longest wait",
        "How long a call waits for running servers. What they find later is reported after a later call.",
        unit="seconds",
        least=0,
        most=30,
    )
    off: tuple[str, ...] = setting(
        (), "Language servers switched off", "Language servers to switch off, by name.", is_advanced=True
    )


class PluginsSettings(Section, frozen=True, kw_only=True):
    enable: bool = setting(
        True,
        "Use plugins",
        "Use the skills, commands, sub-agents, hooks and MCP servers of the plugins that you added, and of those that "
        "a trusted project brings.",
    )
    off: tuple[str, ...] = setting((), "Plugins switched off", "Plugins to switch off, by name.", is_advanced=True)


class RunnerSettings(Section, frozen=True, kw_only=True):
    max_turns: int = setting(
        8,
        "Requests of a run",
        "The most requests that one run may send to the model.",
        unit="requests",
        effect="next run",
    )
    exit_on_tool_error: bool = setting(
        False, "Stop at the first failure", "End the run after the first failed call.", effect="next run"
    )
    dry_run: bool = setting(False, "Dry run", "Answer every tool call without running it.", effect="next run")
    allowed_tools: tuple[str, ...] = setting(
        (), "Allowed tools", "The only tools available to a run.", unset="all", effect="next run"
    )
    blocked_tools: tuple[str, ...] = setting(
        (), "Blocked tools", "Tools that are not available to a run.", effect="next run"
    )
    audit_log: str = setting(
        "",
        "Audit log",
        "A file to which every tool call is appended as a JSON line.",
        unset="none",
        holds="file",
        effect="next run",
    )
    changes_log: str = setting(
        "",
        "Log of changes",
        "A file to which every change is appended as a JSON line.",
        unset="none",
        holds="file",
        effect="next run",
    )
    debug_tool_use: bool = setting(
        False, "Show tool calls", "Show every tool call on standard error.", effect="next run"
    )
    tool_debug_log: str = setting(
        "",
        "Log of shown calls",
        "A file to which the shown tool calls are appended as well.",
        unset="none",
        holds="file",
        effect="next run",
    )


class TelemetrySettings(Section, frozen=True, kw_only=True):
    otlp_address: str = setting(
        "",
        "Receiver",
        "The address that spans and metrics are sent to, as OTLP over HTTP, such as `http://localhost:4318`. "
        "They say what turns, requests and calls there were, and how long they took. Without an address or a file, "
        "there is no telemetry.",
        unset="none",
        holds="address",
    )
    file: str = setting(
        "",
        "Telemetry file",
        "A file to which the same data is appended, as lines of OTLP JSON.",
        unset="none",
        holds="file",
    )
    include_contents: bool = setting(
        False,
        "Export contents",
        "Also export prompts, answers, and the arguments and results of calls: the beginning of each, without "
        "anything that looks like a key. Anyone who can read the receiver's data can then read the conversation.",
    )

    @property
    def is_on(self) -> bool:
        return bool(self.otlp_address or self.file)


class Settings(Section, frozen=True, kw_only=True):
    """Everything that can be set. Names and defaults are part of the application's contract."""

    model: ModelSettings = section(ModelSettings, "Model", "Which model answers, and how much it thinks.")
    spending: SpendingSettings = section(
        SpendingSettings,
        "Spending",
        "What may be spent before the agent asks. Without a window, the agent stops instead.",
    )
    subagents: SubagentSettings = section(
        SubagentSettings, "Sub-agents", "Agents that carry out parts of the agent's work."
    )
    context: ContextSettings = section(
        ContextSettings, "Instructions", "What the model gets of AGENTS.md, CLAUDE.md and the like."
    )
    compaction: CompactionSettings = section(
        CompactionSettings, "Long conversations", "When a conversation is summarised, so that it still fits the model."
    )
    execution: ExecutionSettings = section(
        ExecutionSettings, "Approvals", "What may happen without approval, and how commands are confined."
    )
    safety_copy: SafetyCopySettings = section(
        SafetyCopySettings, "Safety copies", "How much is copied before a destructive command."
    )
    capture: CaptureSettings = section(
        CaptureSettings,
        "Changes made by commands",
        "What is watched for changes while a command runs, and so can be undone.",
    )
    tools: ToolsSettings = section(ToolsSettings, "Tools", "Settings for all tools.")
    mcp: McpSettings = section(McpSettings, "MCP servers", "Tools that other programs offer.")
    skills: SkillsSettings = section(
        SkillsSettings, "Skills", "Instructions for particular tasks, which the model reads when it needs them."
    )
    hooks: HookSettings = section(
        HookSettings,
        "Hooks",
        "Your commands that run at certain events of a session. They run outside the sandbox, as you do.",
    )
    diagnostics: DiagnosticsSettings = section(
        DiagnosticsSettings,
        "Diagnostics",
        "Errors that language servers find in files that the agent changed. The servers run in the sandbox: they read "
        "the folder, write nothing and reach no network.",
    )
    plugins: PluginsSettings = section(
        PluginsSettings, "Plugins", "Folders that bundle skills, commands, sub-agents, hooks and MCP servers."
    )
    ui: UiSettings = section(UiSettings, "Appearance", "The look of the window, and its notifications.")
    keys: KeySettings = section(
        KeySettings,
        "Keyboard",
        "The keys of each action of the window, such as `Ctrl+Shift+F`, or `Ctrl+K Ctrl+S` for two pressed one after "
        "the other. An empty list means no keys. If your keys are another action's defaults, yours win.",
    )
    runner: RunnerSettings = section(
        RunnerSettings, "Command line", "Defaults of `desktop-agent run`. Its own options take precedence."
    )
    telemetry: TelemetrySettings = section(
        TelemetrySettings,
        "Telemetry",
        "Data about sessions that is sent to a receiver of yours. By default, nothing is sent.",
    )
