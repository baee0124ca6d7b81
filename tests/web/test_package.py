"""The package in `web`: its types, its own tests, what it would publish, and what its lock file says of where from."""

from __future__ import annotations

import gzip
import json
import re
import subprocess

import pytest

from web_package import WEB, built, installed, node

MEGABYTE = 1_000_000


def test_types_are_right() -> None:
    installed()
    node("npm", "run", "--silent", "check")


def test_its_own_tests_pass() -> None:
    installed()
    report = json.loads(node("vitest", "run", "--reporter=json").stdout)
    assert report["success"]
    assert report["numPassedTests"] == report["numTotalTests"] >= 70


def test_a_failure_is_a_failure() -> None:
    """A program that fails takes the test with it; nothing is passed over in silence."""
    installed()
    with pytest.raises(AssertionError, match="No test files found"):
        node("vitest", "run", "--dir", "src")


def test_one_dependency_and_no_registry_in_the_lock_file() -> None:
    package = json.loads((WEB / "package.json").read_text(encoding="utf-8"))
    assert list(package["dependencies"]) == ["onnxruntime-web"]
    lock = json.loads((WEB / "package-lock.json").read_text(encoding="utf-8"))
    assert [name for name, entry in lock["packages"].items() if "resolved" in entry] == []
    assert [name for name, entry in lock["packages"].items() if name and not entry.get("integrity")] == []


def test_what_is_published_is_complete_and_small() -> None:
    dist = built() / "dist"
    files = sorted(str(path.relative_to(dist)) for path in dist.rglob("*") if path.suffix in (".js", ".wasm"))
    assert files == [
        "ort-wasm-simd-threaded.asyncify.wasm",
        "ort-wasm-simd-threaded.wasm",
        "ort.webgpu.bundle.min.js",
        "pocketbert.js",
        "qna.js",
        "qna.module.js",
        "shared.js",
        "worker.js",
    ]
    always = ("pocketbert.js", "shared.js", "worker.js", "ort-wasm-simd-threaded.wasm")
    assert sum(len(gzip.compress((dist / name).read_bytes(), 9)) for name in always) < 4 * MEGABYTE
    package = json.loads((WEB / "package.json").read_text(encoding="utf-8"))
    for entry in package["exports"].values():
        for path in entry.values() if isinstance(entry, dict) else [entry]:
            assert (WEB / path).is_file(), path


def test_no_file_of_ours_is_too_long_or_names_an_address() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "web"], cwd=WEB.parent, capture_output=True, text=True, check=True
    )
    sources = [WEB.parent / name for name in listed.stdout.split() if name.endswith(".ts")]
    assert len(sources) > 20
    for source in sources:
        text = source.read_text(encoding="utf-8")
        assert text.count("\n") <= 400, source
        addresses = re.findall(r"https?://(?!127\.0\.0\.1|localhost)[\w$]", text)
        assert addresses == [], source
