"""What is said about a background command. No widgets."""

from datetime import datetime

from PySide6.QtCore import QCoreApplication, QLocale

from desktop_agent.core.protocol.model import Job
from desktop_agent.ui.translation.plurals import plural

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def _tr(text: str) -> str:
    return QCoreApplication.translate("Jobs", text)


def age(seconds: float) -> str:
    """Return a length of time in as few letters as say it: `12 s`, `3 min`, `2 h 5 min`, `3 d 4 h`."""
    whole = max(0, int(seconds))
    if whole < _MINUTE:
        return _tr("{0} s").format(whole)
    if whole < _HOUR:
        return _tr("{0} min").format(whole // _MINUTE)
    if whole < _DAY:
        return _tr("{0} h {1} min").format(whole // _HOUR, whole % _HOUR // _MINUTE)
    return _tr("{0} d {1} h").format(whole // _DAY, whole % _DAY // _HOUR)


def state(job: Job) -> str:
    """Say what became of it."""
    match job.state:
        case "running":
            return _tr("running")
        case "exited" if job.exit_code is None:
            return _tr("ended")
        case "exited":
            return _tr("exit code {0}").format(job.exit_code)
        case "stopped":
            return _tr("stopped")
        case "timed_out":
            return _tr("stopped at its time limit")


def figures(job: Job, now: datetime) -> str:
    """Say how long it has run and what it holds, or how it ended."""
    ran = age(((job.ended_at or now) - job.started_at).total_seconds())
    if job.state != "running":
        return " · ".join((state(job), _tr("ran {0}").format(ran)))
    if not job.memory_bytes:
        return ran
    size = QLocale().formattedDataSize(job.memory_bytes, 0, QLocale.DataSizeFormat.DataSizeSIFormat)
    return f"{ran} · {size}"


def count(running: int) -> str:
    """Say how many run: the button that shows them."""
    if running == 0:
        return _tr("Jobs")
    return plural("Jobs", running, "%n job", "%n jobs")
