"""What an editor can set of a session: approvals, model, effort and sandbox, as modes and as options."""

import asyncio
from collections.abc import Sequence
from typing import Final, cast, get_args

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.agents.peer import INVALID_PARAMS, RpcError
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.models.known_model import KnownModel, effort_meant, levels_of
from desktop_agent.core.models.vendors import DEMO
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ApprovalPolicy, JsonObject, ModelRef, SandboxMode
from desktop_agent.core.session.session import Session
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.transcript import SessionInfo

PLAN: Final = "plan"
OWN_EFFORT: Final = "default"

_MODES: Final[dict[str, tuple[str, str]]] = {
    PLAN: ("Plans first", "Reads, asks and writes a plan. Changes nothing before the plan is accepted."),
    "always": ("Asks before every call", "Reads also ask."),
    "on_write": ("Asks before writing", "Reads run freely; edits, commands and network access ask first."),
    "on_request": ("Asks to leave the sandbox", "Edits in this folder and sandboxed commands run freely."),
    "never": ("Never asks", "Nothing is asked: anything that needs approval is refused."),
}
_SANDBOXES: Final[dict[SandboxMode, tuple[str, str]]] = {
    "restricted": ("This folder", "Commands can write only this folder and a temporary one. No network."),
    "strict": ("Read-only", "Commands cannot write anything. No network."),
    "none": ("No sandbox", "Commands can do anything your account can."),
}


class SessionModes:
    def __init__(self, bench: Workbench, session: Session) -> None:
        self._bench = bench
        self._session = session

    @property
    def _info(self) -> SessionInfo:
        return self._session.transcript.session

    @property
    def mode(self) -> str:
        return PLAN if self._info.is_planning else self._info.approval

    async def document(self) -> JsonObject:
        modes = [{"id": mode, "name": name, "description": words} for mode, (name, words) in _MODES.items()]
        return {"modes": {"currentModeId": self.mode, "availableModes": modes}, "configOptions": await self.options()}

    async def updates(self) -> Sequence[JsonObject]:
        return (
            {"sessionUpdate": "current_mode_update", "currentModeId": self.mode},
            {"sessionUpdate": "config_option_update", "configOptions": await self.options()},
        )

    async def options(self) -> list[JsonObject]:
        model = self._info.model
        assert model is not None, "it is in the first record"
        modes = [_choice(mode, *words) for mode, words in _MODES.items()]
        sandboxes = [_choice(mode, *words) for mode, words in _SANDBOXES.items()]
        models = [_choice(_name_of(model), model.model)]
        models += [_choice(f"{one.provider}/{one.name}", one.shown) for one in await self._models(model)]
        options = [
            _select("mode", "Approvals", "mode", self.mode, modes),
            _select("model", "Model", "model", _name_of(model), list({one["value"]: one for one in models}.values())),
            _select("sandbox", "Sandbox", "other", self._info.sandbox, sandboxes),
        ]
        known = await self._known(model)
        if known is not None and (levels := levels_of(known)):
            efforts = [_choice(level, level) for level in (OWN_EFFORT, *levels)]
            options.insert(2, _select("effort", "Effort", "thought_level", model.effort or OWN_EFFORT, efforts))
        return options

    async def set(self, option: str, value: object) -> ops.SetMode:
        """Return the op that sets an option. Raises `RpcError` for an unknown one, and `UsageError`."""
        model = self._info.model
        match option, value:
            case "mode", "plan":
                return ops.SetMode(is_planning=True)
            case "mode", str() if value in get_args(ApprovalPolicy):
                return ops.SetMode(approval=cast("ApprovalPolicy", value), is_planning=False)
            case "sandbox", str() if value in get_args(SandboxMode):
                return ops.SetMode(sandbox=cast("SandboxMode", value))
            case "model", str() if "/" in value:
                provider, _, name = value.partition("/")
                return ops.SetMode(model=self._bench.model_meant(NamedModel(provider=provider, model=name), model))
            case "effort", str() if model is not None and (known := await self._known(model)) is not None:
                return ops.SetMode(model=self._bench.model_meant(NamedModel(effort=effort_meant(value, known)), model))
            case _:
                raise RpcError(INVALID_PARAMS, f"The option {option!r} has no value {value!r}.")

    def is_set(self, op: ops.SetMode) -> bool:
        info = self._info
        now = (info.model, info.approval, info.sandbox, info.is_planning)
        wanted = (op.model, op.approval, op.sandbox, op.is_planning)
        return all(new in (None, old) for new, old in zip(wanted, now, strict=True))

    async def _models(self, model: ModelRef) -> Sequence[KnownModel]:
        if model.provider == DEMO:
            return ()
        try:
            account = await asyncio.to_thread(lambda: self._bench.accounts.load().of_model(model))
        except AgentError:
            return ()
        return await self._bench.models.read(account)

    async def _known(self, model: ModelRef) -> KnownModel | None:
        return next((one for one in await self._models(model) if one.name == model.model), None)


def _name_of(model: ModelRef) -> str:
    return f"{model.provider}/{model.model}"


def _choice(value: str, name: str, description: str = "") -> JsonObject:
    choice: JsonObject = {"value": value, "name": name}
    return choice | ({"description": description} if description else {})


def _select(option: str, name: str, category: str, value: str, choices: list[JsonObject]) -> JsonObject:
    kind: JsonObject = {"category": category} if category != "other" else {}
    return {"id": option, "name": name, "type": "select", "currentValue": value, "options": choices, **kind}
