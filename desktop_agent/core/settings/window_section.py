"""The section about the window."""

from typing import Literal

from desktop_agent.core.settings.declaring import Section, setting


class UiSettings(Section, frozen=True, kw_only=True):
    """`[ui]`: how the window looks, and how it tells that something waits."""

    language: Literal["system", "en", "de", "zh-cn"] = setting(
        "system",
        title="Language",
        text="Of the window. What the model and the command line say is not translated.",
        words={"system": "As the system", "en": "English", "de": "Deutsch", "zh-cn": "简体中文"},
        effect="next start",
    )
    theme: Literal["system", "light", "dark", "high-contrast-light", "high-contrast-dark"] = setting(
        "system",
        title="Theme",
        text="Light or dark, with more contrast for people who need it. The system may ask for that, too.",
        words={
            "system": "As the system",
            "light": "Light",
            "dark": "Dark",
            "high-contrast-light": "Light, high contrast",
            "high-contrast-dark": "Dark, high contrast",
        },
    )
    colour_blind_safe_diff: bool = setting(
        False, title="Diffs in blue and orange", text="Instead of green and red, for people who confuse these."
    )
    interface_font_px: int = setting(
        13,
        title="Size of the interface",
        text="Of names, lists, buttons and menus, before the scaling of the screen.",
        unit="pixels",
        least=10,
        most=18,
        effect="next start",
    )
    chat_font_px: int = setting(
        13, title="Size of chat text", text="Before the scaling of the screen.", unit="pixels", least=8, most=40
    )
    code_font_px: int = setting(
        12, title="Size of code", text="In the conversation and in output.", unit="pixels", least=8, most=40
    )
    diff_font_px: float = setting(
        11.5, title="Size of diffs", text="In the review and in questions.", unit="pixels", least=8, most=40
    )
    density: Literal["comfortable", "compact"] = setting(
        "comfortable",
        title="Density of the conversation",
        text="How close together lines and messages stand.",
        words={"comfortable": "Comfortable", "compact": "Compact"},
    )
    motion: Literal["system", "full", "reduced"] = setting(
        "system",
        title="Movement",
        text="Carets that blink, marks that pulse, docks and menus that slide. Nothing is told by movement alone.",
        words={"system": "As the system", "full": "Always", "reduced": "Never"},
    )
    spelling: bool = setting(
        True,
        title="Underline misspelled words",
        text="In your message, by the system's dictionaries of your languages and of English, where it has some.",
    )
    opens_approvals: bool = setting(
        False,
        title="Open questions in a dialog",
        text="As soon as they come, instead of with Review… on their card in the conversation.",
    )
    notifications: bool = setting(
        True,
        title="Notifications",
        text="Of the desktop, when something waits for you or a turn ends while the window is not in front.",
    )
    notification_sound: bool = setting(False, title="Sound of notifications", text="If the desktop plays one.")
