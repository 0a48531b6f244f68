"""One session asks models through all three wire formats in turn, and loses nothing."""

import json
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from desktop_agent import ModelRef
from tests.e2e.journeys.journey import Journey
from tests.e2e.journeys.legs import LEGS, ORDERS, Leg
from tests.servers.model_server import ModelServer


@pytest.mark.parametrize("order", ORDERS, ids=", ".join)
async def test_a_session_changes_the_vendor_at_servers_of_ours(
    workspace: Path, isolated_home: Path, order: tuple[str, ...]
) -> None:
    legs = [LEGS[provider] for provider in order]
    async with AsyncExitStack() as running:
        servers = {
            leg: await running.enter_async_context(ModelServer(*leg.script, dialect=leg.dialect, key=leg.key))
            for leg in legs
        }

        def model_of(leg: Leg) -> ModelRef:
            return ModelRef(provider=leg.provider, model=leg.model, base_url=servers[leg].url)

        journey = Journey(workspace, isolated_home, model_of)
        await journey.travel(legs)
        journey.check(legs)
        for leg, server in servers.items():
            assert server.violations == [], leg
            assert server.unused_answers == 0, leg
        assert journey.questions == ["edit_file"] * 3
        last = json.dumps(servers[legs[-1]].messages[-1].body)
        assert [leg.file for leg in legs if leg.task not in last or leg.done not in last] == []
        assert [leg.file for leg in legs[:-1] if leg.explained not in last] == []
