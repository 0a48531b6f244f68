import subprocess
from pathlib import Path

_AS_ADA = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always")


def git(folder: Path, *words: str) -> str:
    """Run git in the folder, and return what it printed."""
    return subprocess.check_output(["git", *_AS_ADA, *words], cwd=folder, text=True, stderr=subprocess.PIPE).strip()
