"""`/model` and `/config`: what the session works with from the next step on."""

import asyncio

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.models.vendors import DEMO
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.slash.parse import Invocation, first_word, plain_text
from desktop_agent.core.slash.parts import CommandParts, Reply, SessionHands, no_more, refusal, reported
from desktop_agent.core.slash.wording import code, fenced


async def model(invocation: Invocation, parts: CommandParts, hands: SessionHands) -> Reply:
    """Show the model or set it. A name without a provider is one of the same provider, by the same account."""
    now = parts.transcript.session.model
    if not invocation.words:
        shown = _shown(now) if now is not None else "none"
        known = ", ".join(code(name) for name in parts.provider_ids)
        return Reply(
            f"The model is {shown}. `/model PROVIDER/NAME` chooses another, `/model PROVIDER/NAME ACCOUNT` another "
            f"account as well; providers: {known}."
        )
    wanted, *more = invocation.words
    account = more.pop(0) if more else None
    no_more(more, "/model PROVIDER/NAME ACCOUNT")
    provider, slash, name = wanted.partition("/")
    if not slash and now is not None:
        provider, name = now.provider, wanted
    if provider not in parts.provider_ids:
        known = ", ".join(code(known) for known in parts.provider_ids)
        raise UsageError(f"There is no provider {code(provider)}.", hint=f"Known are {known}.")
    if not name:
        raise UsageError("The name of the model is missing.", hint=f"Write `/model {provider}/NAME`.")
    chosen = parts.model_meant(NamedModel(provider=provider, model=name, account=account), now)
    if chosen.account and chosen.provider != DEMO:
        (await asyncio.to_thread(parts.accounts.load)).of_model(chosen)  # raises what says which there are
    done = await hands.perform(ops.SetMode(model=chosen))
    if done.notice is not None:
        return refusal(done.notice)
    when = "the next turn" if hands.is_busy() else "now"
    return Reply(f"The model is {_shown(chosen)} from {when} on.")


def _shown(model: ModelRef) -> str:
    name = code(f"{model.provider}/{model.model}")
    return f"{name}, by the account {code(model.account)}," if model.account else name


async def config(invocation: Invocation, parts: CommandParts, hands: SessionHands) -> Reply:
    """Show settings, or set one."""
    settings = parts.services.config
    assert settings is not None, "not offered without settings"
    action, rest = first_word(invocation.rest)
    if action.lower() == "set":
        key, value = _assignment(rest)
        with reported():
            return Reply(await settings.change(key, value, parts.workspace))
    no_more(invocation.words[1:], "/config [KEY | set KEY=VALUE]")
    shown = [(key, value) for key, value in settings.values(parts.workspace) if not action or _is_in(key, action)]
    if not shown:
        raise UsageError(f"There is no setting {code(action)}.", hint="`/config` lists them all.")
    return Reply(fenced("\n".join(f"{key} = {value}" for key, value in shown), "toml"))


def _assignment(text: str) -> tuple[str, str]:
    """Read `key=value` or `key value`."""
    key, equals, value = text.partition("=")
    if not equals:
        key, value = first_word(text)
    key = key.strip()
    if not key or len(key.split()) > 1 or not value.strip():
        raise UsageError("Which setting, and to what?", hint="Write `/config set KEY=VALUE`; `/config` lists them all.")
    return key, plain_text(value)


def _is_in(key: str, wanted: str) -> bool:
    return key == wanted or key.startswith(f"{wanted}.")
