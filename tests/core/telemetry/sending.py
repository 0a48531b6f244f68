"""Sessions whose telemetry goes to a receiver."""

from desktop_agent.core.settings.sections import Settings, TelemetrySettings
from tests.harness import Ground
from tests.servers.otlp_receiver import OtlpReceiver


def send_to(receiver: OtlpReceiver, ground: Ground, *, include_contents: bool = False) -> None:
    """Let the sessions of `ground`, which has one file, send their telemetry to `receiver`."""
    telemetry = TelemetrySettings(otlp_address=receiver.url, include_contents=include_contents)
    ground.settings = Settings(telemetry=telemetry)
    ground.write("a.py", "x = 1\n")
