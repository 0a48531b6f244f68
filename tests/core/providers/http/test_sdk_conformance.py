"""Claude behaves the same through each connection: Anthropic's SDK with a key, and each of its clouds."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from desktop_agent.core.protocol.model import ModelRequest
from desktop_agent.core.providers.http_provider import HttpProvider
from tests.contracts.provider_conformance import ProviderConformance
from tests.contracts.wire_conformance import WireConformance, WireGround
from tests.core.providers.http.cloud_scenes import Scene, scene
from tests.core.providers.http.test_conformance import HttpGround


@pytest_asyncio.fixture(scope="class", loop_scope="class", params=["sdk", "bedrock", "vertex", "foundry", "aws"])
async def connected(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Scene]:
    """Start a worker once for all tests of a class: that takes longer than all of them."""
    folder = tmp_path_factory.mktemp("cloud")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        async with scene(request.param, folder) as connected:
            await connected.connection.start()
            yield connected


@pytest_asyncio.fixture(loop_scope="class")
async def provider(connected: Scene) -> AsyncGenerator[HttpProvider]:
    connected.server.forget()
    provider = connected.provider()
    yield provider
    await provider.aclose()
    assert connected.server.violations == []
    assert connected.connection.pid is not None


@pytest.mark.asyncio(loop_scope="class")
class TestProvider(ProviderConformance):
    @pytest.fixture
    def ground(self, provider: HttpProvider, connected: Scene, model_request: ModelRequest) -> HttpGround:
        return HttpGround(provider, connected.server, model_request)


@pytest.mark.asyncio(loop_scope="class")
class TestWireFormat(WireConformance):
    @pytest.fixture
    def wire(self, provider: HttpProvider, connected: Scene, model_request: ModelRequest) -> WireGround:
        return WireGround(provider, connected.server, model_request)
