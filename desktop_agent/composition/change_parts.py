"""What knows the changes of a session: its ledger, the capture of what commands change, and their safety copies."""

import os
from functools import partial
from pathlib import PurePosixPath

from msgspec import Struct

from desktop_agent.composition.session_plan import SessionPlan
from desktop_agent.composition.settings_in_force import allowed_folders, safety_limits
from desktop_agent.composition.shared_parts import SharedParts
from desktop_agent.core.capture.baseline import Baseline
from desktop_agent.core.capture.capture import StatCapture
from desktop_agent.core.capture.git_objects import BASELINES
from desktop_agent.core.capture.safety import SafetyCopies
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.policy.paths import sensitivity
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import FileImage
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.system.workspace import HeldWorkspace
from desktop_agent.core.tools.execution.effects import Effects
from desktop_agent.core.tools.execution.safeguard import Safeguard
from desktop_agent.core.transcript import Transcript


class ChangeParts(Struct, frozen=True):
    """The parts, made for each other."""

    workspace: HeldWorkspace
    ledger: Ledger
    capture: StatCapture
    safeguard: Safeguard
    effects: Effects


def build_change_parts(shared: SharedParts, plan: SessionPlan, log: EventLog) -> ChangeParts:
    """Return them for one session. What they record goes to `log`."""
    workspace = HeldWorkspace(plan.root, plan.folder)
    ledger = Ledger(plan.root, shared.blobs, held=workspace, is_special=lambda path: sensitivity(path) is not None)
    name = digest_of(os.fsencode(plan.root))[:32]
    baseline = Baseline(shared.paths.cache / BASELINES / f"{name}.sqlite3", trouble=shared.paths.cache_problem)
    capture = StatCapture(plan.root, baseline, lambda: plan.settings.current.capture)
    folder = shared.catalog.session_folder(plan.storage.session_id) / "safety"
    copies = SafetyCopies(plan.root, folder, partial(safety_limits, plan.settings))
    safeguard = Safeguard(plan.root, copies, folder, writable=partial(allowed_folders, plan.settings))
    transcript = plan.state.transcript
    images = partial(_watched_images, transcript, plan.settings)
    effects = Effects(ledger, capture, safeguard, log, partial(_last_number, transcript), images)
    return ChangeParts(workspace, ledger, capture, safeguard, effects)


def _last_number(transcript: Transcript, turn: int) -> int:
    return transcript.changed.last_number(turn)


def _watched_images(transcript: Transcript, settings: WorkspaceSettings) -> dict[str, FileImage | None]:
    """How the records left the files that the capture watches; a safety copy may have recorded others."""
    ignored = frozenset(settings.current.capture.ignored_folders)
    images = transcript.changed.last_images().items()
    return {path: image for path, image in images if ignored.isdisjoint(PurePosixPath(path).parts[:-1])}
