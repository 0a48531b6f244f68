import logging
from collections.abc import Mapping

from desktop_agent.core.base.secrets import mask, secrets_in


class MaskingFormatter(logging.Formatter):
    def __init__(self, pattern: str, environ: Mapping[str, str]) -> None:
        super().__init__(pattern)
        self._secrets = secrets_in(environ)

    def format(self, record: logging.LogRecord) -> str:
        return mask(super().format(record), self._secrets)


def mask_warnings(environ: Mapping[str, str]) -> None:
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(MaskingFormatter("%(message)s", environ))
