"""The first step: which way to a model."""

from PySide6.QtWidgets import QPushButton

from desktop_agent.ui.onboarding.cards import Cards
from desktop_agent.ui.onboarding.step import Step, primary_button
from desktop_agent.ui.theme import Theme

DEMO_WAY = "demo"
"""The one way that leads to no further step."""


class ChooseStep(Step):
    """Offers every way to a model, the demo first."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(self.tr("Welcome. Choose a model"), self.tr("You can change this at any time in Settings."))
        self._cards = Cards(theme)
        self._cards.show_choices(
            [
                (
                    self.tr("Try the demo"),
                    self.tr("No key, no network. A scripted model works on a small project with real tools."),
                    DEMO_WAY,
                ),
                (
                    self.tr("Enter an API key"),
                    self.tr("For Anthropic, OpenAI, OpenRouter or xAI. Kept in your system keyring, and nowhere else."),
                    "key",
                ),
                (
                    self.tr("Use a model on this machine"),
                    self.tr("With Ollama, LM Studio or llama.cpp. No key, and nothing leaves this machine."),
                    "local",
                ),
                (
                    self.tr("Use a subscription"),
                    self.tr("Sign in with your ChatGPT plan, or use a profile of Anthropic's tools."),
                    "subscription",
                ),
                (
                    self.tr("OpenRouter or another address"),
                    self.tr("Sign in with OpenRouter, or enter the address of any compatible server."),
                    "other",
                ),
            ]
        )
        self._buttons: dict[object, QPushButton] = {
            DEMO_WAY: primary_button(self.tr("Start the demo"), "demoButton"),
            "key": primary_button(self.tr("Enter a key…"), "enterKeyButton"),
            "local": primary_button(self.tr("Look for models…"), "localModelsButton"),
            "subscription": primary_button(self.tr("Continue"), "subscriptionButton"),
            "other": primary_button(self.tr("Continue"), "otherAddressButton"),
        }
        self.column.addWidget(self._cards)
        self.column.addStretch()
        self._cards.chosen.connect(self.changed)
        self._cards.confirmed.connect(self._on_confirmed)
        for button in self.buttons:
            button.clicked.connect(self._on_clicked)

    @property
    def primary(self) -> QPushButton:
        return self._buttons[self._cards.value]

    @property
    def buttons(self) -> tuple[QPushButton, ...]:
        return tuple(self._buttons.values())

    def take_focus(self) -> None:
        self._cards.take_focus()

    def _on_confirmed(self) -> None:
        self.primary.click()

    def _on_clicked(self) -> None:
        self.leads_on.emit(self._cards.value)
