"""What a release ships, the script that makes it, and the samples of CI that call it."""

import plistlib
import shutil
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from PySide6.QtGui import QImageReader

import shipped
from tests.docs.test_dependencies import DOCUMENT, documented

ROOT = Path(__file__).parents[2]


def licences_in_document() -> dict[str, str]:
    rows = [line.strip("| ").split(" | ") for line in DOCUMENT.splitlines() if line.startswith("| `")]
    return {row[0].strip("`").lower(): row[2].partition(";")[0] for row in rows if len(row) == 4}


def test_the_bill_of_materials_has_every_dependency_with_the_licence_of_the_document() -> None:
    listed = {each.name: each.licence for each in shipped.packages()}
    told = licences_in_document()
    direct = {name.lower() for name in documented("To run")}
    assert {name: listed.get(name) for name in direct} == {name: told[name] for name in direct}
    assert [name for name, licence in listed.items() if not licence] == []
    assert not {"pyinstaller", "hatchling", "pytest", "twine"} & listed.keys()


def test_nothing_that_is_shipped_is_under_the_gpl_alone() -> None:
    listed = [*shipped.packages(), *shipped.files_of_ours(), *shipped.frozen(Path("no-folder"))]
    assert [each.name for each in listed if shipped.is_gpl_only(each.licence)] == []
    excepted = {each.name for each in listed if each.licence.startswith("GPL") and " OR " not in each.licence}
    assert excepted == {"pygit2", "PyInstaller's bootloader"}


@pytest.mark.parametrize(
    ("licence", "is_gpl_only"),
    [
        ("GPL-3.0-or-later", True),
        ("GPL-2.0-only OR AGPL-3.0-only", True),
        ("MIT AND GPL-2.0-only", True),
        ("GPL-2.0-only OR MIT", False),
        ("LGPL-2.1-or-later", False),
        ("GPL-3.0-or-later WITH GCC-exception-3.1", False),
    ],
)
def test_a_choice_or_an_exception_is_not_the_gpl_alone(licence: str, is_gpl_only: bool) -> None:
    assert shipped.is_gpl_only(licence) is is_gpl_only


def test_a_library_without_a_known_licence_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "_internal").mkdir()
    (tmp_path / "_internal" / "libreadline.so.8").touch()
    with pytest.raises(ValueError, match=r"does not know the licence of libreadline\.so\.8"):
        shipped.frozen(tmp_path)


def test_the_bill_of_materials_is_the_same_twice_and_names_each_component_once() -> None:
    listed = [*shipped.packages(), *shipped.files_of_ours(), *shipped.frozen(Path("no-folder"))]
    made = shipped.bill(listed, "1.2.3")
    assert made == shipped.bill(listed, "1.2.3")
    references = [each["bom-ref"] for each in cast("list[dict[str, Any]]", made["components"])]
    assert len(references) == len(set(references)) == len(listed)


def test_the_licence_texts_tell_how_qt_is_replaced_and_have_the_lgpl() -> None:
    text = "\n".join(shipped.texts([*shipped.packages(), *shipped.files_of_ours()]))
    assert "Qt/lib" in text
    assert all(path.read_text("utf-8").strip() in text for path in shipped.LICENCES.glob("LGPL*.txt"))
    assert "SIL OPEN FONT LICENSE" in text


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with what release.sh reads before it builds anything."""
    folder = tmp_path / "checkout"
    (folder / "packaging").mkdir(parents=True)
    for name in ("release.sh", "setup.sh"):
        shutil.copy(ROOT / "packaging" / name, folder / "packaging")
    (folder / "CHANGELOG.md").write_text("## [Unreleased]\n\ntext\n\n## [0.3.0]\n\n## [0.2.0]\n\nOld.\n", "utf-8")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "--quiet", "--message", "all")
    return folder


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True)  # noqa: TID251


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("", "usage: release.sh VERSION"),
        ("1.0; true", "1.0; true is not a version"),
        ("0.9.0", 'CHANGELOG.md has no section "## [0.9.0]" with text'),
        ("0.3.0", 'CHANGELOG.md has no section "## [0.3.0]" with text'),
    ],
)
def test_a_release_without_a_version_or_a_section_of_the_changelog_is_refused(
    checkout: Path, version: str, told: str
) -> None:
    assert told in refusal(checkout, *([version] if version else []))


def test_a_release_of_a_checkout_with_changes_is_refused(checkout: Path) -> None:
    (checkout / "new.txt").touch()
    assert "The checkout has changes. Commit them, or make a version such as 0.2.0.dev1." in refusal(checkout, "0.2.0")


def refusal(checkout: Path, *arguments: str) -> str:
    command = ["bash", "packaging/release.sh", *arguments]
    ended = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)  # noqa: TID251
    assert ended.returncode == 2
    assert not (checkout / "dist").exists()
    return ended.stderr


def test_the_files_for_windows_and_macos_can_be_read() -> None:
    frozen = ROOT / "packaging" / "frozen"
    rights = plistlib.loads((frozen / "entitlements.plist").read_bytes())
    assert rights
    assert set(rights.values()) == {True}
    for name, sizes in (("desktop-agent.ico", {16, 32, 48, 256}), ("desktop-agent.icns", {16, 32, 128, 256, 512})):
        reader = QImageReader(str(frozen / name))
        shown = {reader.read().width() for number in range(reader.imageCount()) if reader.jumpToImage(number)}
        assert shown >= sizes, (name, shown, reader.errorString())


@pytest.mark.parametrize("sample", ["github-actions.yml", "gitlab-ci.yml"])
def test_a_sample_of_ci_checks_three_systems_and_four_pythons_with_our_scripts(sample: str) -> None:
    text = (ROOT / "docs" / "ci" / sample).read_text("utf-8")
    assert isinstance(yaml.safe_load(text), dict)
    assert '["3.11", "3.12", "3.13", "3.14"]' in text
    assert all(system in text for system in ("linux" if "gitlab" in sample else "ubuntu", "windows", "macos"))
    for script in ("packaging/test.sh", "packaging/test.ps1", "packaging/release.sh"):
        assert script in text
        assert (ROOT / script).is_file()
