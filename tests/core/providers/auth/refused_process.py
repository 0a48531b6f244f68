"""A process with a refused access token: it reports its renewal."""

import asyncio
import json
import sys
from pathlib import Path
from typing import cast

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.auth.sign_ins import ChatGptRenewal, ChatGptService
from desktop_agent.core.providers.auth.token_renewal import KeptSignIn, RenewingSource
from tests.core.providers.auth.file_keyring import FileKeyring
from tests.servers.authorization_server import ISSUED_CLIENT


async def main() -> None:
    told = cast("dict[str, str]", json.loads(sys.stdin.readline()))
    clock = SystemClock()
    kept = KeptSignIn(SystemKeyStore(FileKeyring(Path(told["keyring"]))), "openai", Path(told["data"]), clock)
    renewal = ChatGptRenewal(ISSUED_CLIENT, clock=clock, service=ChatGptService(token_url=told["url"]))
    source = RenewingSource(kept, renewal, clock=clock)
    await source.access_token()
    print("asking", flush=True)
    print(await source.refused(told["token"]), flush=True)


if __name__ == "__main__":
    with asyncio.Runner() as runner:
        runner.run(main())
