"""Using a subscription: the ways that its provider allows, and why there are no others."""

from PySide6.QtWidgets import QPushButton

from desktop_agent.ui.onboarding.cards import Cards
from desktop_agent.ui.onboarding.state import Found, WelcomeActions
from desktop_agent.ui.onboarding.step import Step, primary_button
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.note import Note


class SubscriptionStep(Step):
    """Offers to sign in with ChatGPT, and the profiles of Anthropic's tools that there are."""

    def __init__(self, theme: Theme, actions: WelcomeActions) -> None:
        super().__init__(
            self.tr("Use a subscription"), self.tr("In the ways that the providers allow other programs to use one.")
        )
        self._actions = actions
        self._cards = Cards(theme)
        self._others = Note(object_name="otherProgramsNote")
        self._sign_in = primary_button(self.tr("Sign in…"), "signInButton")
        self._use = primary_button(self.tr("Use this profile"), "useProfileButton")
        self._sign_in.clicked.connect(self._on_go)
        self._use.clicked.connect(self._on_go)
        self._cards.chosen.connect(self.changed)
        self._cards.confirmed.connect(self._on_confirmed)
        self.column.addWidget(self._cards)
        self.column.addSpacing(Space.M)
        self.column.addWidget(self._others)
        self.column.addStretch()
        self.show_found(Found())

    @property
    def primary(self) -> QPushButton:
        return self._use if self._cards.value else self._sign_in

    @property
    def buttons(self) -> tuple[QPushButton, ...]:
        return (self._sign_in, self._use)

    def take_focus(self) -> None:
        self._cards.take_focus()

    def show_found(self, found: Found) -> None:
        """Offer the profiles that were found, and say why other sign-ins are not used."""
        chatgpt = self.tr("Your browser opens OpenAI's page, where you allow this application to use your plan.")
        profile = self.tr("API access of your organisation, as Anthropic's own tools signed in for it.")
        self._cards.show_choices(
            [
                (self.tr("Sign in with ChatGPT"), chatgpt, ""),
                *((self.tr("Anthropic profile “{0}”").format(name), profile, name) for name in found.profiles),
            ]
        )
        claude = self.tr(
            "A Claude subscription cannot be used here: Anthropic does not permit other applications to sign in with "
            "one. Use an API key, or a profile of Anthropic's own tools (`ant auth login`)."
        )
        has_claude = any("Claude" in text for text in found.others)
        self._others.setText("\n\n".join(found.others if has_claude else (*found.others, claude)))

    def _on_go(self) -> None:
        name = str(self._cards.value or "")
        self._actions.sign_in("profile" if name else "chatgpt", name)

    def _on_confirmed(self) -> None:
        self.primary.click()
