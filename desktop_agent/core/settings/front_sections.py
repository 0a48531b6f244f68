"""The sections about front ends: how the window looks, and what holds for runs of the command line."""

from dataclasses import dataclass, field
from typing import Literal

from desktop_agent.core.settings.declaring import About, about


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
