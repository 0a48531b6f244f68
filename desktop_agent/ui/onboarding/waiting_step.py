"""While the user signs in in the browser."""

from desktop_agent.ui.connecting.browser_wait import BrowserWait
from desktop_agent.ui.onboarding.step import Step


class WaitingStep(Step):
    """Waits, with the way back as the only one."""

    def __init__(self) -> None:
        super().__init__(self.tr("Sign in"), self.tr("The sign-in goes on in your browser, at the service's own page."))
        self._wait = BrowserWait()
        self.column.addWidget(self._wait)
        self.column.addStretch()

    def show_address(self, address: str, *, is_open: bool) -> None:
        """Show where the sign-in goes on."""
        self._wait.show_address(address, is_open=is_open)
