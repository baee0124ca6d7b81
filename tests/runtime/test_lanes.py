"""Runs side by side: the same answers in the same order, really at once, and none left behind."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path

import pytest

from pocketbert.errors import InputError
from pocketbert.runtime.questions import QuestionAnswerer
from pocketbert.runtime.session import FILES, Session, cores

SENTENCES = [
    f"The lighthouse of {place} was lit in {year} by a keeper and {number} of his children."
    for place, year, number in zip(
        ("Arnwick", "Bellow", "Carse", "Dunmore", "Elphin", "Farrow") * 8,
        range(1801, 1849),
        range(1, 49),
        strict=True,
    )
]
PAGE = " ".join(SENTENCES)
QUESTIONS = ["Who lit the lighthouse of Carse?", "When was Bellow lit?", "How many children?"]


@pytest.fixture(scope="module")
def fast_folder(nano_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fast") / "model"
    shutil.copytree(nano_folder, folder)
    (folder / FILES["fp32"]).rename(folder / FILES["int8-fast"])
    return folder


class Watched:
    """An engine that notes how many runs are under way at once, and takes its time: until there were so many."""

    def __init__(self, session: Session, pause: float = 0.0, together: int = 0) -> None:
        self.inner = session
        self.inputs, self.outputs = session.inputs, session.outputs
        self.pause, self.together = pause, together
        self.lock = threading.Condition()
        self.now = self.most = self.runs = 0

    def run(self, feed):
        with self.lock:
            self.now += 1
            self.runs += 1
            self.most = max(self.most, self.now)
            self.lock.notify_all()
            self.lock.wait_for(lambda: self.most >= self.together, timeout=30)
        time.sleep(self.pause)
        try:
            return list(self.inner.run(**feed).values())
        finally:
            with self.lock:
                self.now -= 1


def watched(
    folder: Path, lanes: int, pause: float = 0.0, together: int = 0
) -> tuple[QuestionAnswerer, Watched]:
    reader = QuestionAnswerer.load(folder, threads=1)
    engine = Watched(reader.session, pause, together)
    reader.session = Session(engine, reader.session.path, lanes=lanes)
    return reader, engine


def test_threads_of_a_fast_file_are_lanes_and_those_of_others_are_not(
    fast_folder: Path, nano_folder: Path
) -> None:
    assert Session.load(fast_folder, threads=3).lanes == 3
    assert Session.load(nano_folder, threads=3).lanes == 1


def test_lanes_are_by_default_what_the_process_may_use(
    fast_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert Session.load(fast_folder).lanes == cores() >= 1
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert Session.load(fast_folder).lanes == 5


@pytest.mark.parametrize("lanes", [2, 3, 7])
def test_lanes_change_no_answer(fast_folder: Path, lanes: int) -> None:
    one, several = watched(fast_folder, 1)[0], watched(fast_folder, lanes)[0]
    for context in (PAGE, SENTENCES[0]):
        for read in ("all", "fast"):
            wanted = one(QUESTIONS, context, read=read, threshold=1.0)
            found = several(QUESTIONS, context, read=read, threshold=1.0)
            assert [answer.text for answer in found] == [answer.text for answer in wanted]
            assert [answer.read for answer in found] == [answer.read for answer in wanted]
            for left, right in zip(found, wanted, strict=True):
                assert left.no_answer == pytest.approx(right.no_answer, abs=1e-5)


def test_as_many_runs_as_lanes_are_under_way_and_never_more(fast_folder: Path) -> None:
    reader, engine = watched(fast_folder, 3, pause=0.02, together=3)
    reader(QUESTIONS[0], PAGE, read="all")
    assert engine.most == 3
    reader, engine = watched(fast_folder, 1, pause=0.0)
    reader(QUESTIONS[0], PAGE, read="all")
    assert engine.most == 1


def test_two_windows_go_into_two_lanes(fast_folder: Path) -> None:
    reader, engine = watched(fast_folder, 2, together=2)
    result = reader(QUESTIONS[0], " ".join(SENTENCES[:5]), read="all")
    assert result.read.windows == engine.runs == 2
    assert engine.most == 2


def test_a_deadline_leaves_no_run_behind(fast_folder: Path) -> None:
    reader, engine = watched(fast_folder, 2, pause=0.05)
    result = reader(QUESTIONS[0], PAGE * 4, read="all", deadline=0.0)
    assert 0 < result.read.windows < result.read.of
    assert engine.now == 0
    runs = engine.runs
    time.sleep(0.15)
    assert engine.runs == runs


def test_a_run_that_fails_is_told(fast_folder: Path) -> None:
    reader, _ = watched(fast_folder, 2)
    reader.session.close()
    with pytest.raises(InputError, match="is closed"):
        reader(QUESTIONS[0], PAGE, read="all")
