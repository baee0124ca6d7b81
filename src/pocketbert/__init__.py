"""BERT-class reading in your pocket.

The public names are listed here and imported when first used, so that `import pocketbert` costs next to
nothing and never imports torch, onnxruntime or transformers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pocketbert.errors import (
        CheckpointError,
        ConfigError,
        ExportError,
        HubError,
        InputError,
        MissingExtraError,
        PocketbertError,
        TokenizerError,
        TrainingError,
    )
    from pocketbert.heads import build, load
    from pocketbert.model import (
        AlbertConfig,
        BertConfig,
        DistilBertConfig,
        MobileBertConfig,
        RobertaConfig,
        XLNetConfig,
        preset,
    )
    from pocketbert.runtime.answer import Answer
    from pocketbert.runtime.classify import Classifier
    from pocketbert.runtime.features import Features
    from pocketbert.runtime.fill import Filler
    from pocketbert.runtime.pipeline import pipeline
    from pocketbert.runtime.questions import QuestionAnswerer
    from pocketbert.runtime.tags import Tagger
    from pocketbert.text.tokenizer import Tokenizer
    from pocketbert.text.windows import windows

__version__ = "0.1.0.dev0"

__all__ = [
    "AlbertConfig",
    "Answer",
    "BertConfig",
    "CheckpointError",
    "Classifier",
    "ConfigError",
    "DistilBertConfig",
    "ExportError",
    "Features",
    "Filler",
    "HubError",
    "InputError",
    "MissingExtraError",
    "MobileBertConfig",
    "PocketbertError",
    "QuestionAnswerer",
    "RobertaConfig",
    "Tagger",
    "Tokenizer",
    "TokenizerError",
    "TrainingError",
    "XLNetConfig",
    "__version__",
    "build",
    "load",
    "pipeline",
    "preset",
    "windows",
]

_HOMES = {
    "AlbertConfig": "pocketbert.model",
    "Answer": "pocketbert.runtime.answer",
    "BertConfig": "pocketbert.model",
    "CheckpointError": "pocketbert.errors",
    "Classifier": "pocketbert.runtime.classify",
    "ConfigError": "pocketbert.errors",
    "DistilBertConfig": "pocketbert.model",
    "ExportError": "pocketbert.errors",
    "Features": "pocketbert.runtime.features",
    "Filler": "pocketbert.runtime.fill",
    "HubError": "pocketbert.errors",
    "InputError": "pocketbert.errors",
    "MissingExtraError": "pocketbert.errors",
    "MobileBertConfig": "pocketbert.model",
    "PocketbertError": "pocketbert.errors",
    "QuestionAnswerer": "pocketbert.runtime.questions",
    "RobertaConfig": "pocketbert.model",
    "Tagger": "pocketbert.runtime.tags",
    "Tokenizer": "pocketbert.text.tokenizer",
    "TokenizerError": "pocketbert.errors",
    "TrainingError": "pocketbert.errors",
    "XLNetConfig": "pocketbert.model",
    "build": "pocketbert.heads",
    "load": "pocketbert.heads",
    "pipeline": "pocketbert.runtime.pipeline",
    "preset": "pocketbert.model",
    "windows": "pocketbert.text.windows",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        allowed = ", ".join(__all__)
        raise AttributeError(f"module 'pocketbert' has no attribute {name!r}; its names are: {allowed}")
    from pocketbert.errors import require

    value = getattr(require(_HOMES[name], extra="lab"), name)
    globals()[name] = value  # the next access no longer comes here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
