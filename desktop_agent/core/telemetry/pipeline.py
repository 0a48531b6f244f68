"""The only way out of the process: the SDK's providers and exporters, with bounded queues that drop the excess.

Nothing is made global. Files: https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/
"""

import asyncio
import base64
import json
import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import cast
from urllib.parse import unquote

from filelock import FileLock
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    MetricExporter,
    MetricExportResult,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.util.re import parse_env_headers

from desktop_agent.core.base.package import __version__
from desktop_agent.core.mcp.server_status import ServerStatus
from desktop_agent.core.settings.sections import TelemetrySettings
from desktop_agent.core.system.network.connections import proxy_for
from desktop_agent.core.system.network.http_client import exporter_session
from desktop_agent.core.system.private_files import make_private_file, make_private_folder
from desktop_agent.core.telemetry.event_fold import SCHEMA_URL, SCOPE, SERVICE_NAME, EventFold, Instruments, ServerWatch
from desktop_agent.core.telemetry.telemetry import (
    MAX_BYTES,
    Contents,
    Health,
    SessionFacts,
    quiet,
    secrets_of,
    to_health,
)

_LOGGERS = (
    "opentelemetry.attributes", "opentelemetry.exporter.otlp.common.http",
    "opentelemetry.exporter.otlp.proto.http._common", "opentelemetry.exporter.otlp.proto.http.metric_exporter",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter", "opentelemetry.sdk._shared_internal",
    "opentelemetry.sdk.metrics._internal.export", "opentelemetry.sdk.trace", "urllib3.connectionpool",
)  # fmt: skip
"""All loggers are named, because a filter does not apply to the loggers below its own."""

TIMEOUT_S = 5.0
"""How many seconds one export may take, retries included."""


class _Spans(SpanExporter):
    """Sends spans, and reports the outcome to `health`. Never raises."""

    def __init__(
        self, send: Callable[[Sequence[ReadableSpan]], object], health: Health, end: Callable[[], None] = lambda: None
    ) -> None:
        """`send` returns `FAILURE` or raises when it fails."""
        self._send = send
        self._health = health
        self._end = end

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        is_sent = _watch(self._health, lambda: self._send(spans) is not SpanExportResult.FAILURE)
        return SpanExportResult.SUCCESS if is_sent else SpanExportResult.FAILURE

    def shutdown(self) -> None:
        with quiet(self._health):
            self._end()


class _Metrics(MetricExporter):
    def __init__(
        self, send: Callable[[MetricsData], object], health: Health, inner: MetricExporter | None = None
    ) -> None:
        super().__init__(inner and inner._preferred_temporality, inner and inner._preferred_aggregation)
        self._send = send
        self._health = health
        self._inner = inner

    def export(self, metrics_data: MetricsData, timeout_millis: float = 0, **kwargs: object) -> MetricExportResult:
        is_sent = _watch(self._health, lambda: self._send(metrics_data) is not MetricExportResult.FAILURE)
        return MetricExportResult.SUCCESS if is_sent else MetricExportResult.FAILURE

    def force_flush(self, timeout_millis: float = 0) -> bool:
        return True

    def shutdown(self, timeout_millis: float = 1000 * TIMEOUT_S, **kwargs: object) -> None:
        if self._inner is not None:
            with quiet(self._health):
                self._inner.shutdown(timeout_millis)  # pyright: ignore[reportUnknownMemberType] - the SDK's **kwargs


def _otlp_exporters(address: str, environ: Mapping[str, str], health: Health) -> tuple[_Spans, _Metrics]:
    """Return the exporters to `/v1/traces` and `/v1/metrics` below `address`.

    Raises `ValueError` for an address that is not on the web, and `ProviderError` for an unusable proxy.
    """
    if not address.startswith(("http://", "https://")):
        raise ValueError("the address must begin with http:// or https://")
    base = address.rstrip("/")
    # A proxy can read what is sent to an http:// address.
    proxy = proxy_for(base, environ) if base.startswith("https://") else None
    spans = OTLPSpanExporter(
        f"{base}/v1/traces", headers=_headers("TRACES", environ), timeout=TIMEOUT_S, session=exporter_session(proxy)
    )
    metrics = OTLPMetricExporter(
        f"{base}/v1/metrics", headers=_headers("METRICS", environ), timeout=TIMEOUT_S, session=exporter_session(proxy)
    )
    send = cast("Callable[[MetricsData], object]", metrics.export)  # pyright: ignore[reportUnknownMemberType] - **kwargs
    return _Spans(spans.export, health, spans.shutdown), _Metrics(send, health, metrics)


def _headers(signal: str, environ: Mapping[str, str]) -> dict[str, str]:
    name = f"OTEL_EXPORTER_OTLP_{signal}_HEADERS"
    text = environ.get(name) or environ.get("OTEL_EXPORTER_OTLP_HEADERS", "")
    return dict(parse_env_headers(text, liberal=True))


