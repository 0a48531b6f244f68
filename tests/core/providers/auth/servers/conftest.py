from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.core.providers.auth.servers.server_user import User
from tests.servers.mcp_authorization import wanting_a_sign_in


@pytest.fixture
async def user(tmp_path: Path) -> AsyncIterator[User]:
    server, authorization = wanting_a_sign_in()
    async with server:
        user = User(server, authorization, tmp_path)
        yield user
        await user.pool.aclose()
    shown = f"{user.connection.status} {user.connection.log.tail()} {written_below(tmp_path)}"
    assert not [secret for secret in authorization.secrets if secret in shown]


def written_below(folder: Path) -> str:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file()).decode()
