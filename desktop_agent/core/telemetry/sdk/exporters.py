"""How spans and metrics leave the process: by HTTP to a receiver, or as lines of JSON into a file."""

from collections.abc import Callable, Mapping, Sequence

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult, MetricsData
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.util.re import parse_env_headers

from desktop_agent.core.system.network.client import exporter_session
from desktop_agent.core.system.network.proxies import proxy_for
from desktop_agent.core.telemetry.health import Health
from desktop_agent.core.telemetry.sdk.quiet import quiet

TIMEOUT_S = 5.0
"""How long one export may take, all tries together."""


class WatchedSpans(SpanExporter):
    """Passes spans on, and tells how that went. Never raises."""

    def __init__(self, inner: SpanExporter, health: Health) -> None:
        self._inner = inner
        self._health = health

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export a batch."""
        is_sent = _watch(self._health, lambda: self._inner.export(spans) is SpanExportResult.SUCCESS)
        return SpanExportResult.SUCCESS if is_sent else SpanExportResult.FAILURE

    def shutdown(self) -> None:
        """Give up what is being sent."""
        with quiet(self._health):
            self._inner.shutdown()


class WatchedMetrics(MetricExporter):
    """Passes metrics on, and tells how that went. Never raises."""

    def __init__(self, inner: MetricExporter, health: Health) -> None:
        super().__init__(inner._preferred_temporality, inner._preferred_aggregation)
        self._inner = inner
        self._health = health

    def export(
        self, metrics_data: MetricsData, timeout_millis: float = 1000 * TIMEOUT_S, **kwargs: object
    ) -> MetricExportResult:
        """Export what was measured."""
        is_sent = _watch(self._health, lambda: self._pass_on(metrics_data, timeout_millis))
        return MetricExportResult.SUCCESS if is_sent else MetricExportResult.FAILURE

    def _pass_on(self, data: MetricsData, timeout_ms: float) -> bool:
        # The SDK has no types for its **kwargs.
        result = self._inner.export(data, timeout_ms)  # pyright: ignore[reportUnknownMemberType]
        return result is MetricExportResult.SUCCESS

    def force_flush(self, timeout_millis: float = 1000 * TIMEOUT_S) -> bool:
        """Return at once: nothing is kept here."""
        return True

    def shutdown(self, timeout_millis: float = 1000 * TIMEOUT_S, **kwargs: object) -> None:
        """Give up what is being sent."""
        with quiet(self._health):
            self._inner.shutdown(timeout_millis)  # pyright: ignore[reportUnknownMemberType] - likewise


def otlp_exporters(address: str, environ: Mapping[str, str]) -> tuple[SpanExporter, MetricExporter]:
    """Return what sends to the receiver at `address`: to `/v1/traces` and `/v1/metrics` below it.

    Raises `ValueError` for what is no address of the web, and `ProviderError` for a proxy of no use.
    """
    if not address.startswith(("http://", "https://")):
        raise ValueError("the address must begin with http:// or https://")
    base = address.rstrip("/")
    # Through one to an http:// address, the proxy could read along.
    proxy = proxy_for(base, environ) if base.startswith("https://") else None
    spans = OTLPSpanExporter(
        f"{base}/v1/traces", headers=_headers("TRACES", environ), timeout=TIMEOUT_S, session=exporter_session(proxy)
    )
    metrics = OTLPMetricExporter(
        f"{base}/v1/metrics", headers=_headers("METRICS", environ), timeout=TIMEOUT_S, session=exporter_session(proxy)
    )
    return spans, metrics


def _headers(signal: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that the environment has for the receiver."""
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
