"""`pipeline(task)`: exported models called as transformers' pipelines are, without torch."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from pocketbert.errors import InputError
from pocketbert.runtime.config import HEADS, head_of, read_config
from pocketbert.runtime.pipelines.arguments import made_of
from pocketbert.runtime.session import EngineName, Precision

if TYPE_CHECKING:
    from pocketbert.runtime.classify import Classifier
    from pocketbert.runtime.features import Features
    from pocketbert.runtime.fill import Filler
    from pocketbert.runtime.pipelines.masks import FillMaskPipeline
    from pocketbert.runtime.pipelines.questions import QuestionAnsweringPipeline
    from pocketbert.runtime.pipelines.texts import TextClassificationPipeline
    from pocketbert.runtime.pipelines.tokens import TokenClassificationPipeline
    from pocketbert.runtime.pipelines.vectors import FeatureExtractionPipeline
    from pocketbert.runtime.questions import QuestionAnswerer
    from pocketbert.runtime.tags import Tagger

    Source = str | os.PathLike[str] | None

# Task -> (module and class of the pipeline, module and class of what it runs); imported when asked for.
TASKS = {
    "question-answering": ("questions.QuestionAnsweringPipeline", "questions.QuestionAnswerer"),
    "text-classification": ("texts.TextClassificationPipeline", "classify.Classifier"),
    "token-classification": ("tokens.TokenClassificationPipeline", "tags.Tagger"),
    "fill-mask": ("masks.FillMaskPipeline", "fill.Filler"),
    "feature-extraction": ("vectors.FeatureExtractionPipeline", "features.Features"),
}
# How the class that a folder was saved from ends -> the task that is taken if none is named.
HEAD_TASKS = {
    "ForQuestionAnswering": "question-answering",
    "ForQuestionAnsweringSimple": "question-answering",
    "ForSequenceClassification": "text-classification",
    "ForTokenClassification": "token-classification",
    "ForMaskedLM": "fill-mask",
    "ForPreTraining": "fill-mask",
    "Model": "feature-extraction",
}
OTHER_NAMES = {"sentiment-analysis": "text-classification", "ner": "token-classification"}


@overload
def pipeline(
    task: None = ..., model: QuestionAnswerer | None = ..., **options: Any
) -> QuestionAnsweringPipeline: ...
@overload
def pipeline(
    task: Literal["question-answering"], model: Source | QuestionAnswerer = ..., **options: Any
) -> QuestionAnsweringPipeline: ...
@overload
def pipeline(
    task: Literal["text-classification", "sentiment-analysis"],
    model: Source | Classifier = ...,
    **options: Any,
) -> TextClassificationPipeline: ...
@overload
def pipeline(
    task: Literal["token-classification", "ner"], model: Source | Tagger = ..., **options: Any
) -> TokenClassificationPipeline: ...
@overload
def pipeline(
    task: Literal["fill-mask"], model: Source | Filler = ..., **options: Any
) -> FillMaskPipeline: ...
@overload
def pipeline(
    task: Literal["feature-extraction"], model: Source | Features = ..., **options: Any
) -> FeatureExtractionPipeline: ...
@overload
def pipeline(task: str | None = ..., model: Any = ..., **options: Any) -> Any: ...
def pipeline(
    task: str | None = None,
    model: Any = None,
    *,
    tokenizer: str | os.PathLike[str] | None = None,
    dtype: Any = None,
    torch_dtype: Any = None,
    device: str | int | None = None,
    revision: str | None = None,
    precision: Precision | None = None,
    threads: int | None = None,
    engine: EngineName = "onnxruntime",
    **defaults: Any,
) -> Any:
    """A model that is called as transformers' is; arguments of the call that are given here are its defaults.

    `model` is a model folder, a hub name, or a `QuestionAnswerer`, `Classifier`, `Tagger`, `Filler` or `Features` that
    is loaded already; for question answering, None is the embedded reader. Without a `task` the config.json of a model
    folder says it; where nothing says it, it is question answering. `tokenizer`, `dtype` and `torch_dtype` are there
    for programs that name them: a model's own folder, and float32. `num_workers` has no effect.
    """
    task = _task_of(model) if task is None else task
    name = OTHER_NAMES.get(task, task)
    if name not in TASKS:
        known = ", ".join(map(repr, (*TASKS, *OTHER_NAMES)))
        raise InputError(f"the task is {task!r}; there are {known}")
    if device not in (None, -1, "cpu"):
        raise InputError(f"device is {device!r}; this runtime works on the CPU: leave it out")
    _check_tokenizer(tokenizer, model)
    for argument, value in (("dtype", dtype), ("torch_dtype", torch_dtype)):
        if value is not None and str(value).removeprefix("torch.") != "float32":
            raise InputError(
                f"{argument} is {value!r}; results are float32 here: leave it out, and choose the file by precision="
            )
    place, made = TASKS[name]
    module, kind = place.split(".")
    pipelines = import_module(f"pocketbert.runtime.pipelines.{module}")
    made_of(pipelines.Arguments, defaults)  # what is wrong with them is said before a model is loaded
    home, runner = made.split(".")
    loaded = getattr(import_module(f"pocketbert.runtime.{home}"), runner)
    if not isinstance(model, loaded):
        if model is None and name != "question-answering":
            raise InputError(
                f"the model is None; for {name!r} give a folder or a hub name: pipeline({name!r}, model=…)"
            )
        model = loaded.load(model, precision=precision, threads=threads, engine=engine, revision=revision)
    return getattr(pipelines, kind)(model, **defaults)


def _task_of(model: Any) -> str:
    """The task of a model that is loaded already, or of a folder, if it says which."""
    kinds = {kind.__name__ for kind in type(model).__mro__}
    for task, (_, made) in TASKS.items():
        if made.split(".")[1] in kinds:
            return task
    if not isinstance(model, (str, os.PathLike)) or not (Path(model) / "config.json").is_file():
        return "question-answering"
    head = head_of(read_config(Path(model) / "config.json"))
    if head is not None and head not in HEAD_TASKS:
        raise InputError(f"{model} is {HEADS[head]}, and no pipeline runs that; there are {', '.join(TASKS)}")
    return "question-answering" if head is None else HEAD_TASKS[head]


def _check_tokenizer(tokenizer: Any, model: Any) -> None:
    """Refuse a tokenizer that is not the model's own."""
    if tokenizer is None:
        return
    paths = (str, os.PathLike)
    if not isinstance(tokenizer, paths) or not isinstance(model, paths) or Path(tokenizer) != Path(model):
        raise InputError(
            f"tokenizer is {tokenizer!r}; a model runs with the tokenizer of its own folder: leave it out, or name the "
            "same folder as by model="
        )
