"""Signs an account in, in the ways that there are."""

import asyncio

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import SignInWay
from desktop_agent.core.providers.auth.anthropic_profiles import active_name, profiles
from desktop_agent.core.providers.auth.browser_sign_in import Browser
from desktop_agent.core.providers.auth.sign_ins import CHATGPT_NAME, other_sign_ins


async def signed_in(bench: Workbench, way: SignInWay, name: str, browser: Browser) -> Account:
    """Have the user sign in, and return the account, which is kept; without a `name` it gets its usual one.

    Raises `AgentError`. Being cancelled leaves everything as it was.
    """
    match way:
        case "chatgpt":
            return await bench.sign_ins.sign_in_with_chatgpt(browser, name or CHATGPT_NAME)
        case "openrouter":
            return await bench.sign_ins.sign_in_with_openrouter(browser, name)
        case "profile":
            return await bench.sign_ins.use_profile(name or await asyncio.to_thread(_active_profile, bench))


def _active_profile(bench: Workbench) -> str:
    found = [profile.name for profile in profiles(bench.environ)]
    active = active_name(bench.environ)
    if active in found or found:
        return active if active in found else found[0]
    others = (each for each in other_sign_ins(bench.environ) if each.program == "Claude Code")
    raise CredentialsError(
        "Anthropic's tools have no profile with a sign-in.",
        hint=" ".join(["Make one with `ant auth login`, or use a key.", *(each.why_not for each in others)]),
    )
