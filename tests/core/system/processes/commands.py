import os
from pathlib import Path

from desktop_agent.core.system.processes.runner import Command


def shell(script: str, folder: Path, *, tty: bool = False) -> Command:
    return Command(argv=("/bin/bash", "-c", script), cwd=folder, environ=os.environ, tty=tty)
