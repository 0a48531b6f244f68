"""What a release ships from others: `shipped.py bom FILE` lists it as CycloneDX 1.6.

`shipped.py licences FILE` collects the licence texts. Both read the installed packages, which must be those of the
lock, and with `--folder dist/desktop-agent` the frozen program.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import Distribution, distribution, packages_distributions
from pathlib import Path
from urllib.parse import quote

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LICENCES = ROOT / "packaging" / "licences"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

LINKING = "GPL-2.0 with linking exception"
"""libgit2's: its exception has no SPDX identifier."""
# What packages declare in words instead of an SPDX expression.
SPDX = {
    "3-Clause BSD License": "BSD-3-Clause",
    "LGPL": "LGPL-2.1-or-later",
    "OSI Approved :: MIT License": "MIT",
    "GPLv2 with linking exception": LINKING,
}
# Modules of Python that the frozen program does not have: the last one is under the GPL alone.
UNUSED_MODULES = ("distutils", "pydoc_data", "tkinter", "readline")
# The shared libraries of the system and of wheels in the frozen program. A new one needs its licence here.
LIBRARIES = {
    "Apache-2.0": ("libcrypto", "libssl"),
    "AFL-2.1 OR GPL-2.0-or-later": ("libdbus-1",),
    "BSD-2-Clause": ("liblz4",),
    "BSD-3-Clause": ("libbsd", "libcap", "libmd", "libpcre-", "libpcre2-", "libssh2", "libuuid", "libzstd"),
    "BSD-3-Clause AND IJG": ("libjpeg",),
    "FTL OR GPL-2.0-or-later": ("libfreetype",),
    LINKING: ("libgit2",),
    "GPL-3.0-or-later WITH GCC-exception-3.1": ("libgcc_s", "libstdc++"),
    "LGPL-2.0-or-later": ("libkeyutils",),
    "LGPL-2.1-or-later": (
        *("libblkid", "libgcrypt", "libgio-", "libglib-", "libgmodule-", "libgobject-", "libgpg-error", "libgthread-"),
        *("libmount", "libsystemd"),
    ),
    "LGPL-3.0-only": ("libQt6", "libpyside6", "libshiboken6"),
    "MIT": (
        *(
            "libX",
            "libbrotli",
            "libcom_err",
            "libexpat",
            "libffi",
            "libfontconfig",
            "libgssapi_krb5",
            "libk5crypto",
            "libkrb5",
        ),
        *("libtinfo", "libxcb", "libxkbcommon"),
    ),
    "Unicode-DFS-2016": ("libicu",),
    "bzip2-1.0.6": ("libbz2",),
    "libpng-2.0": ("libpng16",),
    "PSF-2.0": ("libpython3",),
    "LicenseRef-public-domain": ("liblzma", "libselinux", "libsqlite3"),
    "Zlib": ("libz.",),
}

QT = """\
Qt and PySide6 are used under the LGPL 3.0, GLib and others under the LGPL 2.1 (texts below). They are separate shared
libraries. You may replace them, and you may examine and change this program to debug your changes:

- Qt is in `_internal/PySide6/Qt/lib` (`libQt6Core.so.6` and so on) and `_internal/PySide6/Qt/plugins`; PySide6 is in
  `_internal/PySide6` and `_internal/shiboken6`. The other libraries are directly in `_internal`.
- Build Qt {version} or a later version of the same minor series from its source
  (https://download.qt.io/official_releases/), copy your files over those of the same names, and start the program.
  Nothing checks the files, and nothing is linked statically.
- Qt contains the works of others; https://doc.qt.io/qt-6/licenses-used-in-qt.html lists them with their texts.
- The source of this program, the versions of everything in it (`bom.cdx.json`) and `packaging/freeze.sh`, which makes
  this folder, are published with each release. With them you can build the program with other versions.
"""


@dataclass(frozen=True, slots=True)
class Component:
    name: str
    version: str
    licence: str
    purl: str = ""
    is_frozen_only: bool = False
    texts: tuple[Path, ...] = field(default=(), compare=False)


