"""OpenRouter, or any other address: which of the two."""

from PySide6.QtWidgets import QPushButton

from desktop_agent.ui.onboarding.cards import Cards
from desktop_agent.ui.onboarding.state import WelcomeActions
from desktop_agent.ui.onboarding.step import Step, primary_button
from desktop_agent.ui.theme import Theme


class OtherStep(Step):
    """Offers to sign in with OpenRouter, and to enter an address."""

    def __init__(self, theme: Theme, actions: WelcomeActions) -> None:
        super().__init__(
            self.tr("OpenRouter or another address"), self.tr("One account for the models of many vendors.")
        )
        self._actions = actions
        self._cards = Cards(theme)
        self._cards.show_choices(
            [
                (
                    self.tr("Sign in with OpenRouter"),
                    self.tr("Your browser opens OpenRouter's page. It makes a key, which is kept in your keyring."),
                    "openrouter",
                ),
                (
                    self.tr("Enter an address"),
                    self.tr("Of a gateway, a router or a server that speaks a format of OpenAI's or Anthropic's."),
                    "address",
                ),
            ]
        )
        self._sign_in = primary_button(self.tr("Sign in…"), "routerSignInButton")
        self._enter = primary_button(self.tr("Enter an address…"), "enterAddressButton")
        self._sign_in.clicked.connect(self._on_sign_in)
        self._enter.clicked.connect(self._on_enter)
        self._cards.chosen.connect(self.changed)
        self._cards.confirmed.connect(self._on_confirmed)
        self.column.addWidget(self._cards)
        self.column.addStretch()

    @property
    def primary(self) -> QPushButton:
        return self._sign_in if self._cards.value == "openrouter" else self._enter

    @property
    def buttons(self) -> tuple[QPushButton, ...]:
        return (self._sign_in, self._enter)

    def take_focus(self) -> None:
        self._cards.take_focus()

    def _on_sign_in(self) -> None:
        self._actions.sign_in("openrouter", "")

    def _on_enter(self) -> None:
        self.leads_on.emit("address")

    def _on_confirmed(self) -> None:
        self.primary.click()
