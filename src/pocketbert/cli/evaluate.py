"""`pocketbert evaluate`: official scores of a model on a data set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from pocketbert.errors import InputError, require
from pocketbert.runtime.session import FILES

# Which options belong to which tasks; one that is given to another task is an error, not ignored.
OPTIONS = {
    "squad": {"half", "overlap", "fit"},
    "glue": {"name"},
    "classify": {"text", "text_pair", "label", "columns"},
    "tags": {"format", "column"},
    "choice": {"text", "candidates", "label", "columns"},
    "sts": {"texts", "label", "dimensions", "split"},
    "pairs": {"texts", "label", "dimensions", "split"},
    "triplets": {"texts", "dimensions", "split"},
    "mining": {"texts", "dimensions", "split"},
    "retrieval": {"baseline", "split", "dimensions"},
}
SENTENCES = ("sts", "pairs", "triplets", "mining", "retrieval")


@click.command(name="evaluate")
@click.argument("model", metavar="MODEL")
@click.option("--task", type=click.Choice(list(OPTIONS)), required=True, help="What the model is to do.")
@click.option("--data", "files", multiple=True, required=True,
              help="A file or a data set's name; repeatable. For glue its folder, or glue for the hub's; for "
              "retrieval a folder of BEIR or Cranfield, a file of ReQA, or corpus, queries, judgements.")  # fmt: skip
@click.option("--precision", type=click.Choice(list(FILES)),
              help="Run the model's ONNX file of this precision in the light runtime, instead of torch.")  # fmt: skip
@click.option("--window", type=int,
              help="Tokens that are read at once; by default as in qa_config.json or in training.")  # fmt: skip
@click.option("--limit", type=int, help="Only the first so many questions, texts or sentences.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for predictions and plots.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--half", type=click.Choice(["all", "fit", "report"]),
              help="squad: by sorted title every odd article (fit), every even one (report), or all.")  # fmt: skip
@click.option("--overlap", type=int, help="squad: tokens that neighbouring windows share.")
@click.option("--fit", is_flag=True, default=None,
              help="squad: fit the calibration on this data and save it in MODEL's qa_config.json.")  # fmt: skip
@click.option("--name", help="glue: the task, such as sst-2; by default the one that MODEL was trained on.")
@click.option("--text", help="classify, choice: the column with the text.")
@click.option("--text_pair", help="classify: the column with the second text.")
@click.option("--candidates", help="choice: the columns with the texts to choose from (a,b,c).")
@click.option(
    "--label", help="classify, choice, sts, pairs: the column with the label, the labels or the score."
)
@click.option(
    "--columns", help="classify, choice: names of the columns (a,b,c), for files that do not say them."
)
@click.option("--texts", help="sts, pairs, triplets, mining: the columns with the texts (a,b or a,b,c).")
@click.option("--dimensions", type=int, help="sentence vectors: only their first so many dimensions.")
@click.option(
    "--baseline", type=click.Choice(["bm25"]), help="retrieval: the scores of word matching beside."
)
@click.option("--split", help="sts, pairs, triplets, mining: which part of a data set of the hub; validation if not "
              "given. retrieval: which judgements of a BEIR folder; test if not given.")  # fmt: skip
@click.option("--format", help="tags: conll or conllu; by default by the file's ending.")
@click.option(
    "--column",
    help="tags: the column with the tag, a number from 2, upos, xpos, deprel, or a table's own name.",
)
def command(
    model: str, task: str, files: tuple[str, ...], out: Path | None, as_json: bool, **options: Any
) -> None:
    """Measure a model with the official scores of a task.

    MODEL is a model folder or a name on the hub. For a reader that has been calibrated, the scores are those of its
    own decisions; `best_f1` is what the best threshold for this very data would give. With --out, glue writes
    predictions for the test sets as its server takes them; classify, tags and choice write theirs beside the truth.
    """
    require("torch", extra="lab")
    own = {name: value for name, value in options.items() if value is not None}
    for option in own:
        owners = [other for other, names in OPTIONS.items() if option in names]
        if owners and task not in owners:
            raise InputError(
                f"--{option} is for --task {' or '.join(owners)}; --task {task} does not have it"
            )
    if task == "squad":
        from pocketbert.cli.evaluate_squad import measure_squad

        scores = measure_squad(model, files, out, **own)
    elif task in SENTENCES:
        from pocketbert.cli.evaluate_sentences import measure

        scores = measure(task, model, files, out, **own)
    else:
        from pocketbert.cli.evaluate_labels import MEASURES

        scores = MEASURES[task](model, files, out, **own)
    if as_json:
        click.echo(json.dumps(scores, indent=2))
        return
    width = max(map(len, scores))
    for name, value in scores.items():
        click.echo(f"{name:<{width}}  {value if isinstance(value, int | str) else format(value, '.4f')}")