def packages() -> list[Component]:
    """Return what `pip install desktop-agent` brings here.

    Raises `ValueError` for a version that is not locked, and for a licence that is no SPDX expression.
    """
    locked = set(re.findall(r"^([\w.-]+)(?:\[[^\]]*\])?==([^\s;\\]+)", _lock(), re.MULTILINE))
    found = sorted(_closure("desktop-agent", frozenset(), {}).items())
    wrong = [f"{name} {package.version}" for name, package in found if (name, package.version) not in locked]
    if wrong:
        raise ValueError(f"These are not the versions of packaging/requirements.txt: {', '.join(wrong)}")
    return [
        Component(name, package.version, _licence(package), f"pkg:pypi/{name}@{package.version}", texts=_texts(package))
        for name, package in found
    ]


def unlisted_modules() -> set[str]:
    """Return the top-level modules that are installed here and belong to no package that is shipped."""
    listed = {each.name for each in packages()} | {"desktop-agent"}
    owners = packages_distributions().items()
    return {module for module, names in owners if not listed & {canonicalize_name(name) for name in names}}


def _lock() -> str:
    return (ROOT / "packaging" / "requirements.txt").read_text(encoding="utf-8")


def _closure(name: str, extras: frozenset[str], found: dict[str, Distribution]) -> dict[str, Distribution]:
    requires = _own_requirements() if name == "desktop-agent" else distribution(name).requires or []
    for needed in map(Requirement, requires):
        if needed.marker and not any(needed.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            continue
        inner = str(canonicalize_name(needed.name))
        if inner not in found or needed.extras:
            found.setdefault(inner, distribution(inner))
            _closure(inner, frozenset(needed.extras), found)
    return found


def _own_requirements() -> list[str]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]


def _licence(package: Distribution) -> str:
    def declared(field: str) -> list[str]:
        return package.metadata.get_all(field, [])

    classified = [line[11:] for line in declared("Classifier") if line.startswith("License :: ")]
    told = next(iter([*declared("License-Expression"), *declared("License"), *classified]), "")
    try:
        return SPDX[told] if told in SPDX else canonicalize_license_expression(told)
    except InvalidLicenseExpression as error:
        raise ValueError(f"packaging/tools/shipped.py does not know the licence of {package.name}: {told}") from error


def _texts(package: Distribution) -> tuple[Path, ...]:
    is_text = re.compile(r"(?i)(^|/)(licen[cs]e|copying|notice|authors)[^/]*$")
    names = sorted(str(name) for name in package.files or [] if is_text.search(str(name)))
    return tuple(Path(str(package.locate_file(name))) for name in names if not name.endswith((".py", ".pyc")))


def files_of_ours() -> list[Component]:
    """Return the works of others that are in our own package, or inside another's."""
    fonts = ROOT / "resources" / "fonts"
    return [
        Component("Inter", "4.001", "OFL-1.1", texts=(fonts / "OFL-Inter.txt",)),
        Component("JetBrains Mono", "2.211", "OFL-1.1", texts=(fonts / "OFL-JetBrainsMono.txt",)),
    ]


def frozen(folder: Path) -> list[Component]:
    """Return what the frozen program has besides packages. Raises `ValueError` for a library of unknown licence."""
    version = ".".join(map(str, sys.version_info[:3]))
    text = Path(sys.base_prefix, "lib", f"python{PYTHON}", "LICENSE.txt")
    tool = distribution("pyinstaller")
    bootloader = "GPL-2.0-or-later WITH Bootloader-exception"
    components = [
        Component(
            "CPython", version, "PSF-2.0", f"pkg:generic/cpython@{version}", True, (text,) if text.exists() else ()
        ),
        Component(
            "PyInstaller's bootloader",
            tool.version,
            bootloader,
            f"pkg:pypi/pyinstaller@{tool.version}",
            True,
            _texts(tool),
        ),
    ]
    places = ("_internal/lib*.so*", "_internal/*.libs/lib*.so*", "_internal/PySide6/Qt/lib/lib*.so*")
    libraries = {path.name for place in places for path in folder.glob(place) if not path.is_symlink()}
    licences = {name: _licence_of_library(name) for name in sorted(libraries)}
    unknown = [name for name, licence in licences.items() if not licence]
    if unknown:
        raise ValueError(f"packaging/tools/shipped.py does not know the licence of {', '.join(unknown)}")
    listed = LIBRARIES["LGPL-3.0-only"] + LIBRARIES["PSF-2.0"]  # with PySide6 and CPython
    others = {name: licence for name, licence in licences.items() if not name.startswith(listed)}
    return [*components, *_libraries(others)]


