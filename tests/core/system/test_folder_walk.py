"""Going through everything in folders."""

from pathlib import Path

from desktop_agent.core.system.folder_walk import entries_below


def paths(root: Path, **options: object) -> list[str]:
    return [path for _, path, _ in entries_below((root,), **options)]  # pyright: ignore[reportArgumentType]


def test_the_upper_levels_come_first_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a" / "deep").mkdir(parents=True)
    (tmp_path / "a" / "deep" / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    found = paths(tmp_path)
    assert sorted(found[:2]) == ["a", "loop"]
    assert found[2:] == ["a/deep", "a/deep/file"]
    assert paths(tmp_path, skipped={"deep"}) == [*found[:2], "a/deep"]


def test_a_folder_that_was_begun_is_gone_through_to_its_end_and_no_other_begun(tmp_path: Path) -> None:
    """What is looked for in folders with very many files, secrets for one, must not depend on their order."""
    for number in range(20):
        (tmp_path / f"file-{number}").touch()
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "file").touch()
    assert len(paths(tmp_path, most=5)) == 21
    assert "below/file" not in paths(tmp_path, most=21)
    assert "below/file" in paths(tmp_path, most=22)
