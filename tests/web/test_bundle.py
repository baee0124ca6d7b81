"""Bundles: complete, listed, the same in the browser, and never a worse model or somebody else's folder."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pocketbert.bundle import model as bundle_model
from pocketbert.bundle import web_files
from pocketbert.bundle.check import check
from pocketbert.bundle.folder import make_bundle
from pocketbert.bundle.targets import TARGETS
from pocketbert.cli import main
from pocketbert.errors import ExportError, InputError, TokenizerError
from pocketbert.runtime.manifest import check_manifest
from pocketbert.runtime.questions import QuestionAnswerer
from pocketbert.runtime.session import FILES
from pocketbert.tasks.squad.questions import Answer, Question
from pocketbert.text import Tokenizer
from strange_texts import utf16
from tiny_tokenizers import write_roberta
from toy_reader import save_reader
from web_cases import CASES
from web_package import built, in_chromium, node
from web_page import toy_bundle

FAST = FILES["int8-fast"]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built()
    return make_bundle(None, tmp_path_factory.mktemp("real") / "page").path


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_bundle(tmp_path_factory.mktemp("toy"))


def test_the_optimised_reader_answers_in_the_browser_as_in_python(real: Path) -> None:
    cases = CASES[::3]
    jobs = [{"question": question, "passages": [passage], "options": {}} for question, passage in cases]
    outcome = in_chromium("answers", real / "model", cases=jobs)
    qa = QuestionAnswerer.load(threads=1)
    for (question, passage), row in zip(cases, outcome["results"], strict=True):
        expected, found = qa(question, passage), row["result"]
        assert (found["text"], found["start"]) == (expected.text, utf16(passage, expected.start)), question
    assert json.loads((real / "model" / "manifest.json").read_text())["optimised"]


def test_a_page_lists_every_file_with_its_hash_and_size(real: Path) -> None:
    manifest = json.loads((real / "manifest.json").read_text())
    files = {
        path.relative_to(real).as_posix(): path.read_bytes()
        for path in real.rglob("*")
        if path.is_file() and path != real / "manifest.json"
    }
    assert manifest["bundle"] == "page"
    assert manifest["sha256"] == {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    assert manifest["bytes"] == {name: len(data) for name, data in files.items()}
    needed = {
        "index.html",
        "index.js",
        "index.css",
        "worker.js",
        "service-worker.js",
        "licenses.md",
        "icon.svg",
    }
    model = {
        f"model/{name}" for name in (FAST, "vocab.txt", "config.json", "qa_config.json", "manifest.json")
    }
    assert needed | model | {"ort-wasm-simd-threaded.wasm"} <= set(files)
    assert not [name for name in files if "webgpu" in name or "asyncify" in name or "tokenizer.json" in name]
    check_manifest(real / "model", required=True)
    # Eight bits stay eight bits: the optimised file is as small as the one that it was made from.
    source = bundle_model.find_reader(None).path / FAST
    assert len(files[f"model/{FAST}"]) < 1.01 * source.stat().st_size


def test_the_page_names_nobody_else(real: Path) -> None:
    """Addresses in our own files; what comes with the engine and the PDF library names where its bugs are reported."""
    for name in ("index.html", "index.js", "index.css", "service-worker.js", "page.webmanifest"):
        assert "://" not in (real / name).read_text(encoding="utf-8"), name


def test_a_package_can_be_packed(tmp_path: Path) -> None:
    folder = toy_bundle(tmp_path, "npm")
    listed = json.loads(node("npm", "pack", "--dry-run", "--json", str(folder)).stdout)[0]
    names = {file["path"] for file in listed["files"]}
    assert {"package.json", "README.md", "LICENSE", "dist/pocketbert.js", "dist/types/index.d.ts"} <= names
    assert {f"dist/model/{FAST}", "dist/model/manifest.json", "dist/worker.js"} <= names
    assert listed["name"] == "pocketbert"


def test_a_bundle_is_replaced_and_nothing_else_is(toy: Path, tmp_path: Path) -> None:
    model = str(toy.parent / "toy")
    out = tmp_path / "out"
    out.mkdir()
    assert make_bundle(model, out).path == out  # an empty folder is nobody's
    (out / "stray.txt").write_text("from the bundle before")
    make_bundle(model, out)
    assert not (out / "stray.txt").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]  # nothing hidden is left

    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "manifest.json").write_text('{"name": "somebody else\'s"}')
    with pytest.raises(InputError, match="is there and is no bundle; it is not touched"):
        make_bundle(model, mine)
    assert [path.name for path in mine.iterdir()] == ["manifest.json"]


def test_a_model_that_answers_otherwise_is_refused(tmp_path: Path) -> None:
    """One of the built-in texts speaks of gold, which is all that these readers look for, or do not."""
    good, bad = (
        QuestionAnswerer.load(save_reader(tmp_path / name, logits={"gold": logit}))
        for name, logit in (("good", 9.0), ("bad", -5.0))
    )
    assert check(good, good, tolerance=0.5).questions == 9
    with pytest.raises(
        ExportError, match=r"with '', the one it was made from with 'gold'; nothing was written"
    ):
        check(good, bad, tolerance=0.5)


def test_a_model_that_loses_its_score_is_refused(tmp_path: Path) -> None:
    text = "It is made of copper, they say."
    question = Question(
        "1", "", "Of what?", text, (Answer("copper", text.index("copper")),), impossible=False
    )
    good, bad = (
        QuestionAnswerer.load(save_reader(tmp_path / name, logits={"copper": logit}))
        for name, logit in (("good", 9.0), ("bad", -5.0))
    )
    passed = check(good, good, [question], tolerance=0.5)
    assert (passed.f1, passed.source_f1) == (100, 100)
    with pytest.raises(ExportError, match=r"an F1 of 0\.00 on 1 questions, the one it was made from 100\.00"):
        check(good, bad, [question], tolerance=0.5)
    assert check(good, bad, [question], tolerance=100).f1 == 0


def test_a_model_without_an_onnx_file_needs_examiners(tmp_path: Path) -> None:
    folder = save_reader(tmp_path / "model")
    shutil.rmtree(folder / "onnx")
    (folder / "model.safetensors").write_bytes(b"")
    with pytest.raises(InputError, match="only made if questions can examine it"):
        make_bundle(str(folder), tmp_path / "out")


def test_words_that_browsers_cannot_cut(tmp_path: Path) -> None:
    tokenizer = Tokenizer.load(write_roberta(tmp_path / "words"))
    model = save_reader(tmp_path / "model", logits={}, tokenizer=tokenizer)
    with pytest.raises(TokenizerError, match="browsers know no other way yet"):
        make_bundle(str(model), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_without_node_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    web = tmp_path / "web"
    web.mkdir()
    (web / "package.json").write_text("{}")
    monkeypatch.setattr(web_files, "CLONE", web)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ExportError, match=r"install Node.js 20\.19 or newer"):
        web_files.put_web_files(TARGETS["page"], tmp_path / "out")
    (web / "package.json").unlink()
    with pytest.raises(ExportError, match="install a release of pocketbert"):
        web_files.put_web_files(TARGETS["page"], tmp_path / "out")


def test_the_verb(toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(toy.parent / "toy")
    assert main(["bundle", model, str(tmp_path / "a"), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["model"] == {
        "precision": "int8-fast", "optimised": True, "check": {"questions": 9, "f1": None, "source_f1": None},
    }  # fmt: skip
    assert made["files"] == len([path for path in (tmp_path / "a").rglob("*") if path.is_file()])
    assert main(["bundle", model, str(tmp_path / "b"), "extra"]) == 2
    assert "write: pocketbert bundle [MODEL] OUT" in capsys.readouterr().err
    assert main(["bundle", model, str(tmp_path / "c"), "--precision", "fp16"]) == 1
    assert "has no onnx/model_fp16.onnx" in capsys.readouterr().err


def test_bundling_needs_no_torch() -> None:
    code = "import sys; sys.modules['torch'] = None; import pocketbert.cli.bundle, pocketbert.cli.web"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_wheel_brings_the_page_along(toy: Path, tmp_path: Path) -> None:
    """Built from a clone that has built its web files, it bundles where there is neither a clone nor node."""
    offline = ["--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check", "--quiet"]
    root = Path(__file__).resolve().parents[2]
    wheel = [sys.executable, "-m", "pip", "wheel", *offline, "-w", str(tmp_path), str(root)]
    subprocess.run(wheel, check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("pocketbert-*.whl"))) as packed:
        packed.extractall(tmp_path / "installed")
    code = "import sys; from pocketbert.cli import main; sys.exit(main(sys.argv[1:]))"
    for target in ("page", "extension", "npm"):
        made = subprocess.run(
            [sys.executable, "-c", code, "bundle", str(toy.parent / "toy"), str(tmp_path / target), "--for", target],
            env={"PYTHONPATH": str(tmp_path / "installed"), "PATH": "/nowhere"}, capture_output=True, text=True,
        )  # fmt: skip
        assert made.returncode == 0, made.stderr
    assert (tmp_path / "page" / "index.html").is_file()
    assert (tmp_path / "npm" / "dist" / "types" / "index.d.ts").is_file()
    assert (tmp_path / "extension" / "unpacked" / "panel.html").is_file()
    assert (tmp_path / "extension" / "pocketbert.zip").is_file()


def test_the_sizes_in_the_document(real: Path) -> None:
    """Within a twentieth, in megabytes, plain and compressed."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "browser.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|]* \| (`[^|]*`) \| ([\d.]+) MB \| ([\d.]+) MB \|$", text, re.MULTILINE)
    assert len(rows) == 4
    for names, plain, packed in rows:
        files = [
            path for name in re.findall(r"`([^`]+)`", names) for path in real.glob(name) if path.is_file()
        ]
        assert files, names
        sizes = (
            sum(path.stat().st_size for path in files),
            sum(len(gzip.compress(path.read_bytes(), 9)) for path in files),
        )
        for said, size in zip((plain, packed), sizes, strict=True):
            assert float(said) == pytest.approx(size / 1e6, rel=0.05, abs=0.006), names