def _licence_of_library(name: str) -> str:
    return next((licence for licence, starts in LIBRARIES.items() if name.startswith(starts)), "")


def _libraries(licences: dict[str, str]) -> Iterator[Component]:
    """Yield the libraries with the Debian packages that have them; those of wheels have none."""
    shown: list[str] = []
    if licences and shutil.which("dpkg-query"):
        search = ["dpkg-query", "--search", *(f"*/{name}" for name in licences)]
        shown = subprocess.run(search, capture_output=True, text=True, check=False).stdout.splitlines()  # noqa: TID251
    owners = {line.rpartition("/")[2]: line.partition(":")[0] for line in shown if not line.startswith("diversion")}
    versions: dict[str, str] = {}
    if owners:
        show = ["dpkg-query", "--show", "--showformat=${Package} ${Version}\n", *sorted(set(owners.values()))]
        listed = subprocess.run(show, capture_output=True, text=True, check=True).stdout  # noqa: TID251
        versions = dict(line.split(" ", 1) for line in listed.splitlines())
    for name, licence in licences.items():
        package = owners.get(name, "")
        version = versions.get(package, "")
        purl = f"pkg:deb/debian/{package}@{quote(version, safe='')}" if package else ""
        text = Path("/usr/share/doc", package, "copyright")
        yield Component(name, version, licence, purl, True, (text,) if package and text.exists() else ())


def is_gpl_only(licence: str) -> bool:
    """Say whether every choice of a licence expression has the GPL or AGPL without an exception."""
    return all(re.search(r"\bA?GPL(?!.* with )", choice, re.IGNORECASE) for choice in licence.split(" OR "))


def bill(components: list[Component], version: str) -> dict[str, object]:
    names = "".join(f"{each.name} {each.version}\n" for each in components)
    made = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), UTC)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'desktop-agent {version} {names}')}",
        "version": 1,
        "metadata": {
            "timestamp": made.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": "desktop-agent",
                "name": "desktop-agent",
                "version": version,
                "licenses": [{"expression": "Apache-2.0"}],
            },
        },
        "components": [_as_json(each) for each in components],
    }


def _as_json(each: Component) -> dict[str, object]:
    licence = {"license": {"name": LINKING}} if each.licence == LINKING else {"expression": each.licence}
    return {
        "type": "library",
        "bom-ref": each.name,
        "name": each.name,
        **({"version": each.version} if each.version else {}),
        "licenses": [licence],
        **({"purl": each.purl} if each.purl else {}),
        "properties": [{"name": "desktop-agent:in", "value": "frozen" if each.is_frozen_only else "all"}],
    }


def texts(components: list[Component]) -> Iterator[str]:
    qt = next(each.version for each in components if each.name == "pyside6-essentials")
    yield "Desktop Agent is under the Apache License 2.0 (LICENSE). It contains the works of others listed here.\n"
    yield QT.format(version=qt)
    yield "\n".join(f"{each.name} {each.version}: {each.licence}" for each in components) + "\n"
    seen: dict[str, str] = {}
    for each in components:
        for path in each.texts:
            text = path.read_text(encoding="utf-8", errors="replace").strip() + "\n"
            seen[text] = f"{seen[text]}, {each.name}" if text in seen else each.name
    for path in sorted(LICENCES.glob("*.txt")):
        seen.setdefault(path.read_text(encoding="utf-8").strip() + "\n", path.stem)
    for text, names in seen.items():
        yield f"{'=' * 120}\n{names}\n{'=' * 120}\n{text}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["bom", "licences"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--folder", type=Path, help="the frozen program")
    parser.add_argument("--version", default="0")
    chosen = parser.parse_args()
    try:
        components = [*packages(), *files_of_ours(), *(frozen(chosen.folder) if chosen.folder else [])]
    except ValueError as error:
        sys.exit(str(error))
    forbidden = [each.name for each in components if is_gpl_only(each.licence)]
    if forbidden:
        sys.exit(f"These are under the GPL alone and cannot be shipped: {', '.join(forbidden)}")
    if chosen.what == "bom":
        text = json.dumps(bill(components, chosen.version), indent=2, ensure_ascii=False) + "\n"
    else:
        text = "\n".join(texts(components))
    chosen.file.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
