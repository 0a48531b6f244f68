"""Settings: declared once with their types, defaults and words, read from TOML, immutable.

`sections` (with `command_sections`) declares them, `values` checks and changes single ones,
`loading` reads the user's file and `project` a project's. What is in force at the moment is in
`core.settings.live_settings`.
"""

from desktop_agent.core.settings.command_sections import (
    IGNORED_FOLDERS,
    CaptureSettings,
    ExecutionSettings,
    SafetyCopySettings,
    ToolLimits,
    ToolsSettings,
)
from desktop_agent.core.settings.declaring import About, Effect, Kind
from desktop_agent.core.settings.loading import FileProblem, LoadedSettings, SettingSource, load_settings
from desktop_agent.core.settings.sections import (
    DEFAULT_MODEL,
    CompactionSettings,
    ModelSettings,
    RunnerSettings,
    Settings,
    SpendingSettings,
    TelemetrySettings,
)
from desktop_agent.core.settings.values import (
    Setting,
    declared_section,
    declared_settings,
    read_value,
    setting_values,
    shown_value,
    with_setting,
)
from desktop_agent.core.settings.window_section import UiSettings

__all__ = [
    "DEFAULT_MODEL",
    "IGNORED_FOLDERS",
    "About",
    "CaptureSettings",
    "CompactionSettings",
    "Effect",
    "ExecutionSettings",
    "FileProblem",
    "Kind",
    "LoadedSettings",
    "ModelSettings",
    "RunnerSettings",
    "SafetyCopySettings",
    "Setting",
    "SettingSource",
    "Settings",
    "SpendingSettings",
    "TelemetrySettings",
    "ToolLimits",
    "ToolsSettings",
    "UiSettings",
    "declared_section",
    "declared_settings",
    "load_settings",
    "read_value",
    "setting_values",
    "shown_value",
    "with_setting",
]
