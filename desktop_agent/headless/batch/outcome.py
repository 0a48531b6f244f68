"""What one task of a batch came to: a line of its results."""

import json

from msgspec import Struct, ValidationError, convert, field
from msgspec.structs import asdict

from desktop_agent.core.base.learned import learned
from desktop_agent.core.protocol.model import JsonObject


class TaskOutcome(Struct, frozen=True, kw_only=True):
    """One result. Without a run, because its worker died or there was no folder, `session_id` is None."""

    id: str
    exit_code: int
    """As `desktop-agent run` would have returned."""
    stopped_reason: str
    final_response: str = ""
    session_id: str | None = None
    patch: str = ""
    """What the run changed, as `git apply` takes it. The folder itself is as it was."""
    usage: JsonObject = field(default_factory=dict[str, object])
    cost: float | None = None
    """In US dollars; None where a price is not known."""
    problems: tuple[str, ...] = ()
    output: object = None
    """The final answer as a JSON value, with the option `output-schema`."""
    duration_s: float = 0.0
    attempts: int = 1
    """How often it was tried: a worker that dies, or a provider that fails, is tried again."""

    @property
    def is_worth_a_retry(self) -> bool:
        """Whether another try may end otherwise."""
        return self.stopped_reason in ("provider_error", "storage_error", "internal_error")

    def line(self) -> str:
        """Return it as a line of JSON, without the end of the line."""
        return json.dumps({**asdict(self), "problems": list(self.problems)}, ensure_ascii=False)

    @classmethod
    def read(cls, line: str | bytes) -> "TaskOutcome":
        """Return the outcome that a line describes; what is not known is left out. Raises `ValueError`."""
        try:
            return convert(json.loads(line), learned(cls))
        except ValidationError as error:
            raise ValueError(str(error)) from error


def failed(task_id: str, reason: str, problem: str, *, exit_code: int = 1, attempts: int = 1) -> TaskOutcome:
    """Return the outcome of a task that could not be run."""
    return TaskOutcome(id=task_id, exit_code=exit_code, stopped_reason=reason, problems=(problem,), attempts=attempts)
