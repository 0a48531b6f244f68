"""What opening a session gives its front end."""

from msgspec import Struct

from desktop_agent.core.session.session import Session
from desktop_agent.core.transcript import Transcript


class OpenedSession(Struct, frozen=True):
    """A session opened again: its running end, and what happened in it so far, for a front end to carry on.

    Of a long session, the entries of earlier pages are placeholders: `StoredSessions.read_page` reads one.
    """

    session: Session
    transcript: Transcript
