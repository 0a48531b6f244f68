"""What is picked from several worktrees becomes one offer; what clashes is named."""

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.errors import AgentError, UsageError
from desktop_agent.core.diff.hunks import MODE, all_keys
from desktop_agent.core.worktrees.bring_back import WorktreeOffer, find_offer
from desktop_agent.core.worktrees.variants import (
    Pick,
    VariantCheck,
    VariantRecords,
    VariantsClashError,
    difference,
    in_one_folder,
    merged,
    require_room,
)
from desktop_agent.core.worktrees.worktrees import NewWorktree
from tests.core.worktrees.scene import Repo

TEXT = "".join(f"line {number}\n" for number in range(60))


def edited(lines: dict[int, str]) -> str:
    return "".join(f"{lines.get(number, f'line {number}')}\n" for number in range(60))


class Scene:
    def __init__(self, top: Path) -> None:
        self.repo = Repo(top)
        self.repo.prepare({"a.txt": TEXT, "gone.txt": "gone\n", "run.sh": "#!/bin/sh\n", "sub/b.txt": "b\n"})
        self.bench = Workbench.from_environment({"DESKTOP_AGENT_HOME": str(top / "home")})

    async def offers(
        self, *variants: Mapping[str, str | None], folder: str = "", runs: Sequence[str] = ()
    ) -> list[WorktreeOffer]:
        """Make a worktree for each of the variants, write its files there, and look at what that makes."""
        found: list[WorktreeOffer] = []
        for number, files in enumerate(variants):
            wanted = NewWorktree(name=f"v{number}")
            tree, _ = await self.bench.worktrees.make(self.repo.folder / folder, wanted)
            for path, text in files.items():
                place = Path(tree.path) / path
                if text is None:
                    place.unlink()
                else:
                    place.write_text(text, encoding="utf-8")
            for path in runs:
                (Path(tree.path) / path).chmod(0o755)
            found.append(await find_offer(self.bench.worktrees, self.bench.catalog, tree.name))
        return in_one_folder(found)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def everything(offers: Sequence[WorktreeOffer]) -> list[Pick]:
    return [Pick(offer.worktree.name, one.path) for offer in offers for one in offer.transitions]


def hunk(offers: Sequence[WorktreeOffer], number: int, path: str, *at: int) -> Pick:
    one = next(one for one in offers[number].transitions if one.path == path)
    keys = all_keys(difference(one))
    return Pick(f"v{number}", path, tuple(keys[index] for index in at))


async def test_hunks_of_several_are_one_change_of_each_file_in_whatever_order(scene: Scene) -> None:
    offers = await scene.offers(
        {"a.txt": edited({3: "three", 30: "thirty"}), "gone.txt": None},
        {"a.txt": edited({50: "fifty", 30: "dreißig"}), "new.txt": "new\n"},
        {"a.txt": edited({3: "three"}), "new.txt": "new\n"},
    )
    picks = [
        hunk(offers, 0, "a.txt", 0), hunk(offers, 1, "a.txt", 1), hunk(offers, 2, "a.txt", 0),
        Pick("v0", "gone.txt"), Pick("v1", "new.txt"), Pick("v2", "new.txt"),
    ]  # fmt: skip
    found = merged(offers, picks)
    states = {one.path: one.after.content.decode() if one.after else None for one in found.transitions}
    assert states == {"a.txt": edited({3: "three", 50: "fifty"}), "gone.txt": None, "new.txt": "new\n"}
    assert all(set(merged(offers, each).transitions) == set(found.transitions) for each in permutations(picks))
    require_room(found, scene.bench.blobs)


async def test_clashes_name_files_lines_and_worktrees(scene: Scene) -> None:
    offers = await scene.offers(
        {"a.txt": edited({3: "drei", 40: "forty"}), "new.txt": "one\n", "gone.txt": None},
        {"a.txt": edited({3: "trois", 40: "quarante"}), "new.txt": "two\n", "gone.txt": "there\n"},
        {"a.txt": edited({20: "twenty"})},
    )
    with pytest.raises(VariantsClashError) as raised:
        merged(offers, everything(offers))
    assert [(one.path, one.line, one.worktrees) for one in raised.value.clashes] == [
        ("a.txt", 4, ("v0", "v1")),
        ("a.txt", 41, ("v0", "v1")),
        ("gone.txt", None, ("v0", "v1")),
        ("new.txt", None, ("v0", "v1")),
    ]
    with pytest.raises(VariantsClashError) as raised:
        merged(offers, [hunk(offers, 0, "a.txt", 1), hunk(offers, 1, "a.txt", 0, 1), Pick("v2", "a.txt")])
    assert [(one.line, one.worktrees) for one in raised.value.clashes] == [(41, ("v0", "v1"))]


