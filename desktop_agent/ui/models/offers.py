"""What there is to choose from: models by account, as plain data that the application provides."""

from datetime import datetime

from msgspec import Struct

from desktop_agent.core.models.known_model import KnownModel


class ModelKey(Struct, frozen=True):
    """What tells one choice from all others. The account's name is empty for the provider's usual one."""

    provider: str
    account: str
    model: str


class ModelOffer(Struct, frozen=True):
    """One model of one account."""

    key: ModelKey
    known: KnownModel
    """What is known of it."""

    @property
    def label(self) -> str:
        """What people call it; the name that requests have is in the key."""
        return self.known.shown


class AccountOffers(Struct, frozen=True, kw_only=True):
    """The models of one account."""

    provider: str
    account: str = ""
    """Its name; empty for the provider's usual one."""
    label: str
    """What people call it, among all."""
    models: tuple[ModelOffer, ...] = ()
    is_connected: bool = True
    """Whether there is a credential for it, or it needs none."""
    is_fixed: bool = False
    """Whether it has these models and no others: the demo."""
    is_plan: bool = False
    """Whether a subscription covers what its models cost."""
    is_listing: bool = False
    """Whether its address can be asked for a list."""
    listed_at: datetime | None = None
    """When its own list was read; None for what is known without it."""
    is_refreshing: bool = False
    problem: str = ""
    """Why its list could not be read, in words."""

    def offer(self, model: str) -> ModelOffer:
        """Return this model, with nothing known of it if it is not in the list."""
        known = next((offer for offer in self.models if offer.key.model == model), None)
        return known or ModelOffer(
            ModelKey(self.provider, self.account, model), KnownModel(provider=self.provider, name=model)
        )
