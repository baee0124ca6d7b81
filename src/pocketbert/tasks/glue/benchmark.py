"""The tasks of GLUE (arXiv 1804.07461) as data: files, columns, labels and scores.

Names are those of the official folders; the hub's configurations and the names of the submission stand beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pocketbert.errors import InputError
from pocketbert.tables import near
from pocketbert.tasks.classify.examples import Problem, Scheme

Part = Literal["train", "dev", "dev_mismatched", "test", "test_mismatched"]
Score = Literal["matthews", "accuracy", "f1", "pearson", "spearman"]


@dataclass(frozen=True)
class Task:
    """One task: how its files look, and how it is scored."""

    name: str
    """As the official folder is called."""
    hub: str
    """The configuration of the hub's `glue`."""
    columns: tuple[str, ...]
    """The columns with the text, or with both texts, in the official files."""
    hub_columns: tuple[str, ...]
    labels: tuple[str, ...] = ("0", "1")
    """In the hub's order, spelled as the files and the submission spell them."""
    label: str = "label"
    scores: tuple[Score, ...] = ("accuracy",)
    header: tuple[str, ...] | None = None
    """The names of the columns where training and dev files do not say them."""
    index: str = "index"
    """The column of the test file with the number of the row."""
    files: tuple[tuple[Part, str], ...] = (("train", "train.tsv"), ("dev", "dev.tsv"), ("test", "test.tsv"))
    hub_parts: tuple[tuple[Part, str], ...] = (("train", "train"), ("dev", "validation"), ("test", "test"))
    submission: tuple[tuple[Part, str], ...] = ()
    """Test sets and the submission's file for each; empty: the task's name."""
    problem: Problem = "single"
    range: tuple[float, float] = (0.0, 0.0)
    """Of scores."""
    broken: Literal["error", "skip"] = "error"
    """What to do with a row of too few columns: one official file has some, and everybody leaves them out."""
    folder: str = ""
    """Where its files are, if not in a folder of its name."""
    taught_by: str = ""
    """The task whose models answer this one, which has nothing to train on."""
    original: tuple[str, str] | None = None
    """The corpus that training and dev parts were made from, and the list of the pairs that are dev; some copies of
    the part that was made lack a row."""

    @property
    def scheme(self) -> Scheme:
        """What the labels are."""
        return Scheme(self.problem, self.labels)

    @property
    def best(self) -> str:
        """The score by which the best weights are chosen: the mean where the benchmark has two."""
        return self.scores[0] if len(self.scores) == 1 else "mean"

    @property
    def to_submit(self) -> tuple[tuple[Part, str], ...]:
        return self.submission or (("test", f"{self.name}.tsv"),)


PAIR = ("sentence1", "sentence2")
NLI = ("entailment", "neutral", "contradiction")
IMPLIED = ("entailment", "not_entailment")

TASKS = {
    task.name.lower(): task
    for task in (
        Task(
            "CoLA", "cola", ("sentence",), ("sentence",), ("0", "1"), scores=("matthews",),
            header=("source", "label", "star", "sentence"),
        ),
        Task("SST-2", "sst2", ("sentence",), ("sentence",), ("0", "1")),
        Task(
            "MRPC", "mrpc", ("#1 String", "#2 String"), PAIR, ("0", "1"), label="Quality",
            scores=("f1", "accuracy"), original=("msr_paraphrase_train.txt", "dev_ids.tsv"),
        ),
        Task(
            "STS-B", "stsb", PAIR, PAIR, ("score",), label="score", scores=("pearson", "spearman"),
            problem="regression", range=(0.0, 5.0),
        ),
        Task(
            "QQP", "qqp", ("question1", "question2"), ("question1", "question2"), ("0", "1"),
            label="is_duplicate", scores=("f1", "accuracy"), index="id", broken="skip",
        ),
        Task(
            "MNLI", "mnli", PAIR, ("premise", "hypothesis"), NLI, label="gold_label",
            files=(
                ("train", "train.tsv"), ("dev", "dev_matched.tsv"), ("dev_mismatched", "dev_mismatched.tsv"),
                ("test", "test_matched.tsv"), ("test_mismatched", "test_mismatched.tsv"),
            ),
            hub_parts=(
                ("train", "train"), ("dev", "validation_matched"), ("dev_mismatched", "validation_mismatched"),
                ("test", "test_matched"), ("test_mismatched", "test_mismatched"),
            ),
            submission=(("test", "MNLI-m.tsv"), ("test_mismatched", "MNLI-mm.tsv")),
        ),
        Task("QNLI", "qnli", ("question", "sentence"), ("question", "sentence"), IMPLIED),
        Task("RTE", "rte", PAIR, PAIR, IMPLIED),
        Task("WNLI", "wnli", PAIR, PAIR, ("0", "1")),
        Task(
            "AX", "ax", PAIR, ("premise", "hypothesis"), NLI, scores=("matthews",),
            files=(("test", "diagnostic.tsv"),),
            hub_parts=(("test", "test"),), folder="diagnostic", taught_by="MNLI",
        ),
    )
}  # fmt: skip


def find_task(name: str) -> Task:
    """A task by its name, however it is written: SST-2, sst-2 or sst2."""
    wanted = name.lower().replace("_", "-")
    for key, task in TASKS.items():
        if wanted in (key, task.hub):
            return task
    raise InputError(f"{name!r} is no task of GLUE; there are {', '.join(TASKS)}{near(wanted, list(TASKS))}")
