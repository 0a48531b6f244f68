"""The telemetry guide's tables name exactly what the program exports."""

import re
from pathlib import Path

from desktop_agent.core.telemetry import event_fold
from desktop_agent.core.telemetry.event_fold import CONTENTS, CONVENTIONS_VERSION, METRICS

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "telemetry.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    table = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return table[2:]


def documented_spans() -> dict[str, set[str]]:
    return {row[0].strip("`").split()[0]: set(re.findall(r"`([^`]+)`", row[2])) for row in rows("Spans")}


def test_the_table_of_spans_has_every_span_and_attribute_and_no_others() -> None:
    names = {value for name, value in vars(event_fold).items() if name.isupper() and isinstance(value, str)}
    spans = {value for name, value in vars(event_fold).items() if name.endswith("_SPAN")}
    assert documented_spans().keys() == spans
    attributes = {name for name in names - {event_fold.TOKEN_TYPE} if re.fullmatch(r"[a-z_]+(\.[a-z_]+)+", name)}
    assert set().union(*documented_spans().values()) == attributes


def test_the_table_of_metrics_is_what_is_exported() -> None:
    documented = [
        (row[0].strip("`"), row[1].replace("`", ""), row[2], tuple(re.findall(r"`([^`]+)`", row[3])))
        for row in rows("Metrics")
    ]
    assert documented == [(form.name, f"{form.kind}, {form.unit}", form.text, form.attributes) for form in METRICS]


def test_the_page_names_the_version_of_the_conventions_and_the_attributes_with_contents() -> None:
    assert f"**{CONVENTIONS_VERSION}**" in PAGE
    assert [name for name in CONTENTS if f"`{name}`" not in PAGE] == []
