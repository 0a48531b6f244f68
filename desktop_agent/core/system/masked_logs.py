"""Log lines without keys, wherever they go."""

import logging
from collections.abc import Mapping

from desktop_agent.core.base.secrets import mask, secrets_in


class MaskingFormatter(logging.Formatter):
    """Masks the whole of what is written, tracebacks too: the message of an error may quote anything."""

    def __init__(self, pattern: str, environ: Mapping[str, str]) -> None:
        """What looks like a key is masked, and what `environ` calls a secret, whatever it looks like."""
        super().__init__(pattern)
        self._secrets = secrets_in(environ)

    def format(self, record: logging.LogRecord) -> str:
        return mask(super().format(record), self._secrets)


def mask_warnings(environ: Mapping[str, str]) -> None:
    """Mask the warnings and errors that go to standard error because no log takes them."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(MaskingFormatter("%(message)s", environ))
