"""The same tables on a real Ray of this machine: equal results, and a worker that is killed costs nothing."""

from __future__ import annotations

import os
import runpy
import signal
from argparse import Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import small_models
from big_tables import LABELS, columns, hidden, questions_table, texts_table, vectors
from pocketbert import BulkError
from pocketbert.bulk.jobs import Classify, Embed
from pocketbert.bulk.on_ray import Worker, connected, on_ray
from pocketbert.bulk.plan import Part
from pocketbert.bulk.run import run
from pocketbert.cli import main
from small_sentences import toy_embedder
from toy_reader import save_reader

ROOT = Path(__file__).resolve().parents[2]
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
LISTENING = "0A"


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """A Ray of this machine, started as the command starts it; the tests share it, for it takes seconds."""
    with connected() as found:
        yield found


@pytest.fixture(scope="module")
def embedder(tmp_path_factory) -> Path:
    return toy_embedder(tmp_path_factory.mktemp("embedder"))


def test_it_keeps_to_itself(ray) -> None:
    processes = [os.getpid(), *descendants(os.getpid())]
    names = {process: about(process, "comm").strip() for process in processes}
    assert {b"raylet", b"gcs_server"} <= set(names.values())
    heard = {address for process in processes for address in listening(process)}
    assert heard
    assert heard <= LOOPBACK
    server = next(process for process, name in names.items() if name == b"gcs_server")
    assert b"RAY_USAGE_STATS_ENABLED=0" in about(server, "environ").split(b"\0")


def test_a_killed_worker_loses_nothing_and_doubles_nothing(ray, embedder, tmp_path) -> None:
    file = texts_table(tmp_path / "in.parquet", 240, repeat=60)
    job = Embed("text", model=str(embedder))
    run(job, [file], tmp_path / "local", part_rows=10)
    seen: list[int] = []
    killed: list[int] = []

    def kill_in_the_middle(parts: Iterable[Part]) -> Iterator[Part]:
        for part in parts:
            seen.append(part.number)
            if len(seen) == 3:
                killed.append(workers()[0])
                os.kill(killed[0], signal.SIGKILL)
            yield part

    out = tmp_path / "ray"
    report = run(job, [file], out, engine="ray", part_rows=10, progress=kill_in_the_middle)
    assert len(killed) == 1
    assert not Path(f"/proc/{killed[0]}").exists()
    assert sorted(seen) == list(range(24))
    assert (report.parts, report.made, report.said.rows) == (24, 24, 240)
    assert columns(out)["number"] == list(range(240))
    assert np.array_equal(vectors(out), vectors(tmp_path / "local"))
    assert hidden(out) == []


def test_labels_are_equal_to_those_made_here(ray, tmp_path) -> None:
    model = small_models.exported(tmp_path / "model", "classification", labels=LABELS)
    file = texts_table(tmp_path / "in.parquet", 30)
    job = Classify(str(model), "text")
    for engine in ("local", "ray"):
        run(job, [file], tmp_path / engine, engine=engine)
    assert columns(tmp_path / "ray") == columns(tmp_path / "local")
    assert len(set(columns(tmp_path / "ray")["probability"])) > 1


def test_answers_are_equal_and_a_local_run_is_gone_on_with(ray, tmp_path, capsys) -> None:
    reader = save_reader(tmp_path / "reader")
    file = questions_table(tmp_path / "in.parquet")
    words = ["ask", str(file), "--model", str(reader), "--part_rows", "4"]
    assert main([*words, "--out", str(tmp_path / "local")]) == 0
    assert main([*words, "--out", str(tmp_path / "ray")]) == 0
    (tmp_path / "ray" / "part-000001.parquet").unlink()
    capsys.readouterr()
    assert main([*words, "--out", str(tmp_path / "ray"), "--engine", "ray"]) == 0
    shown = capsys.readouterr()
    assert shown.out == f"{tmp_path / 'ray'}: 12 rows in 3 parts, 2 of them from before\n"
    assert "3 of 12 rows have no result" in shown.err
    assert columns(tmp_path / "ray") == columns(tmp_path / "local")


def test_what_goes_wrong_in_a_worker_is_said_here(ray, embedder, tmp_path) -> None:
    job = Embed("text", model=str(embedder))
    gone = [Part(0, tmp_path / "gone.parquet", 0, 5)]
    with pytest.raises(BulkError, match=r"gone.parquet cannot be read.*every machine must see the file"):
        list(on_ray(job, job.open(1), gone, tmp_path, "plan", threads=1, address=None))


def test_a_worker_with_another_model_refuses_to_work(embedder, tmp_path) -> None:
    worker = Worker(Embed("text", model=str(embedder)), "another", str(tmp_path), "plan", 1)
    batch = {"number": [7], "file": [str(tmp_path / "in.parquet")], "first": [0], "rows": [5]}
    found = worker({name: np.array(values) for name, values in batch.items()})
    assert (found["number"], found["kind"]) == ([7], ["other"])
    assert "another model under the same name" in found["error"][0]


def test_the_benchmark_measures_both_engines(ray, embedder, tmp_path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    measure = runpy.run_path(str(ROOT / "benchmarks" / "bulk.py"))["measure"]
    options = {
        "embedder": str(embedder),
        "classifier": None,
        "reader": str(save_reader(tmp_path / "reader")),
        "data": [ROOT / "examples" / "data" / "corpus.txt"],
        "rows": 96,
        "words": 20,
        "answer_every": 2,
        "part_rows": 3,
    }
    found = measure(Namespace(**options))
    assert found["words"] == 20
    assert list(found["jobs"]) == ["embedding", "answering"]
    for kind, rows in (("embedding", 96), ("answering", 48)):
        assert {engine: said["rows"] for engine, said in found["jobs"][kind].items()} == {
            "local": rows,
            "ray": rows,
        }
        assert all(said["rows_per_second"] > 0 for said in found["jobs"][kind].values())


def workers() -> list[int]:
    """The processes of this test's Ray that hold a model."""
    return [
        process
        for process in descendants(os.getpid())
        if about(process, "cmdline").startswith(b"ray::MapWorker")
    ]


def descendants(process: int) -> list[int]:
    found = []
    for task in Path("/proc").glob(f"{process}/task/*"):
        for child in map(int, about(process, f"task/{task.name}/children").split()):
            found += [child, *descendants(child)]
    return found


def about(process: int, what: str) -> bytes:
    """What Linux says of a process; nothing of one that has ended."""
    try:
        return Path(f"/proc/{process}/{what}").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def listening(process: int) -> Iterator[str]:
    """The addresses that a process listens on, as Linux writes them."""
    sockets = set()
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        try:
            target = str(descriptor.readlink())
        except OSError:  # closed since
            continue
        if target.startswith("socket:["):
            sockets.add(target[8:-1])
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and fields[9] in sockets:
                yield fields[1].split(":")[0]
