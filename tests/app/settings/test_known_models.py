"""The user's facts about a model take effect in the window, for requests and for costs."""

import os
from pathlib import Path

import pytest

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.settings.models_file import MODELS_FILE_NAME
from desktop_agent.core.settings.settings_file import save_setting
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.servers.script import reply, text
from tests.servers.threaded import serve

pytestmark = pytest.mark.usefixtures("qapp", "key")

FACTS = "context_tokens = 40960\ninput_price = 1.0\noutput_price = 2.0\n"


@pytest.mark.parametrize(("levels", "sent"), [('["low", "high"]', {"effort": "high"}), ("[]", None)])
def test_what_is_said_of_a_model_decides(go: Go, project: Path, levels: str, sent: dict[str, str] | None) -> None:
    paths = AppPaths.from_environment(os.environ)
    save_setting(paths.settings_file(), "model.effort", "high")
    stated = f'[[model]]\nprovider = "anthropic"\nname = "claude-sonnet-5-5"\nefforts = {levels}\n{FACTS}'
    (paths.config / MODELS_FILE_NAME).write_text(stated)
    with serve(reply(text("Hello."), input_tokens=1_000_000, output_tokens=1_000_000)) as server:

        async def journey(user: Driver) -> None:
            await user.run_turn("Say hello.")
            assert user.transcript.turns.turn_usage.cost_usd == pytest.approx(3.0)

        go([str(project), "--base-url", server.url], journey)
        assert server.messages[0].fields.get("output_config") == sent
        assert [exchange.path for exchange in server.exchanges if "models" in exchange.path] == []
