"""Settings: declared once with their types, defaults and words, read from TOML, immutable.

`sections` declares them, `values` checks and changes single ones, `loading` reads the user's file. What is in force
at the moment is in `core.settings.live_settings`, and in one folder in `core.settings.workspace_settings`.
"""

from desktop_agent.core.settings.declaring import About, Effect, Kind
from desktop_agent.core.settings.loading import FileProblem, LoadedSettings, SettingSource, load_settings
from desktop_agent.core.settings.sections import (
    DEFAULT_MODEL,
    IGNORED_FOLDERS,
    CaptureSettings,
    CompactionSettings,
    ExecutionSettings,
    ModelSettings,
    RunnerSettings,
    SafetyCopySettings,
    Settings,
    SpendingSettings,
    TelemetrySettings,
    ToolLimits,
    ToolsSettings,
    UiSettings,
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
