"""What a user sees first."""

from desktop_agent.ui.onboarding.dialog import OnboardingDialog

__all__ = ["OnboardingDialog"]
