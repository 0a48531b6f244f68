"""Telemetry of a batch: each worker process identifies itself."""

from pathlib import Path

import pytest

from tests.e2e.batch.lab import PROMPT, Lab
from tests.servers.otlp_receiver import otlp_receiver


@pytest.mark.nightly
def test_the_workers_of_a_batch_send_their_own_and_can_be_told_apart(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    config = tmp_path / "home" / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    lab.write_demo(2)
    with otlp_receiver() as receiver:
        config.write_text(f'[telemetry]\notlp_address = "{receiver.url}"\n', encoding="utf-8")
        assert lab.run("--workers", "2")[0] == 0
    turns = [span for span in receiver.spans if span.name.startswith("invoke_agent")]
    sessions = {str(span.attributes["gen_ai.conversation.id"]) for span in turns}
    assert sessions == {outcome["session_id"] for outcome in lab.outcomes}
    assert len({str(resource["service.instance.id"]) for resource in receiver.resources}) == 2
    assert PROMPT.encode() not in b"".join(receiver.bodies)