async def test_permissions_and_lines_are_picked_apart(scene: Scene) -> None:
    offers = await scene.offers({"run.sh": "#!/bin/sh\nexit\n"}, runs=["run.sh"])
    (one,) = offers[0].transitions
    lines, mode = all_keys(difference(one))
    assert mode == MODE
    (only_lines,) = merged(offers, [Pick("v0", "run.sh", (lines,))]).transitions
    (only_mode,) = merged(offers, [Pick("v0", "run.sh", (mode,))]).transitions
    assert one.before is not None
    assert one.after is not None
    assert only_lines.after == replace(one.after, mode=one.before.mode)
    assert only_mode.after == replace(one.before, mode=one.after.mode)


async def test_a_variant_that_went_on_meanwhile_is_looked_at_again(scene: Scene) -> None:
    offers = await scene.offers({"a.txt": edited({3: "three"})}, {"a.txt": edited({50: "fifty"})})
    for pick in (Pick("v0", "a.txt", ("gone",)), Pick("v1", "other.txt"), Pick("v9", "a.txt")):
        with pytest.raises(AgentError, match="has changed since"):
            merged(offers, [pick])


async def test_what_the_user_edited_is_not_written_over(scene: Scene) -> None:
    offers = await scene.offers({"a.txt": edited({3: "three"})}, {"a.txt": edited({50: "fifty"})})
    (scene.repo.folder / "a.txt").write_text(edited({3: "mine"}), encoding="utf-8")
    require_room(merged(offers, [Pick("v1", "a.txt")]), scene.bench.blobs)
    with pytest.raises(AgentError, match="clash with what is in the folder") as raised:
        require_room(merged(offers, everything(offers)), scene.bench.blobs)
    assert raised.value.detail.startswith("a.txt: ")


async def test_paths_are_those_of_one_folder_also_if_only_one_variant_left_the_users_folder(scene: Scene) -> None:
    offers = await scene.offers({"sub/b.txt": "one\n"}, {"sub/b.txt": "b\ntwo\n", "a.txt": "a\n"}, folder="sub")
    assert {offer.folder for offer in offers} == {scene.repo.folder}
    assert [[one.path for one in offer.transitions] for offer in offers] == [["sub/b.txt"], ["a.txt", "sub/b.txt"]]


async def test_random_picks_merge_to_the_picked_lines_or_clash_where_two_differ(scene: Scene) -> None:
    chance = random.Random(5)
    texts = [{at: f"{at} of {number}" for at in chance.sample(range(0, 60, 12), 3)} for number in range(3)]
    offers = await scene.offers(*({"a.txt": edited(lines)} for lines in texts))
    for _ in range(60):
        chosen = [sorted(chance.sample(range(3), chance.randint(1, 3))) for _ in offers]
        wanted = [{at: lines[at] for at in (sorted(lines)[index] for index in indexes)}
                  for lines, indexes in zip(texts, chosen, strict=True)]  # fmt: skip
        picks = [hunk(offers, number, "a.txt", *indexes) for number, indexes in enumerate(chosen)]
        twice = {at for lines in wanted for at in lines if sum(at in other for other in wanted) > 1}
        if twice:
            with pytest.raises(VariantsClashError) as raised:
                merged(offers, picks)
            assert {one.line for one in raised.value.clashes} == {at + 1 for at in twice}
        else:
            (one,) = merged(offers, picks).transitions
            assert one.after is not None
            lines = {at: text for each in wanted for at, text in each.items()}
            assert one.after.content.decode() == edited(lines)


def test_a_record_ties_variants_together_and_holds_how_their_tests_ended(tmp_path: Path) -> None:
    bench = Workbench.from_environment({"DESKTOP_AGENT_HOME": str(tmp_path)})
    records = VariantRecords(bench.paths.variants)
    assert records.all() == []
    now = datetime.now(UTC)
    made = records.add(tmp_path, "Fix it.", ["demo", "demo"], check="make test", at=now)
    first, second = (one.worktree for one in made.variants)
    records.note(second, VariantCheck(command="make test", exit_code=2, output="no"))
    records.note("calm-otter-1", VariantCheck(command="make test", exit_code=0))  # somebody else's
    assert VariantRecords(bench.paths.variants).all() == [made]
    assert [*records.checks(made)] == [second]
    assert not records.checks(made)[second].is_passed
    (bench.paths.variants / made.id / f"{first}.json").write_text("torn", encoding="utf-8")
    assert [*records.checks(made)] == [second]
    records.forget(made)
    assert [path.name for path in bench.paths.variants.iterdir()] == []
    for count in (1, 7):
        with pytest.raises(UsageError):
            records.add(tmp_path, "Fix it.", ["demo"] * count, check="", at=now)
