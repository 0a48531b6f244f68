"""Which processes yield the processor to others."""

import subprocess
import sys
from pathlib import Path

import pytest

SHARE = Path("/proc/self/autogroup")
LOWER_OWN_PRIORITY = (
    "from desktop_agent.core.system.processes.process_table import lower_own_priority; lower_own_priority()"
)


@pytest.mark.skipif(not SHARE.exists(), reason="the kernel shares time among processes only")
@pytest.mark.parametrize(("start", "niceness"), [("", "0"), ("exec ", "19")])
def test_only_a_process_that_leads_its_session_lets_all_of_it_stand_back(start: str, niceness: str) -> None:
    code = f'{LOWER_OWN_PRIORITY}; print(open("{SHARE}").read())' if start else LOWER_OWN_PRIORITY
    line = f"{start}'{sys.executable}' -c '{code}'" + ("" if start else f"; cat {SHARE}")
    said = subprocess.run(  # noqa: TID251 - nothing of ours starts it
        ["/bin/sh", "-c", line], stdout=subprocess.PIPE, text=True, check=True, start_new_session=True
    )
    assert said.stdout.split()[-1] == niceness
