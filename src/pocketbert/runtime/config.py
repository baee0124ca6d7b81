"""What a model folder's config.json says that the runtime must know: how much is read at once, labels, the head."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pocketbert.errors import CheckpointError, ConfigError

LARGEST = 1 << 20  # bytes
Problem = Literal["single", "multi", "regression"]
PROBLEMS: dict[object, Problem] = {
    "single_label_classification": "single",
    "multi_label_classification": "multi",
    "regression": "regression",
}
# How the class that a folder was saved from ends -> what such a model is, in words.
HEADS = {
    "ForSequenceClassification": "a classifier",
    "ForTokenClassification": "a tagger",
    "ForQuestionAnswering": "a reader",
    "ForQuestionAnsweringSimple": "a reader",
    "ForMaskedLM": "a masked language model",
    "ForPreTraining": "a masked language model",
    "ForMultipleChoice": "a choice between texts",
    "ForNextSentencePrediction": "a judge of next sentences",
    "LMHeadModel": "a permutation language model",
    "Model": "a bare encoder",
}


def read_config(path: Path) -> dict[str, Any]:
    """The settings of a model; none if there is no such file."""
    if not path.is_file():
        return {}
    try:
        with path.open("rb") as file:
            data = json.loads(file.read(LARGEST))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read as JSON ({error}); get it again") from error
    return data if isinstance(data, dict) else {}


def positions_of(data: Mapping[str, Any], path: Path) -> int | None:
    """How many tokens a model reads at once; None if config.json does not say, or there is no limit."""
    positions = data.get("max_position_embeddings")
    if positions is None:
        return None
    if not isinstance(positions, int) or isinstance(positions, bool) or positions < 1:
        raise ConfigError(
            f"{path}: max_position_embeddings is {positions!r}; it must be a whole number from 1 up"
        )
    if data.get("model_type") != "roberta":
        return positions
    padding = data.get("pad_token_id", 1)  # from which RoBERTa's positions count
    if not isinstance(padding, int) or not 0 <= padding < positions - 1:
        raise ConfigError(
            f"{path}: pad_token_id is {padding!r}; it must be a whole number that leaves some of {positions} positions"
        )
    return positions - padding - 1


def labels_of(data: Mapping[str, Any], path: Path) -> tuple[str, ...]:
    """The names of a model's labels, in the order of its outputs."""
    named = data.get("id2label", {"0": "LABEL_0", "1": "LABEL_1"})
    try:
        names = tuple(named[str(number)] for number in range(len(named)))
    except (KeyError, TypeError):
        names = ()
    if not names or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"{path}: id2label is {named!r}; it must map '0', '1', … to label names")
    return names


def problem_of(data: Mapping[str, Any], path: Path) -> Problem:
    """What a classifier's labels are; a single one without a word about it is a score, as in transformers."""
    given = data.get("problem_type")
    if given is None:
        return "regression" if len(labels_of(data, path)) == 1 else "single"
    if given not in PROBLEMS:
        allowed = ", ".join(map(repr, PROBLEMS))
        raise ConfigError(f"{path}: problem_type is {given!r}; it must be one of {allowed}")
    return PROBLEMS[given]


def head_of(data: Mapping[str, Any]) -> str | None:
    """How the class that a folder was saved from ends, if it is one of `HEADS`."""
    classes = data.get("architectures")
    if not isinstance(classes, list) or not classes or not isinstance(classes[0], str):
        return None
    # The longest ending first: "XLNetLMHeadModel" is no bare "Model".
    longest_first = sorted(HEADS, key=len, reverse=True)
    return next((ending for ending in longest_first if classes[0].endswith(ending)), None)


def check_head(data: Mapping[str, Any], path: Path, *wanted: str) -> None:
    """Refuse a model that was made for something else; one that does not say what for passes."""
    found = head_of(data)
    if found is not None and found not in wanted:
        raise CheckpointError(
            f"{path.parent} is {HEADS[found]} ({data['architectures'][0]}); {HEADS[wanted[0]]} is needed here: give a "
            f"model that was trained as one (…{wanted[0]})"
        )
