"""What a notification says, wherever it is shown."""

from msgspec import Struct

NoticeKey = tuple[str, str]
"""What a notification is about: a session, and what waits in it."""


class Notice(Struct, frozen=True, kw_only=True):
    """What a notification says. Plain text, which other users of the screen may read."""

    key: NoticeKey
    title: str
    body: str
    can_deny: bool = False
    show_words: str
    deny_words: str
    makes_sound: bool = False
