"""The settings themselves: every section with its fields, their types, defaults and what a user reads about them.

Those about calls are in `command_sections`, those about front ends in `front_sections`.
"""

from dataclasses import dataclass, field
from typing import Literal

from desktop_agent.core.settings.command_sections import (
    CaptureSettings,
    ExecutionSettings,
    SafetyCopySettings,
    ToolsSettings,
)
from desktop_agent.core.settings.declaring import About, AboutSection, about
from desktop_agent.core.settings.front_sections import RunnerSettings, UiSettings

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
