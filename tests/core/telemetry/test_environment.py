"""Variables of the environment never switch telemetry on and never send it elsewhere; some add to what is sent."""

import pytest

from desktop_agent.core.providers.scripted import Say
from desktop_agent.core.system.environment import child_environment
from tests.core.telemetry.sending import send_to
from tests.harness import Ground
from tests.servers.otlp_receiver import OtlpReceiver, otlp_receiver


async def test_an_address_in_the_environment_alone_exports_nothing(
    ground: Ground, receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("ENDPOINT", "TRACES_ENDPOINT", "METRICS_ENDPOINT"):
        monkeypatch.setenv(f"OTEL_EXPORTER_OTLP_{variable}", receiver.url)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    async with ground.session([[Say("a")]]) as s:
        await s.prompt()
    assert receiver.bodies == []


async def test_an_address_in_the_environment_does_not_go_before_the_settings(
    ground: Ground, receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with otlp_receiver() as other:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", other.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{other.url}/v1/traces")
        send_to(receiver, ground)
        async with ground.session([[Say("a")]]) as s:
            await s.prompt()
        assert other.bodies == []
    assert receiver.spans


async def test_attributes_names_and_compression_of_the_environment_are_honoured(
    ground: Ground, receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=a%20lab,service.instance.id=x,broken")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "my-agents")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    monkeypatch.setenv("OTEL_EXPERIMENTAL_RESOURCE_DETECTORS", "process,os,host")
    send_to(receiver, ground)
    async with ground.session([[Say("a")]]) as s:
        await s.prompt()
    assert receiver.headers[0]["content-encoding"] == "gzip"
    resource = receiver.resources[0]
    assert resource["deployment.environment.name"] == "a lab"
    assert resource["service.name"] == "my-agents"
    assert resource["service.instance.id"] != "x"
    assert [name for name in resource if name.startswith(("process.", "os.", "host."))] == []


async def test_a_sampler_of_the_environment_is_honoured(
    ground: Ground, receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    send_to(receiver, ground)
    async with ground.session([[Say("a")]]) as s:
        await s.prompt()
    assert receiver.spans == []
    assert receiver.points("turn_duration_seconds")


async def test_the_sdk_can_be_disabled_by_the_environment(
    ground: Ground, receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    send_to(receiver, ground)
    async with ground.session([[Say("a")]]) as s:
        assert (await s.prompt()).reason == "completed"
    assert receiver.spans == []
    assert receiver.metrics == {}


def test_a_command_does_not_get_the_headers_for_the_receiver() -> None:
    for name in ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"):
        assert child_environment({name: "authorization=Basic abc", "PATH": "/bin"}).keys() == {"PATH"}
