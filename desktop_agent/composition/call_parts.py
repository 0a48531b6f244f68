"""What the calls of a session go through: judged, asked about, run, and answered."""

from desktop_agent.composition.change_parts import ChangeParts
from desktop_agent.composition.shared_parts import SharedParts
from desktop_agent.composition.tool_parts import ToolParts
from desktop_agent.core.approvals import Approvals
from desktop_agent.core.session.recorder import Recorder
from desktop_agent.core.session.session_parts import SessionTools
from desktop_agent.core.tools.execution.executor import ToolExecutor
from desktop_agent.core.tools.execution.runtime import ToolRuntime
from desktop_agent.core.tools.gate import ApprovalGate, LiveJudging
from desktop_agent.core.tools.judging import Judge
from desktop_agent.core.tools.servers.asking_back import AsideModel, ServerQuestions, ServerSampling


def build_session_tools(
    shared: SharedParts,
    changes: ChangeParts,
    parts: ToolParts,
    recorder: Recorder,
    approvals: Approvals,
    model: AsideModel,
) -> SessionTools:
    """Return them for one session. `model` answers what servers ask of one."""
    judge = Judge(parts.policies, changes.safeguard)
    gate = ApprovalGate(approvals, recorder, parts.policies, judge)
    questions = ServerQuestions(approvals, recorder, parts.policies)
    sampling = ServerSampling(model, recorder, parts.policies)
    executor = ToolExecutor(parts.toolbox, gate, questions, sampling, changes.effects, recorder, shared.clock)
    return SessionTools(
        approvals=approvals,
        judging=LiveJudging(gate, approvals, judge, recorder),
        rulebook=parts.rulebook,
        runtime=ToolRuntime(
            registry=parts.registry,
            access=parts.access,
            executor=executor,
            servers=parts.servers,
            log=recorder,
            clock=shared.clock,
        ),
        jobs=parts.jobs,
        ledger=changes.ledger,
        effects=changes.effects,
    )
