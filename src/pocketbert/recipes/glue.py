"""Fine-tune an encoder on a task of GLUE, with the official scores.

    pocketbert train glue --task sst-2 --data_dir glue --preset mobilebert --model FOLDER --output_dir sst-2

--data_dir is the folder of the official files, or `glue` for the hub's set. For RTE, MRPC and STS-B a model that has
learnt MNLI is a better start: give its folder as --model; its encoder is kept, and a new head put on. Expect, on the
test sets, of MobileBERT (arXiv 2004.02984, table 4): SST-2 92.8, CoLA 50.5, MRPC 88.8, STS-B 84.4, RTE 66.2, QNLI
90.6, QQP 70.2, MNLI 83.3 / 82.6. --do_predict writes predictions for the test sets as GLUE's server takes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pocketbert.errors import InputError
from pocketbert.recipes._fine_tune import logger
from pocketbert.recipes._sentences import SentenceSettings, train_sentences
from pocketbert.tasks.classify.examples import Example
from pocketbert.tasks.glue.benchmark import TASKS, Part, Task, find_task
from pocketbert.tasks.glue.metrics import evaluate
from pocketbert.tasks.glue.reading import parts_of, read_part
from pocketbert.tasks.glue.submission import write_submission
from pocketbert.train.command import main
from pocketbert.train.fields import setting
from pocketbert.train.together import processes
from pocketbert.train.trials.run import searchable

SUFFIXES: dict[Part, str] = {"dev": "", "dev_mismatched": "_mm"}


@dataclass(frozen=True, kw_only=True)
class Settings(SentenceSettings):
    """Which task, and where its files are."""

    task: str = setting(help="cola, sst-2, mrpc, sts-b, qqp, mnli, qnli, rte or wnli")
    data_dir: str = setting("glue", help="the folder of GLUE, or of the task; glue: the hub's set")
    do_predict: bool = setting(
        False, help="write predictions for the test sets to output_dir/submission", flag_value="true"
    )


@searchable
def run(settings: Settings) -> dict[str, float]:
    """Train, evaluate, and write the model to output_dir."""
    task = find_task(settings.task)
    if task.taught_by:
        raise InputError(
            f"{task.name} has nothing to train on; train {task.taught_by} with --do_predict, which answers it too"
        )
    learnt = read_part(task, settings.data_dir, "train")
    measured = {
        part: read_part(task, settings.data_dir, part) for part in SUFFIXES if part in dict(task.files)
    }

    def measure(texts: Sequence[Example], logits: NDArray[np.float32]) -> dict[str, float]:
        return evaluate(task, [text.label for text in texts], logits)

    scores, say = train_sentences(
        settings,
        task.scheme,
        learnt.examples[: settings.max_train_samples],
        {SUFFIXES[part]: found.examples[: settings.max_eval_samples] for part, found in measured.items()},
        measure=measure,
        best=task.best,
        files=[part.file for part in (learnt, *measured.values()) if part.file is not None],
        title=f"GLUE: {task.name}.",
    )
    if settings.do_predict and processes().is_main_process:
        folder = settings.output_dir / "submission"
        for each in (task, *(other for other in TASKS.values() if other.taught_by == task.name)):
            for part in _tests(each, settings.data_dir):
                tested = read_part(each, settings.data_dir, part)
                write_submission(each, folder, tested.indices, say(tested.examples), part=part)
    return scores


def _tests(task: Task, data: str) -> list[Part]:
    """The test sets whose files are there; that there are none is said, and no reason to lose the scores."""
    try:
        found = parts_of(task, data, tuple(name for name, _ in task.to_submit))
    except InputError:
        found = []
    if not found:
        logger.warning(
            "%s: no test set of %s is there, so no predictions are written for it", data, task.name
        )
    return found


if __name__ == "__main__":
    raise SystemExit(main(__file__, Settings, run))
