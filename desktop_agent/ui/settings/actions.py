"""What the settings dialog can do beyond itself."""

from collections.abc import Callable

from msgspec import Struct


class SettingsActions(Struct, frozen=True, kw_only=True):
    """Given to the dialog, which hands them to its pages. All return at once; the dialog is shown what came of them."""

    change: Callable[[str, object], None]
    """Gives a setting (its dotted name, `ui.theme`) this value."""
    reset: Callable[[str], None]
    """Gives a setting (its dotted name) its default again."""
    open_file: Callable[[], None]
    """Opens the settings file."""
    answer_project: Callable[[str], None]
    """Says `trusted` or `ignored` to the project's settings."""
    revoke_rule: Callable[[str], None]
    """Takes back a rule (its id)."""
    save_key: Callable[[str, str], None]
    """Keeps a key: provider, key. The dialog has forgotten it."""
    remove_key: Callable[[str], None]
    """Forgets the key that is kept: provider."""
    check_key: Callable[[str, str], None]
    """Sees whether a key works: provider, and the typed key or nothing for the one in use."""
