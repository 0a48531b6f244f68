"""The metrics, as they are declared in `conventions`."""

from collections.abc import Mapping

from opentelemetry.metrics import Meter

from desktop_agent.core.telemetry.conventions import METRICS, MetricForm

Labels = Mapping[str, str | bool]


class Instruments:
    """Takes measurements, of all sessions of a process."""

    def __init__(self, meter: Meter) -> None:
        forms = {kind: [form for form in METRICS if form.kind == kind] for kind in ("counter", "histogram", "gauge")}
        self._counters = {form.name: meter.create_counter(form.name, form.unit, form.text) for form in forms["counter"]}
        self._histograms = {
            form.name: meter.create_histogram(
                form.name, form.unit, form.text, explicit_bucket_boundaries_advisory=form.buckets
            )
            for form in forms["histogram"]
        }
        self._gauges = {form.name: meter.create_gauge(form.name, form.unit, form.text) for form in forms["gauge"]}

    def count(self, form: MetricForm, labels: Labels, amount: int = 1) -> None:
        """Add to a counter."""
        self._counters[form.name].add(amount, labels)

    def measure(self, form: MetricForm, labels: Labels, value: float) -> None:
        """Take one value for a histogram."""
        self._histograms[form.name].record(value, labels)

    def set(self, form: MetricForm, value: int) -> None:
        """Say what something is now."""
        self._gauges[form.name].set(value)
