"""What the extension is made of: the permissions it asks for, its policy, its icons, and nothing from elsewhere."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from zipfile import ZipFile

from pocketbert.bundle.archive import archive
from web_package import WEB, built

STATIC = WEB / "extension" / "static"
MANIFEST = json.loads((STATIC / "manifest.json").read_text(encoding="utf-8"))
ICONS = (16, 32, 48, 128)


def test_it_asks_for_no_more_than_it_needs() -> None:
    assert MANIFEST["manifest_version"] == 3
    assert MANIFEST["permissions"] == ["activeTab", "scripting", "sidePanel", "storage"]
    allowed = {
        *("manifest_version", "name", "short_name", "version", "description", "minimum_chrome_version"),
        *(
            "permissions",
            "action",
            "icons",
            "side_panel",
            "background",
            "commands",
            "content_security_policy",
        ),
    }
    assert set(MANIFEST) == allowed  # no host permissions, no content scripts, nothing that pages can reach
    assert "_execute_action" in MANIFEST["commands"]
    assert len(MANIFEST["description"]) <= 132  # the store's limit
    package = json.loads((WEB / "package.json").read_text(encoding="utf-8"))
    assert MANIFEST["version"] == package["version"]


def test_its_policy_lets_nothing_in_and_nothing_out() -> None:
    policy = dict(
        part.strip().split(" ", 1)
        for part in MANIFEST["content_security_policy"]["extension_pages"].split(";")
    )
    assert policy.pop("default-src") == "'none'"
    assert policy.pop("script-src") == "'self' 'wasm-unsafe-eval'"
    assert set(policy.values()) == {"'self'"}


def test_what_is_built_names_no_address_and_makes_no_markup() -> None:
    dist = built() / "dist-extension"
    for name in ("panel.js", "page.js", "background.js", "panel.html", "panel.css"):
        text = (dist / name).read_text(encoding="utf-8")
        assert not re.search(r"https?://|//[a-z]+\.", text), name
        unsafe = r"innerHTML|outerHTML|insertAdjacent|document\.write|createContextualFragment|\beval\b|new Function"
        assert not re.search(unsafe, text), name
    # What is put into pages is one file, and small.
    assert "import" not in (dist / "page.js").read_text(encoding="utf-8").split("(", 1)[0]
    assert (dist / "page.js").stat().st_size < 20_000
    shown = (dist / "panel.html").read_text(encoding="utf-8")
    for name in re.findall(r'(?:src|href)="([^"]+)"', shown):
        assert (dist / name).is_file(), name
    worker = MANIFEST["background"]["service_worker"]
    for name in (worker, MANIFEST["side_panel"]["default_path"], *MANIFEST["icons"].values()):
        assert (dist / name).is_file(), name


def test_the_icons_are_what_their_script_draws(tmp_path: Path) -> None:
    script = WEB.parent / "scripts" / "web_icons.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True)
    for size in ICONS:
        drawn, kept = ((folder / f"{size}.png").read_bytes() for folder in (tmp_path, STATIC / "icons"))
        assert pixels(drawn) == pixels(kept), size
        assert struct.unpack(">II", kept[16:24]) == (size, size)
        assert (
            MANIFEST["icons"][str(size)]
            == MANIFEST["action"]["default_icon"][str(size)]
            == f"icons/{size}.png"
        )


def test_the_same_files_make_the_same_zip(tmp_path: Path) -> None:
    packed = []
    for number, names in enumerate((("b.txt", "a/c.txt"), ("a/c.txt", "b.txt"))):
        folder = tmp_path / str(number)
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(f"This is {name}. " * 100)
            os.utime(folder / name, (number * 1e6, number * 1e6))
            (folder / name).chmod(0o600 if number else 0o666)
        archive(folder, tmp_path / f"{number}.zip")
        packed.append((tmp_path / f"{number}.zip").read_bytes())
    assert packed[0] == packed[1]
    with ZipFile(tmp_path / "0.zip") as opened:
        assert opened.namelist() == ["a/c.txt", "b.txt"]
        assert opened.read("b.txt").startswith(b"This is b.txt. ")


def pixels(png: bytes) -> bytes:
    """What is in a PNG file of one IDAT chunk, however it was compressed."""
    start = png.index(b"IDAT")
    (length,) = struct.unpack(">I", png[start - 4 : start])
    return zlib.decompress(png[start + 4 : start + 4 + length])
