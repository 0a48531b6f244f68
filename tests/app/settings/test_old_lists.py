"""A list of models older than a day is fetched again only when the picker opens."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.models.account import usual_account
from desktop_agent.core.models.known_model import ListedModel
from desktop_agent.core.models.model_catalog import MODELS_NAME, FetchedList, ListCache
from desktop_agent.core.settings.settings_file import save_setting
from tests.app.conftest import Go
from tests.app.settings.test_model_offering import described, open_picker
from tests.e2e.driver import Driver
from tests.servers.script import reply, text
from tests.servers.threaded import ThreadedServer, serve

pytestmark = pytest.mark.usefixtures("qapp", "key")


class Kept:
    def __init__(self, server: ThreadedServer, age: timedelta) -> None:
        paths = AppPaths.from_environment(os.environ)
        save_setting(paths.settings_file(), "model.base_url", server.url)
        self._account = replace(usual_account("anthropic"), address=server.url)
        self._cache = ListCache(paths.cache / MODELS_NAME)
        models = (ListedModel(name="claude-sonnet-5-5", context_tokens=1_000_000),)
        self._cache.write(self._account, FetchedList(fetched_at=datetime.now(UTC) - age, models=models))

    @property
    def names(self) -> list[str]:
        fetched = self._cache.read(self._account)
        return [model.name for model in fetched.models] if fetched is not None else []


def lists_asked_for(server: ThreadedServer) -> int:
    return sum(exchange.path.startswith("/v1/models") for exchange in server.exchanges)


def test_an_old_list_is_asked_for_when_the_picker_opens_and_never_at_a_start_or_a_turn(go: Go, project: Path) -> None:
    with serve(reply(text("Hello."))) as server:
        kept = Kept(server, timedelta(days=2))

        async def journey(user: Driver) -> None:
            await user.run_turn("Say hello.")
            assert lists_asked_for(server) == 0
            await open_picker(user)
            await user.until_true(lambda: kept.names == ["claude-test-large"], "the new list is there")

        go([str(project)], journey)
        assert lists_asked_for(server) == 1


def test_a_young_list_is_not(go: Go, project: Path) -> None:
    with serve(reply(text("Hello."))) as server:
        kept = Kept(server, timedelta(hours=2))

        async def journey(user: Driver) -> None:
            await open_picker(user)
            await user.run_turn("Say hello.")

        go([str(project)], journey)
        assert kept.names == ["claude-sonnet-5-5"]
        assert lists_asked_for(server) == 0


def test_an_address_that_does_not_answer_changes_nothing(go: Go, project: Path) -> None:
    with serve() as server:
        kept = Kept(server, timedelta(days=2))

    async def journey(user: Driver) -> None:
        rows = await open_picker(user)
        await user.until_true(lambda: "could not be reached" in str(described(rows)), "the reason is shown")

    go([str(project)], journey)
    assert kept.names == ["claude-sonnet-5-5"]
