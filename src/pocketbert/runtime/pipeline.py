"""`pipeline(task)`: exported models called as transformers' pipelines are, without torch."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, overload

from pocketbert.errors import InputError
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
OTHER_NAMES = {"sentiment-analysis": "text-classification", "ner": "token-classification"}


@overload
def pipeline(
    task: Literal["question-answering"] = ..., model: Source | QuestionAnswerer = ..., **options: Any
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
def pipeline(task: str, model: Any = ..., **options: Any) -> Any: ...
def pipeline(
    task: str = "question-answering",
    model: Any = None,
    *,
    device: str | int | None = None,
    revision: str | None = None,
    precision: Precision | None = None,
    threads: int | None = None,
    engine: EngineName = "onnxruntime",
    **defaults: Any,
) -> Any:
    """A model that is called as transformers' is; arguments of the call that are given here are its defaults.

    `model` is a model folder, a hub name, or a `QuestionAnswerer`, `Classifier`, `Tagger`, `Filler` or `Features` that
    is loaded already; for question answering, None is the embedded reader.
    """
    name = OTHER_NAMES.get(task, task)
    if name not in TASKS:
        known = ", ".join(map(repr, (*TASKS, *OTHER_NAMES)))
        raise InputError(f"the task is {task!r}; there are {known}")
    if device not in (None, -1, "cpu"):
        raise InputError(f"device is {device!r}; this runtime works on the CPU: leave it out")
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
