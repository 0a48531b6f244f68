"""Log lines without keys, wherever they are written."""

import logging
from collections.abc import Mapping

from desktop_agent.core.base.secrets import mask, secrets_in


class MaskingFormatter(logging.Formatter):
    """Masks all output, including tracebacks: an error message may quote anything."""

    def __init__(self, pattern: str, environ: Mapping[str, str]) -> None:
        """Mask what looks like a key, and the values of variables in `environ` whose names say that they are secret."""
        super().__init__(pattern)
        self._secrets = secrets_in(environ)

    def format(self, record: logging.LogRecord) -> str:
        return mask(super().format(record), self._secrets)


def mask_warnings(environ: Mapping[str, str]) -> None:
    """Mask the warnings and errors that go to standard error because no log handles them."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(MaskingFormatter("%(message)s", environ))
