"""Several agents in one program, each with its own session, model and answers."""

import asyncio
from pathlib import Path

import pytest

from desktop_agent import Agent, ApprovalRequest, Call, Say, ScriptedProvider, in_order
from tests.api.conftest import read


def agent_in(folder: Path, home: Path, name: str, met: asyncio.Barrier) -> Agent:
    async def approve(_: ApprovalRequest) -> bool:
        await met.wait()  # so they do run at once
        return True

    write = Call("create_file", {"path": f"{name}.txt", "content": f"I am {name}.\n"})
    provider = ScriptedProvider(in_order([[write], [Say(f"{name} is done.")]]))
    return Agent(folder, provider=provider, approve=approve, approval="always", home=home)


@pytest.mark.parametrize("is_shared", [True, False], ids=["one folder", "a folder each"])
async def test_agents_work_at_once_and_do_not_meet(tmp_path: Path, is_shared: bool) -> None:
    names = ["one", "two", "three"]
    folders = {name: tmp_path / ("shared" if is_shared else name) for name in names}
    for folder in folders.values():
        folder.mkdir(exist_ok=True)
    met = asyncio.Barrier(len(names))

    async def work(name: str) -> str:
        async with agent_in(folders[name], tmp_path / "home", name, met) as agent:
            result = await agent.run(f"Write {name}.")
            assert (result.text, result.edited_files) == (f"{name} is done.", (f"{name}.txt",))
            if name == "two":
                await agent.changes.undo()
            return agent.id

    ids = await asyncio.gather(*map(work, names))
    assert len(set(ids)) == len(names)
    assert read(folders["one"] / "one.txt") == "I am one.\n"
    assert not (folders["two"] / "two.txt").exists()
    listed = await Agent.list_sessions(tmp_path / "home")
    assert {summary.id for summary in listed} == set(ids)


async def test_one_agent_that_is_stopped_leaves_the_other_at_work(tmp_path: Path) -> None:
    folder, home = tmp_path / "app", tmp_path / "home"
    folder.mkdir()
    asked, freed = [asyncio.Event(), asyncio.Event()], asyncio.Event()

    def agent(number: int) -> Agent:
        async def wait(_: ApprovalRequest) -> bool:
            asked[number].set()
            await freed.wait()
            return True

        write = Call("create_file", {"path": f"{number}.txt", "content": "Here.\n"})
        return Agent(folder, provider=ScriptedProvider(in_order([[write], [Say("Done.")]])), approve=wait, home=home)

    async with agent(0) as one:
        running = asyncio.create_task(one.run("Write."))
        async with agent(1) as two:
            stopped = asyncio.create_task(two.run("Write."))
            await asyncio.gather(*(each.wait() for each in asked))
            two.interrupt()
            assert (await stopped).reason == "interrupted"
        freed.set()
        assert (await running).edited_files == ("0.txt",)
    assert not (folder / "1.txt").exists()