def _watch(health: Health, export: Callable[[], bool]) -> bool:
    with quiet(health):
        try:
            is_sent = export()
        except Exception as error:  # noqa: BLE001 - an export in a thread of the SDK, which would only log it
            health.failed(f"{type(error).__name__}: {error}")
            return False
    if is_sent:
        health.worked()
    else:
        health.failed("The export failed.")
    return is_sent


_PATIENCE_S = 5
MOST_BYTES = 64 * 2**20
"""How many bytes one file may have. Two full ones are kept, as `.1` and `.2`."""
_IDS = frozenset({"traceId", "spanId", "parentSpanId"})
"""Fields that OTLP's JSON has in hexadecimal, and protobuf's JSON in base64."""


def append_line(path: Path, message: Message) -> None:
    """Append all of `message`, even while other processes append to the file. Raises `OSError`."""
    make_private_folder(path.parent)
    _make_room(path)
    fields = _with_hex_ids(MessageToDict(message, use_integers_for_enums=True))
    line = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
    make_private_file(path)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(handle, line)
    finally:
        os.close(handle)


def _make_room(path: Path) -> None:
    """Move a full file aside. If several processes find it full, only one of them moves it."""
    if not _is_full(path):
        return
    with FileLock(_beside(path, "lock"), timeout=_PATIENCE_S):
        if _is_full(path):
            with suppress(FileNotFoundError):
                _beside(path, "1").replace(_beside(path, "2"))
            path.replace(_beside(path, "1"))


def _is_full(path: Path) -> bool:
    try:
        return path.stat().st_size >= MOST_BYTES
    except FileNotFoundError:
        return False


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(f"{path.name}.{ending}")


def _with_hex_ids(value: object) -> object:
    if isinstance(value, list):
        return [_with_hex_ids(item) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("Mapping[str, object]", value)
    return {
        name: base64.b64decode(item).hex() if name in _IDS and isinstance(item, str) else _with_hex_ids(item)
        for name, item in fields.items()
    }


QUEUE = 2048
BATCH = 256
SPANS_EVERY_S = 5.0
METRICS_EVERY_S = 30.0
LAST_FLUSH_S = 1.0
"""How many seconds closing waits for a receiver that works."""
FAILING_FLUSH_S = 0.2
"""How many seconds closing waits for a receiver that did not take the last export."""


class SdkPipeline:
    def __init__(self, wanted: TelemetrySettings, environ: Mapping[str, str], instance_id: str, health: Health) -> None:
        """Raises `ValueError` for an invalid address. Blocks briefly."""
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(to_health)
        self._health = health
        self._exporters = _exporters(wanted, environ, health)
        resource = _resource(environ, instance_id)
        limits = SpanLimits(max_attribute_length=32 * MAX_BYTES)
        self._tracers = TracerProvider(resource=resource, span_limits=limits, shutdown_on_exit=False)
        for spans, _ in self._exporters:
            self._tracers.add_span_processor(
                BatchSpanProcessor(
                    spans, max_queue_size=QUEUE, schedule_delay_millis=1000 * SPANS_EVERY_S, max_export_batch_size=BATCH
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

    def fold(self, facts: SessionFacts) -> EventFold:
        return EventFold(self._tracer, self._instruments, self._contents, facts, self._health)

    def server_changed(self, status: ServerStatus) -> None:
        """Never raises."""
        try:
            with quiet(self._health):
                self._servers.changed(status)
        except Exception as error:  # noqa: BLE001 - a server does not depend on being watched
            self._health.failed(f"It was ended by a defect: {type(error).__name__}")

    async def aclose(self) -> None:
        """Send what is left, and end, within `LAST_FLUSH_S`. The rest is lost."""
        with quiet(self._health):
            self._servers.close()
        ended, loop = asyncio.Event(), asyncio.get_running_loop()

        def shut_down(provider: MeterProvider | TracerProvider) -> None:
            with quiet(self._health):
                provider.shutdown()

        def end() -> None:
            threads = [
                threading.Thread(target=shut_down, args=(provider,), name="telemetry-end", daemon=True)
                for provider in (self._meters, self._tracers)
            ]
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


def _exporters(wanted: TelemetrySettings, environ: Mapping[str, str], health: Health) -> list[tuple[_Spans, _Metrics]]:
    found: list[tuple[_Spans, _Metrics]] = []
    if wanted.otlp_address:
        found.append(_otlp_exporters(wanted.otlp_address, environ, health))
    if wanted.file:
        append = partial(append_line, Path(wanted.file))
        spans = _Spans(lambda spans: append(encode_spans(spans)), health)
        found.append((spans, _Metrics(lambda data: append(encode_metrics(data)), health)))
    return found


def _resource(environ: Mapping[str, str], instance_id: str) -> Resource:
    """Return the description of this process in every export.

    The SDK's detectors are not used, because one of them exports the command line, which includes the prompt.
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
