"""Which model a session asks, how hard it thinks, and whether its account is there."""

import asyncio

from msgspec.structs import replace

from desktop_agent.composition.session_plan import SessionOptions
from desktop_agent.composition.shared_parts import SharedParts
from desktop_agent.composition.user_settings import UserSettings
from desktop_agent.core.base.errors import AccountGoneError, AgentError, UsageError
from desktop_agent.core.models.known_model import effort_meant
from desktop_agent.core.models.vendors import known_vendor
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.session.failure_notices import NO_ACCOUNT, notice_of
from desktop_agent.core.transcript import NoticeEntry, Transcript


class SessionModels:
    """Finds out what the options of a session mean. Asks no network."""

    def __init__(self, shared: SharedParts, settings: UserSettings) -> None:
        self._shared = shared
        self._settings = settings

    def model_of(self, options: SessionOptions, before: ModelRef | None = None) -> ModelRef:
        """Return the model that the options ask for; what they leave open is as `before`, or as the settings say."""
        return options.model or self._settings.model_meant(options.named, before)

    async def with_known_effort(self, model: ModelRef, effort: str | None) -> ModelRef:
        """Return the model with the effort that was named, if any. Raises `UsageError` for a level it does not know."""
        if effort is None:
            return model
        known = await self._shared.known_models.of(model)
        if known is None:
            raise UsageError(f"No effort can be asked of {model.provider}/{model.model}.")
        return replace(model, effort=effort_meant(effort, known))

    async def require_account(self, model: ModelRef) -> None:
        """Raise `UsageError` when the account of a model is not there."""
        try:
            await self._look_for_account(model)
        except AccountGoneError as error:
            raise UsageError(error.title, hint=error.hint) from error

    async def notices_of(self, options: SessionOptions, transcript: Transcript) -> tuple[ev.Notice, ...]:
        """Say that the account of a session is not there any more, if that is not the last thing that was said.

        Of one that the options name it is an error.
        """
        model = self.model_of(options, transcript.session.model)
        if options.named.account is not None:
            await self.require_account(model)
        await self.with_known_effort(model, options.named.effort)
        last = transcript.entries[-1] if transcript.entries else None
        try:
            await self._look_for_account(model)
        except AgentError as error:
            is_said = isinstance(last, NoticeEntry) and last.notice.code == NO_ACCOUNT
            return () if is_said else (replace(notice_of(error, None), level="warning"),)  # nothing has failed yet
        return ()

    async def _look_for_account(self, model: ModelRef) -> None:
        if model.account and known_vendor(model.provider) is not None:
            (await asyncio.to_thread(self._shared.accounts.load)).of_model(model)
