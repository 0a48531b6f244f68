"""Completes a model that the user names only in part, from the settings and the environment."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.models.account import Account, named
from desktop_agent.core.models.vendors import DEMO, known_vendor, usual_model, vendor_of
from desktop_agent.core.protocol.model import AGENTS, ModelRef
from desktop_agent.core.settings.loading import LoadedSettings
from desktop_agent.core.settings.sections import DEFAULT_MODEL, ModelSettings
from desktop_agent.core.system.network.connections import proxy_for


class NamedModel(Struct, frozen=True, kw_only=True):
    """The parts of a model that the user names. `None` leaves a part open."""

    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    account: str | None = None
    effort: str | None = None

    @classmethod
    def of_agent(cls, reference: str) -> "NamedModel":
        """Name an agent of another program instead, by its name or command line."""
        return cls(provider=AGENTS, model=reference)

    @property
    def is_nothing(self) -> bool:
        return self == NamedModel()


def model_meant(
    meant: NamedModel, loaded: LoadedSettings, environ: Mapping[str, str], now: ModelRef | None = None
) -> ModelRef:
    """Complete `meant`. The name of the result is empty if no model is known.

    Open parts are taken from the model `now` if it has the same provider, and otherwise from the settings. The settings
    apply to their own provider only, so that no other provider's requests go to their address. After an agent of
    another program, the name of a model without a provider is one of the settings' provider.
    """
    if now is not None and now.is_agent and meant.provider is None and meant.model is not None:
        now = None
    if meant.provider == AGENTS and meant.model:
        return ModelRef(provider=AGENTS, model=meant.model)
    if now is not None and meant.provider in (None, now.provider):
        model = meant.model or now.model
        if meant.effort is None and model == now.model:
            meant = replace(meant, effort=now.effort)
        if meant.account is None:
            effort = effort_in(meant, loaded.settings.model, now.provider)
            return replace(now, model=model, base_url=meant.base_url or now.base_url, effort=effort)
        meant = replace(meant, provider=now.provider, model=model)
    chosen = loaded.settings.model
    provider = meant.provider or chosen.provider
    if provider == DEMO:
        return ModelRef(provider=DEMO, model=meant.model or DEMO)
    is_usual_provider = provider == chosen.provider
    account = named(chosen.account if is_usual_provider else "") if meant.account is None else named(meant.account)
    base_url = meant.base_url
    if not base_url and not account:
        base_url = chosen.base_url if is_usual_provider else _variable(provider, "address", environ)
    written = name_in(chosen, is_written="model.name" in loaded.sources)
    name = meant.model or (written if is_usual_provider else _variable(provider, "model", environ))
    vendor = known_vendor(provider)
    if not name and vendor is not None and vendor.models:
        name = usual_model(provider)
    effort = effort_in(meant, chosen, provider)
    return ModelRef(provider=provider, model=name, base_url=base_url or None, account=account, effort=effort)


class Destination(Struct, frozen=True, kw_only=True):
    address: str
    named_by: str = ""
    """The source of the address: an environment variable, `settings` or `account`; empty for the provider's own."""
    proxy: str = ""
    proxy_named_by: str = ""

    @property
    def words(self) -> str:
        said = {"": "", "settings": " (from the settings)", "account": " (the account's own)"}
        source = said.get(self.named_by, f" (from {self.named_by})")
        way = f", through the proxy {self.proxy} (from {self.proxy_named_by})" if self.proxy else ""
        return f"{self.address}{source}{way}"


def destination(account: Account, loaded: LoadedSettings, environ: Mapping[str, str]) -> Destination:
    """Return where an account's requests go now. The usual account follows the settings and the environment."""
    named_by = "account" if account.address else ""
    address = account.where
    if account.is_usual and not account.address:
        meant = NamedModel(provider=account.provider, account=account.label)
        if base_url := model_meant(meant, loaded, environ).base_url:
            address, named_by = base_url, _who_named_address(account.provider, loaded)
    try:
        proxy = proxy_for(address, environ)
    except ProviderError:  # unusable: nothing is sent, and each request says why
        proxy = None
    if proxy is None:
        return Destination(address=address, named_by=named_by)
    return Destination(address=address, named_by=named_by, proxy=proxy.address, proxy_named_by=proxy.named_by)


def _who_named_address(provider: str, loaded: LoadedSettings) -> str:
    if provider != loaded.settings.model.provider:
        return vendor_of(provider).address_variable
    source = loaded.sources.get("model.base_url")
    return source.place if source is not None and source.kind == "environment" else "settings"


def effort_in(meant: NamedModel, settings: ModelSettings, provider: str) -> str:
    """Return the requested level of effort, or else that of the settings, if they are for this provider."""
    if meant.effort is not None:
        return meant.effort
    return settings.effort.lower() if provider == settings.provider else ""


def name_in(settings: ModelSettings, *, is_written: bool) -> str:
    return settings.name if is_written or settings.name != DEFAULT_MODEL else ""


def left_behind(loaded: LoadedSettings, provider: str) -> tuple[str, ...]:
    """Return settings for another provider that would send this provider's key elsewhere."""
    written = (key for key in ("model.account", "model.base_url", "model.name") if key in loaded.sources)
    is_other = provider not in (DEMO, loaded.settings.model.provider)
    return tuple(key for key in written if loaded.sources[key].kind == "file") if is_other else ()


def _variable(provider: str, what: str, environ: Mapping[str, str]) -> str:
    vendor = known_vendor(provider)
    if vendor is None:
        return ""
    return environ.get(vendor.address_variable if what == "address" else vendor.model_variable, "")
