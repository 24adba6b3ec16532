"""Builds the wheel of lastrank: the executable, the extension and the Python files (PEP 517, PEP 660).

One call of cargo builds both, so that crates that both use are compiled once. The executable lies in the wheel as a
script: `bin/lastrank` of an environment is the program itself and no Python that starts it. The extension uses the stable
interface of CPython 3.10, so that one wheel serves all later versions.

Variables of the environment:

- LASTRANK_WHEEL_PROFILE: profile of cargo, by default `wheel`.
- LASTRANK_WHEEL_BUILT: a folder with an executable and an extension that cargo built already; nothing is built then.
- LASTRANK_WHEEL_PLATFORM: the platform in the name of the wheel, such as `manylinux_2_28_x86_64`.
"""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
NAME = PROJECT["name"]
STEM = f"{NAME}-{VERSION}"
EXECUTABLE = f"{NAME}.exe" if os.name == "nt" else NAME
# What cargo calls the extension, and what Python looks for.
LIBRARY = {"nt": "_native.dll"}.get(os.name, "lib_native.dylib" if sys.platform == "darwin" else "lib_native.so")
MODULE = "_native.pyd" if os.name == "nt" else "_native.abi3.so"


def build() -> Path:
    """Builds executable and extension; the folder that holds both."""
    if built := os.environ.get("LASTRANK_WHEEL_BUILT"):
        return Path(built).resolve()
    profile = os.environ.get("LASTRANK_WHEEL_PROFILE", "wheel")
    command = ["cargo", "build", "--locked", "--profile", profile, "-p", NAME, "-p", f"{NAME}-python"]
    subprocess.run(command, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / os.environ.get("CARGO_BUILD_TARGET", "") / {"dev": "debug"}.get(profile, profile)


def tag() -> str:
    platform = os.environ.get("LASTRANK_WHEEL_PLATFORM") or re.sub(r"[-.]", "_", sysconfig.get_platform())
    return f"cp310-abi3-{platform}"


def metadata() -> str:
    """The core metadata of the project, from pyproject.toml, with README.md as its description."""
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {NAME}",
        f"Version: {VERSION}",
        f"Summary: {PROJECT['description']}",
        f"Keywords: {','.join(PROJECT['keywords'])}",
        f"Requires-Python: {PROJECT['requires-python']}",
        f"License-Expression: {PROJECT['license']}",
        *(f"License-File: {name}" for name in PROJECT["license-files"]),
        *(f"Classifier: {name}" for name in PROJECT["classifiers"]),
    ]
    for extra, needed in PROJECT["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {one} ; extra == "{extra}"' for one in needed]
    lines += ["Description-Content-Type: text/markdown", "", (ROOT / PROJECT["readme"]).read_text(encoding="utf-8")]
    return "\n".join(lines)


def dist_info() -> Iterator[tuple[str, bytes]]:
    folder = f"{STEM}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: {NAME} packaging/python/backend.py\nRoot-Is-Purelib: false\nTag: {tag()}\n"
    yield f"{folder}/METADATA", metadata().encode()
    yield f"{folder}/WHEEL", wheel.encode()
    for name in PROJECT["license-files"]:
        yield f"{folder}/licenses/{name}", (ROOT / name).read_bytes()


def without_symbols(program: Path) -> bytes:
    """A program without what only a debugger reads, where `strip` is there and knows it."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / program.name
        strip = shutil.which("strip")
        if strip and not os.environ.get("CARGO_BUILD_TARGET"):
            subprocess.run([strip, "-o", out, program], check=True)
            return out.read_bytes()
    return program.read_bytes()


def python_files() -> Iterator[tuple[str, bytes]]:
    source = ROOT / "python"
    for file in sorted(source.glob(f"{NAME}/**/*")):
        if file.suffix in (".py", ".pyi") or file.name == "py.typed":
            yield file.relative_to(source).as_posix(), file.read_bytes()


def write_wheel(folder: str, files: Iterator[tuple[str, bytes]], script: bytes) -> str:
    """Writes a wheel with its RECORD; the script can be executed where it is installed."""
    name = f"{STEM}-{tag()}.whl"
    record = []
    with zipfile.ZipFile(Path(folder) / name, "w", zipfile.ZIP_DEFLATED) as wheel:

        def put(path: str, content: bytes, mode: int = 0o644) -> None:
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(content)}\n")
            entry = zipfile.ZipInfo(path)  # of 1980: the same files make the same wheel
            entry.external_attr = (0o100000 | mode) << 16
            wheel.writestr(entry, content, zipfile.ZIP_DEFLATED)

        for path, content in files:
            put(path, content)
        put(f"{STEM}.data/scripts/{EXECUTABLE}", script, 0o755)
        for path, content in dist_info():
            put(path, content)
        record.append(f"{STEM}.dist-info/RECORD,,\n")
        wheel.writestr(zipfile.ZipInfo(f"{STEM}.dist-info/RECORD"), "".join(record), zipfile.ZIP_DEFLATED)
    return name


def get_requires_for_build_wheel(settings: dict[str, Any] | None = None) -> list[str]:
    return []


get_requires_for_build_editable = get_requires_for_build_sdist = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(folder: str, settings: dict[str, Any] | None = None) -> str:
    for path, content in dist_info():
        file = Path(folder) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return f"{STEM}.dist-info"


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(folder: str, settings: dict[str, Any] | None = None, metadata_folder: str | None = None) -> str:
    built = build()

    def files() -> Iterator[tuple[str, bytes]]:
        yield from python_files()
        yield f"{NAME}/{MODULE}", without_symbols(built / LIBRARY)

    return write_wheel(folder, files(), without_symbols(built / EXECUTABLE))


def build_editable(folder: str, settings: dict[str, Any] | None = None, metadata_folder: str | None = None) -> str:
    """The Python files stay where they are; executable and extension are those of this build."""
    built = build()
    shutil.copy2(built / LIBRARY, ROOT / "python" / NAME / MODULE)

    def files() -> Iterator[tuple[str, bytes]]:
        yield f"{NAME}.pth", f"{ROOT / 'python'}\n".encode()

    return write_wheel(folder, files(), (built / EXECUTABLE).read_bytes())


def build_sdist(folder: str, settings: dict[str, Any] | None = None) -> str:
    """All files that git knows: the workspace is built as a whole."""
    # Root may build what a user has checked out.
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    name = f"{STEM}.tar.gz"
    with tarfile.open(Path(folder) / name, "w:gz", format=tarfile.PAX_FORMAT) as out:
        for path in sorted(filter(None, listed.decode().split("\0"))):
            if (ROOT / path).exists():
                out.add(ROOT / path, f"{STEM}/{path}", recursive=False)
        with tempfile.TemporaryDirectory() as temporary:
            info = Path(temporary) / "PKG-INFO"
            info.write_text(metadata(), encoding="utf-8")
            out.add(info, f"{STEM}/PKG-INFO")
    return name
