"""What a notification says, wherever it is shown."""

from msgspec import Struct

NotificationKey = tuple[str, str]
"""What a notification is about: a session, and what waits in it."""


class Notification(Struct, frozen=True, kw_only=True):
    """What a notification says. Plain text, which other users of the screen may read."""

    key: NotificationKey
    title: str
    body: str
    can_deny: bool = False
    show_words: str
    deny_words: str
    makes_sound: bool = False
