"""`pocketbert embed`, `similar`, `cluster` and `rerank`: texts from files, results for people and programs."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from pocketbert import Embedder, Reranker, quantize_embeddings
from pocketbert.cli import main
from pocketbert.cli.cluster import Group, map_page
from pocketbert.errors import install_command
from pocketbert.runtime import folder as folders
from pocketbert.vectors.plane import components, on_a_plane
from small_sentences import toy_embedder, toy_reranker

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "data" / "sentences.txt"
TEXTS = [
    "The ferry leaves.",
    "Bread and salt.",
    "The ferry leaves.",
    "Rain </script> & <b>tea</b>",
    "Bread and salt!",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return toy_embedder(tmp_path_factory.mktemp("embedder"))


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    (tmp_path / "lines.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    return tmp_path / "lines.txt"


@pytest.fixture
def run(capsys):
    """Run a verb that must succeed; what it prints on stdout."""

    def call(*words: object) -> str:
        status = main([str(word) for word in words])
        shown = capsys.readouterr()
        assert status == 0, shown.err
        assert shown.err == ""  # progress is for terminals
        return shown.out

    return call


def refused(capsys, *words: object) -> str:
    assert main([str(word) for word in words]) in (1, 2)
    return capsys.readouterr().err


class TestEmbed:
    def test_vectors_of_lines(self, model, lines, run, tmp_path: Path) -> None:
        out = tmp_path / "made" / "vectors.npy"
        assert (
            run("embed", lines, "-o", out, "--model", model) == f"{out}: 5 texts, 32 dimensions, as float32\n"
        )
        expected = Embedder.load(model).encode(TEXTS)
        assert np.abs(np.load(out) - expected).max() < 1e-5
        assert [path.name for path in out.parent.iterdir()] == ["vectors.npy"]

    @pytest.mark.parametrize("form", ["int8", "ubinary"])
    def test_rounded_vectors(self, form, model, lines, run, tmp_path: Path) -> None:
        said = run(
            "embed",
            lines,
            "-o",
            tmp_path / "v.npy",
            "--model",
            model,
            "--as",
            form,
            "--json",
            "--truncate_dim",
            16,
        )
        assert json.loads(said) == {
            "output": str(tmp_path / "v.npy"),
            "texts": 5,
            "dimensions": 16,
            "as": form,
        }
        whole = Embedder.load(model).encode(TEXTS, truncate_dim=16)
        found, expected = np.load(tmp_path / "v.npy"), quantize_embeddings(whole, form)
        assert found.dtype == expected.dtype
        assert np.abs(found.astype(int) - expected.astype(int)).max() <= (1 if form == "int8" else 0)

    @pytest.mark.parametrize("form", ["int8", "uint8"])
    def test_one_vector_has_no_ranges(self, form, model, tmp_path: Path, capsys) -> None:
        (tmp_path / "one.txt").write_text("Alone.\n")
        out = tmp_path / "v.npy"
        said = refused(capsys, "embed", tmp_path / "one.txt", "-o", out, "--model", model, "--as", form)
        assert f"{form} has to tell apart; give more texts" in said
        assert "--as" in said
        assert [path.name for path in tmp_path.iterdir()] == ["one.txt"]

    def test_cut_texts_are_told_in_the_words_of_the_command(self, model, tmp_path: Path, capsys) -> None:
        (tmp_path / "long.txt").write_text("ferry " * 50 + "\nBread.\n")
        words = ["embed", str(tmp_path / "long.txt"), "-o", str(tmp_path / "v.npy"), "--model", str(model)]
        assert main([*words, "--long", "truncate"]) == 0
        assert capsys.readouterr().err == (
            "pocketbert: 1 of 2 texts are longer than 40 tokens: 12 tokens at their ends were not read; "
            "--long windows reads them\n"
        )
        assert main(words) == 0
        assert capsys.readouterr().err == ""

    def test_tables_and_parquet(self, model, run, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("id,said\n1,One text.\n2,Another.\n")
        (tmp_path / "b.jsonl").write_text('{"said": "A third."}\n')
        run("embed", tmp_path / "a.csv", tmp_path / "b.jsonl", "--text", "said", "-o", tmp_path / "v.parquet",
            "--model", model)  # fmt: skip
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(tmp_path / "v.parquet")
        assert table["text"].to_pylist() == ["One text.", "Another.", "A third."]
        expected = Embedder.load(model).encode(["One text.", "Another.", "A third."])
        assert np.abs(np.array(table["vector"].to_pylist()) - expected).max() < 1e-5

    def test_parquet_without_its_package_is_said_first(
        self, lines, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("pyarrow", "pyarrow.parquet"):
            monkeypatch.setitem(sys.modules, name, None)
        out = tmp_path / "v.parquet"
        said = refused(capsys, "embed", lines, "-o", out, "--model", tmp_path / "nowhere")
        assert said.endswith(f"install it with: {install_command('parquet')}\n")
        assert not out.exists()

    def test_the_standard_input(self, model, run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"One.\nTwo.\n")))
        assert "2 texts" in run("embed", "-", "-o", tmp_path / "v.npy", "--model", model)

    def test_what_cannot_be_is_said(
        self, model, lines, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert ".npy or .parquet" in refused(
            capsys, "embed", lines, "-o", tmp_path / "v.txt", "--model", model
        )
        (tmp_path / "a.csv").write_text("id,said\n1,One text.\n")
        out = tmp_path / "v.npy"
        assert "--text" in refused(capsys, "embed", tmp_path / "a.csv", "-o", out, "--model", model)
        assert "holds no text" in refused(capsys, "embed", _empty(tmp_path), "-o", out, "--model", model)
        monkeypatch.setattr(folders, "EMBEDDED_EMBEDDER", tmp_path / "nowhere")
        assert "no embedded embedder" in refused(capsys, "embed", lines, "-o", out)
        assert not out.exists()
        assert not list(tmp_path.glob(".*"))


def _empty(folder: Path) -> Path:
    (folder / "empty.txt").write_text("\n")
    return folder / "empty.txt"


class TestSimilar:
    def test_the_most_alike_come_first(self, model, lines, run) -> None:
        shown = run("similar", lines, "--model", model, "--top", 1)
        assert shown == " 1.00  The ferry leaves.\n       The ferry leaves.\n"
        rows = [json.loads(line) for line in run("similar", lines, "--model", model, "--json").splitlines()]
        assert len(rows) == 10
        assert rows[0] | {"score": 1.0} == {
            "score": 1.0,
            "first": 0,
            "second": 2,
            "texts": [TEXTS[0], TEXTS[2]],
            "files": [str(lines), str(lines)],
            "lines": [1, 3],
        }
        assert [row["score"] for row in rows] == sorted((row["score"] for row in rows), reverse=True)
        few = run("similar", lines, "--model", model, "--json", "--threshold", 0.999)
        assert len(few.splitlines()) == 1

    def test_lines_are_those_of_an_editor(self, model, tmp_path: Path, capsys) -> None:
        odd = "One\u2028text\x0cwith\x85marks."
        (tmp_path / "a.txt").write_bytes(f"{odd}\r\n\r\nTwo.\r \nThree.\n".encode())
        words = ["similar", str(tmp_path / "a.txt"), "--model", str(model), "--json"]
        assert main(words) == 0
        shown = capsys.readouterr()
        assert shown.err == f"pocketbert: {tmp_path / 'a.txt'}: 2 of 5 lines are blank and left out\n"
        rows = [json.loads(line) for line in shown.out.strip().split("\n")]
        lines = {text: line for row in rows for text, line in zip(row["texts"], row["lines"], strict=True)}
        assert lines == {odd: 1, "Two.": 3, "Three.": 5}
        (tmp_path / "a.txt").write_text(f"\n{odd}\nTwo.\n", encoding="utf-8")
        (tmp_path / "b.txt").write_text(f"{odd}\n", encoding="utf-8")
        assert main(["similar", str(tmp_path / "b.txt"), *words[1:], "--top", "1"]) == 0
        shown = capsys.readouterr()
        assert "1 of 3 lines is blank and left out" in shown.err
        row = json.loads(shown.out)
        assert row["files"] == [str(tmp_path / "b.txt"), str(tmp_path / "a.txt")]
        assert row["lines"] == [1, 2]

    def test_one_text_is_no_pair(self, model, tmp_path: Path, capsys) -> None:
        (tmp_path / "one.txt").write_text("Alone.\n")
        assert "a pair needs two" in refused(capsys, "similar", tmp_path / "one.txt", "--model", model)


class TestCluster:
    def test_groups(self, model, lines, run) -> None:
        said = json.loads(run("cluster", lines, "--model", model, "--threshold", 0.999, "--json"))
        assert said["texts"] == 5
        assert said["groups"][0] == {"size": 2, "headline": TEXTS[0], "members": [0, 2]}
        assert said["alone"] == 5 - sum(group["size"] for group in said["groups"])
        shown = run("cluster", lines, "--model", model, "--threshold", 0.999, "--members")
        assert shown.startswith("    2  The ferry leaves.\n         The ferry leaves.\n")
        assert "5 texts: " in shown

    def test_the_map(self, model, run, tmp_path: Path) -> None:
        page = tmp_path / "made" / "map.html"
        shown = run("cluster", EXAMPLE, "--model", model, "--html", page)
        assert f"{page}: a map of 24 texts" in shown
        text = page.read_text(encoding="utf-8")
        assert "default-src 'none'" in text
        assert not re.search(
            r"(src|href)\s*=|@import|url\(", text.split("</title>")[1]
        )  # nothing from elsewhere
        addresses = re.findall(r"https?://[^\"' ]+", text)
        assert set(addresses) == {"http://www.w3.org/2000/svg"}  # a name, not a place

    def test_texts_cannot_break_out_of_the_page(self) -> None:
        vectors = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)
        page = map_page(TEXTS, vectors, [Group(0, (0, 2))])
        held = page.split('<script id="data" type="application/json">')[1].split("</script>")[0]
        data = json.loads(held)
        assert "<" not in held
        assert data["texts"] == TEXTS
        assert data["groups"] == [{"headline": 0, "members": [0, 2]}]
        assert all(0 <= number <= 1 for place in data["places"] for number in place)
        assert "innerHTML" not in page


class TestPlane:
    def test_neighbours_stay_together(self) -> None:
        draw = np.random.default_rng(0)
        groups = np.repeat(np.arange(4), 30)
        vectors = (5 * np.eye(4, 16)[groups] + draw.normal(size=(120, 16))).astype(np.float32)
        places = on_a_plane(vectors)
        centres = np.stack([places[groups == group].mean(axis=0) for group in range(4)])
        nearest = np.linalg.norm(places[:, None] - centres, axis=-1).argmin(axis=1)
        assert (nearest == groups).mean() > 0.95
        assert (on_a_plane(vectors) == places).all()

    def test_few_and_equal_texts(self) -> None:
        for count in range(5):
            same = np.ones((count, 8), dtype=np.float32)
            assert np.isfinite(on_a_plane(same)).all()
            assert on_a_plane(same).shape == (count, 2)
        line = np.outer(np.arange(5.0), np.ones(3)).astype(np.float32)
        first = components(line, 2)[:, 0]
        assert np.diff(first) == pytest.approx([3**0.5] * 4)


class TestRerank:
    def test_texts_in_order(self, lines, run, tmp_path_factory) -> None:
        folder = toy_reranker(tmp_path_factory.mktemp("reranker"))
        expected = Reranker.load(folder).rank("When?", TEXTS, top_k=2)
        rows = [
            json.loads(line)
            for line in run("rerank", "When?", lines, "--model", folder, "--top", 2, "--json").splitlines()
        ]
        assert [row["corpus_id"] for row in rows] == [hit["corpus_id"] for hit in expected]
        assert rows[0]["text"] == TEXTS[rows[0]["corpus_id"]]
        shown = run("rerank", "When?", lines, "--model", folder, "--top", 1)
        assert shown == f"{expected[0]['score']:.4f}  {rows[0]['text']}\n"

    def test_a_query_without_room_is_told(self, lines, tmp_path: Path, capsys) -> None:
        folder = toy_reranker(tmp_path / "reranker")
        assert main(["rerank", "why " * 600, str(lines), "--model", str(folder)]) == 0
        said = capsys.readouterr().err
        assert said.startswith("pocketbert: 5 of 5 pairs are longer than ")
        assert said.endswith("a shorter query leaves room to read them\n")
