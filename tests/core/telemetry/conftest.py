from collections.abc import Generator

import pytest

from tests.servers.otlp_receiver import OtlpReceiver, otlp_receiver


@pytest.fixture
def receiver() -> Generator[OtlpReceiver]:
    with otlp_receiver() as running:
        yield running
