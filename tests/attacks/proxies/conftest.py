import os

import pytest


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().startswith(("ANTHROPIC_", "SSL_CERT")) or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)
