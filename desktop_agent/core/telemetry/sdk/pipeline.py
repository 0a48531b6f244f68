"""One way out of the process: the SDK's providers, with bounded queues that drop what does not fit.

Nothing is made global: what other libraries trace by OpenTelemetry, with contents, does not come this way.
"""

import asyncio
import threading
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from desktop_agent.core.base.package import __version__
from desktop_agent.core.mcp.status import ServerStatus
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.settings import TelemetrySettings
from desktop_agent.core.telemetry.contents import MAX_BYTES, Contents, secrets_of
from desktop_agent.core.telemetry.conventions import SCHEMA_URL, SCOPE, SERVICE_NAME
from desktop_agent.core.telemetry.facts import SessionFacts
from desktop_agent.core.telemetry.health import Health
from desktop_agent.core.telemetry.sdk.event_fold import EventFold
from desktop_agent.core.telemetry.sdk.exporters import WatchedMetrics, WatchedSpans, otlp_exporters
from desktop_agent.core.telemetry.sdk.instruments import Instruments
from desktop_agent.core.telemetry.sdk.json_lines import MetricLines, SpanLines
from desktop_agent.core.telemetry.sdk.quiet import install, quiet
from desktop_agent.core.telemetry.sdk.server_watch import ServerWatch

QUEUE = 2048
"""How many spans wait at most. What comes on top of them pushes the oldest out."""
BATCH = 256
SPANS_EVERY_S = 5.0
METRICS_EVERY_S = 30.0
LAST_FLUSH_S = 1.0
"""How long the end waits for a receiver that works."""
FAILING_FLUSH_S = 0.2
"""How long for one that did not take the last export."""


class SdkPipeline:
    """Makes the folds of sessions, and sends what they make of events. Makes threads of its own; `aclose` ends them."""

    def __init__(self, wanted: TelemetrySettings, environ: Mapping[str, str], instance_id: str, health: Health) -> None:
        """Raises `ValueError` for an address that is none. Blocks shortly."""
        install()
        self._health = health
        self._exporters = [
            (WatchedSpans(spans, health), WatchedMetrics(metrics, health))
            for spans, metrics in _exporters(wanted, environ)
        ]
        resource = _resource(environ, instance_id)
        limits = SpanLimits(max_attribute_length=32 * MAX_BYTES)
        self._tracers = TracerProvider(resource=resource, span_limits=limits, shutdown_on_exit=False)
        for spans, _ in self._exporters:
            self._tracers.add_span_processor(
                BatchSpanProcessor(
                    spans,
                    max_queue_size=QUEUE,
                    schedule_delay_millis=1000 * SPANS_EVERY_S,
                    max_export_batch_size=BATCH,
                )
            )
        readers = [
            PeriodicExportingMetricReader(metrics, export_interval_millis=1000 * METRICS_EVERY_S)
            for _, metrics in self._exporters
        ]
        self._meters = MeterProvider(readers, resource, shutdown_on_exit=False)
        self._tracer = self._tracers.get_tracer(SCOPE, __version__, schema_url=SCHEMA_URL)
        self._instruments = Instruments(self._meters.get_meter(SCOPE, __version__, schema_url=SCHEMA_URL))
        self._contents = Contents(secrets_of(environ)) if wanted.include_contents else None
        self._servers = ServerWatch(self._tracer, self._instruments)

    def fold(self, facts: SessionFacts) -> "QuietFold":
        """Return what folds the events of a session."""
        return QuietFold(EventFold(self._tracer, self._instruments, self._contents, facts), self._health)

    def server_changed(self, status: ServerStatus) -> None:
        """Note how an MCP server is now. Never raises."""
        try:
            with quiet(self._health):
                self._servers.changed(status)
        except Exception as error:  # noqa: BLE001 - a server does not depend on being watched
            self._health.failed(f"It was ended by a defect: {type(error).__name__}")

    async def aclose(self) -> None:
        """Send what is left and end, within `LAST_FLUSH_S`; what has not been sent by then is lost."""
        with quiet(self._health):
            self._servers.close()
        ended, loop = asyncio.Event(), asyncio.get_running_loop()

        def end() -> None:
            steps = (self._end_metrics, self._end_spans)
            threads = [threading.Thread(target=step, name="telemetry-end", daemon=True) for step in steps]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            try:
                loop.call_soon_threadsafe(ended.set)
            except RuntimeError:  # nobody waits any more, and the loop is closed
                return

        # A daemon, and no thread of the loop's executor: the interpreter would wait for that one at its end.
        threading.Thread(target=end, name="telemetry-end", daemon=True).start()
        try:
            async with asyncio.timeout(FAILING_FLUSH_S if self._health.is_failing else LAST_FLUSH_S):
                await ended.wait()
        except TimeoutError:
            self._health.failed("The receiver did not take what was left in time.")
            with quiet(self._health):
                for spans, metrics in self._exporters:  # no further tries
                    spans.shutdown()
                    metrics.shutdown()

    def _end_spans(self) -> None:
        with quiet(self._health):
            self._tracers.shutdown()

    def _end_metrics(self) -> None:
        with quiet(self._health):
            self._meters.shutdown()


class QuietFold:
    """A fold of which the SDK says nothing in the logs."""

    def __init__(self, fold: EventFold, health: Health) -> None:
        self._fold = fold
        self._health = health

    def apply(self, event: ev.Event) -> None:
        """Fold one event."""
        with quiet(self._health):
            self._fold.apply(event)

    def close(self) -> None:
        """End what is open."""
        with quiet(self._health):
            self._fold.close()


def _exporters(wanted: TelemetrySettings, environ: Mapping[str, str]) -> list[tuple[SpanExporter, MetricExporter]]:
    found: list[tuple[SpanExporter, MetricExporter]] = []
    if wanted.otlp_address:
        found.append(otlp_exporters(wanted.otlp_address, environ))
    if wanted.file:
        found.append((SpanLines(Path(wanted.file)), MetricLines(Path(wanted.file))))
    return found


def _resource(environ: Mapping[str, str], instance_id: str) -> Resource:
    """Return what all that is exported says of this process.

    Only these two variables count, and no detector of the SDK: one of them exports the command line, prompt and all.
    """
    given: dict[str, str] = {}
    for pair in environ.get("OTEL_RESOURCE_ATTRIBUTES", "").split(","):
        name, sign, value = pair.partition("=")
        if sign and name.strip():
            given[name.strip()] = unquote(value.strip())
    own = {
        "service.name": environ.get("OTEL_SERVICE_NAME") or given.get("service.name") or SERVICE_NAME,
        "service.version": __version__,
        "service.instance.id": instance_id,
    }
    return Resource({**given, **own}, SCHEMA_URL)
