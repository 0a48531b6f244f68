"""Every answer of the corpus ends within memory limits, and the key goes nowhere else."""

import zlib
from dataclasses import replace

import pytest

from tests.attacks.corpus import cases
from tests.attacks.providers.cases import CORPUS, Case
from tests.attacks.providers.conftest import Victim
from tests.attacks.providers.victim import KEY
from tests.attacks.providers.wire import BATCH, bomb, start
from tests.servers.rude_server import RudeServer

MOST_MIB = 120
"""The most memory that an answer may take. Without limits it was 1,600 MiB in 25 s."""
LONGEST_WAIT_S = 60.0


def test_there_are_at_least_sixty_of_them() -> None:
    assert len(CORPUS) >= 60
    assert len({case.name for case in CORPUS}) == len(CORPUS)


@pytest.mark.parametrize("case", cases(CORPUS, lambda case: case.name))
async def test_an_answer_that_means_ill_comes_to_words(case: Case, victim: Victim) -> None:
    async with RudeServer() as elsewhere, RudeServer(is_reading=case.is_reading) as server:
        case = placed(case, here=server.url, elsewhere=elsewhere.url, port=str(elsewhere.port))
        server.answer_with(*case.parts)
        outcome = await victim.ask(server.url, lists_models="list of models" in case.name)
        assert outcome.get("fault", "answer") == case.comes_to, outcome
        assert outcome["growth_mib"] < MOST_MIB
        assert elsewhere.connections == 0, "the key or the conversation went to another address"
    if case.comes_to == "answer":
        assert all(
            is_rejected for name, is_rejected in outcome["calls"] if name != "read_file" or "levels" in case.name
        )
        assert all(0 <= count < 10**10 for count in outcome["tokens"])
        return
    assert case.says in outcome["words"]
    assert KEY not in outcome["words"]
    assert "hunter2" not in outcome["words"]
    assert len(outcome["words"]) < 4_000
    assert (outcome["delay_s"] or 0) <= LONGEST_WAIT_S


def placed(case: Case, **places: str) -> Case:
    parts = list(case.parts)
    if parts and isinstance(parts[0], bytes) and b"location" in parts[0]:
        for name, place in places.items():
            parts[0] = parts[0].replace(b"{%s}" % name.encode(), place.encode())
    return replace(case, parts=parts, says=case.says.format(**places) if "{" in case.says else case.says)


@pytest.mark.parametrize(("coding", "wbits"), [("gzip", zlib.MAX_WBITS + 16), ("deflate", zlib.MAX_WBITS)])
def test_a_bomb_is_a_valid_answer_once_it_is_unpacked(coding: str, wbits: int) -> None:
    unpacker, packed = zlib.decompressobj(wbits), bomb(2_000_000, coding)
    plain = unpacker.decompress(packed)
    assert unpacker.eof, "the checksum of the whole was reached, and is right"
    assert len(packed) < len(plain) / 500
    assert plain.startswith(start())
    assert plain.count(b"data: 000") == 2_000_000 // BATCH
