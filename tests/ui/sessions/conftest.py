from datetime import UTC, datetime, timedelta
from typing import Protocol

import pytest

from desktop_agent.core.protocol.model import SessionState, SessionSummary

NOW = datetime(2026, 11, 20, 15, 0, tzinfo=UTC)
HERE = "/home/ada/pagination"


class MakeSession(Protocol):
    def __call__(
        self, session_id: str, title: str = "", *, ago: timedelta = ..., state: SessionState = ..., workspace: str = ...
    ) -> SessionSummary: ...


@pytest.fixture(scope="session")
def make_session() -> MakeSession:
    def make(
        session_id: str,
        title: str = "",
        *,
        ago: timedelta = timedelta(),
        state: SessionState = "idle",
        workspace: str = HERE,
    ) -> SessionSummary:
        return SessionSummary(
            id=session_id,
            title=title,
            workspace=workspace,
            created_at=NOW - ago,
            updated_at=NOW - ago,
            active_at=NOW - ago,
            state=state,
            turns=3,
            size_bytes=2048,
        )

    return make
