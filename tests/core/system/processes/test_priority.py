"""Who stands back behind whom for the processor."""

import subprocess
import sys
from pathlib import Path

import pytest

SHARE = Path("/proc/self/autogroup")
STAND_BACK = "from desktop_agent.core.system.processes.process_table import stand_back; stand_back()"


@pytest.mark.skipif(not SHARE.exists(), reason="the kernel shares time among processes only")
@pytest.mark.parametrize(("start", "niceness"), [("", "0"), ("exec ", "19")])
def test_only_a_process_that_leads_its_session_lets_all_of_it_stand_back(start: str, niceness: str) -> None:
    code = f'{STAND_BACK}; print(open("{SHARE}").read())' if start else STAND_BACK
    line = f"{start}'{sys.executable}' -c '{code}'" + ("" if start else f"; cat {SHARE}")
    said = subprocess.run(  # noqa: TID251 - nothing of ours starts it
        ["/bin/sh", "-c", line], stdout=subprocess.PIPE, text=True, check=True, start_new_session=True
    )
    assert said.stdout.split()[-1] == niceness
