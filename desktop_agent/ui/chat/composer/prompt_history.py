"""Going back to what was asked before, without losing what is being written."""

from collections.abc import Sequence

_LIMIT = 200


class PromptHistory:
    """Earlier prompts, newest last, and where one is in them. The place behind the newest is the draft."""

    def __init__(self, prompts: Sequence[str] = ()) -> None:
        self._prompts = list(prompts)[-_LIMIT:]
        self._at = len(self._prompts)
        self._draft = ""
        self._added: list[str] = []
        """Those that were sent since the others were given."""

    def exchanged(self, prompts: Sequence[str]) -> "PromptHistory":
        """Return that of the same conversation, read anew: with what was sent here and is not recorded yet."""
        history = PromptHistory(prompts)
        for prompt in self._added:
            if prompt not in prompts:
                history.add(prompt)
        return history

    def add(self, prompt: str) -> None:
        """Remember a prompt that was sent, and be at the draft again."""
        self._added = [*self._added, prompt][-_LIMIT:]
        if not self._prompts or self._prompts[-1] != prompt:
            self._prompts = [*self._prompts, prompt][-_LIMIT:]
        self._at = len(self._prompts)
        self._draft = ""

    def is_showing(self, text: str) -> bool:
        """Whether `text` is an earlier prompt, as it was brought back."""
        return self._at < len(self._prompts) and self._prompts[self._at] == text

    def older(self, current: str) -> str | None:
        """Return the prompt before the one shown, or `None` at the oldest. `current` is what is shown."""
        if self._at == 0:
            return None
        if self._at == len(self._prompts):
            self._draft = current
        self._at -= 1
        return self._prompts[self._at]

    def newer(self) -> str | None:
        """Return the prompt after the one shown, at last the draft; `None` at the draft."""
        if self._at == len(self._prompts):
            return None
        self._at += 1
        return self._draft if self._at == len(self._prompts) else self._prompts[self._at]
