"""Which background commands are being looked after, and which of them made a change."""

from msgspec import Struct, field

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.capture.capture import Snapshot
from desktop_agent.core.system.files import FileTransition


class WatchedJob(Struct):
    """A background command whose changes are captured while it runs."""

    turn: int
    call_id: CallId
    snapshot: Snapshot
    paths: set[str] = field(default_factory=set[str])
    """What it is known to write."""
    has_ended: bool = False


class WatchedJobs:
    """The watched jobs of one session, oldest first. All of them were last looked at in the same moment."""

    def __init__(self) -> None:
        self._jobs: dict[str, WatchedJob] = {}
        self._ended: set[str] = set()
        """Those that ended before the call that started them was looked at."""

    def __bool__(self) -> bool:
        return bool(self._jobs)

    @property
    def all(self) -> tuple[WatchedJob, ...]:
        """Every one of them, also those that have ended and are to be looked at a last time."""
        return tuple(self._jobs.values())

    def is_watched(self, call_id: CallId) -> bool:
        """Whether the job that this call started is among them."""
        return any(job.call_id == call_id for job in self._jobs.values())

    def add(self, job_id: str, job: WatchedJob) -> None:
        """Watch one more."""
        self._jobs[job_id] = job

    def end(self, job_id: str) -> None:
        """Note that nothing of a job runs any more."""
        if job := self._jobs.get(job_id):
            job.has_ended = True
        else:
            self._ended.add(job_id)

    def has_ended(self, job_id: str) -> bool:
        """Whether a job that is not watched yet has ended already."""
        return job_id in self._ended

    def forget_ended(self) -> None:
        """Let go of those that were looked at a last time."""
        self._jobs = {job_id: job for job_id, job in self._jobs.items() if not job.has_ended}

    def maker_of(self, transition: FileTransition) -> WatchedJob | None:
        """Return the job that is known to write this file, under any of its names."""
        names = {transition.path, transition.moved_from, transition.moved_to} - {""}
        return next((job for job in reversed(self._jobs.values()) if not names.isdisjoint(job.paths)), None)

    def likeliest(self, transition: FileTransition) -> WatchedJob:
        """Return the job that wrote this, when nothing else ran: the one known for it, else the youngest."""
        return self.maker_of(transition) or next(reversed(self._jobs.values()))
