"""How a model makes one vector of a sentence: the files of a sentence-transformers folder, read and written.

    modules.json                        which steps there are, and where the settings of each lie
    sentence_bert_config.json           how many tokens are read
    1_Pooling/config.json               how the vectors of the tokens become one
    2_Dense/config.json                 a layer after that, if there is one; its weights are in model.safetensors beside
    config_sentence_transformers.json   texts to put before a sentence (prompts), and how two vectors are compared

Every version from 2 on writes these files, with other names for the same things; all are read. The oldest names are
written, because every version reads those. A step that we cannot take is refused by its name: vectors that are
nearly right would be worse than none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from pocketbert.errors import ConfigError

Pooling = Literal["mean", "cls", "max", "mean-sqrt"]
Activation = Literal["identity", "tanh"]
Similarity = Literal["cosine", "dot", "euclidean", "manhattan"]

MODULES = "modules.json"
PROMPTS = "config_sentence_transformers.json"
READING = "sentence_bert_config.json"
OLDER_READING = tuple(
    f"sentence_{family}_config.json"
    for family in ("roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
WEIGHTS = "model.safetensors"

OLD_MODES: dict[str, Pooling] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean-sqrt",
}
NEW_MODES: dict[str, Pooling] = {
    "cls": "cls",
    "mean": "mean",
    "max": "max",
    "mean_sqrt_len_tokens": "mean-sqrt",
}
ACTIVATIONS: dict[str, Activation] = {
    "torch.nn.modules.linear.Identity": "identity",
    "torch.nn.modules.activation.Tanh": "tanh",
}
UNLIMITED = 1_000_000  # transformers writes 10^30 for a tokenizer without a limit


@dataclass(frozen=True)
class Dense:
    """A layer after pooling: activation(weight · vector + bias).

    Its file holds `linear.weight` (out, in) and, with a bias, `linear.bias` (out).
    """

    in_features: int
    out_features: int
    bias: bool = True
    activation: Activation = "identity"
    file: str = f"2_Dense/{WEIGHTS}"
    """Where its weights lie in the model folder."""

    def __post_init__(self) -> None:
        _check_count("in_features", self.in_features)
        _check_count("out_features", self.out_features)
        _check_choice("activation", self.activation, get_args(Activation))
        parts = Path(self.file).parts
        if len(parts) != 2 or ".." in parts or Path(self.file).is_absolute() or parts[1] != WEIGHTS:
            raise ConfigError(
                f"file is {self.file!r}; the weights of a Dense layer are a {WEIGHTS} in a folder of the model"
            )


@dataclass(frozen=True)
class SentenceConfig:
    """The settings of a model that gives sentence vectors; the defaults are those of all-MiniLM-L6-v2."""

    dimensions: int = 384
    """Numbers in a vector, after the Dense layer if there is one."""
    pooling: Pooling = "mean"
    normalize: bool = True
    """Whether vectors are made one long, so that their dot product is their cosine."""
    max_seq_length: int | None = 256
    """Tokens of a text that are read, special ones included; None is as many as the encoder can."""
    dense: Dense | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Texts by name that are put before a sentence, such as query and document."""
    default_prompt: str | None = None
    """The name of the prompt that every sentence gets unless another is asked for."""
    similarity: Similarity = "cosine"
    """How two vectors of the model are meant to be compared."""
    lower_case: bool = False
    """Whether texts are put into lower case before the tokenizer has them."""

    def __post_init__(self) -> None:
        _check_count("dimensions", self.dimensions)
        _check_choice("pooling", self.pooling, get_args(Pooling))
        _check_choice("similarity", self.similarity, get_args(Similarity))
        for name in ("normalize", "lower_case"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name} is {getattr(self, name)!r}; it must be true or false")
        if self.max_seq_length is not None:
            _check_count("max_seq_length", self.max_seq_length, least=3)
        if self.dense is not None and self.dense.out_features != self.dimensions:
            raise ConfigError(
                f"dimensions is {self.dimensions}, and the Dense layer gives {self.dense.out_features}; "
                "they must be the same"
            )
        for name, prompt in self.prompts.items():
            if not isinstance(name, str) or not isinstance(prompt, str):
                raise ConfigError(f"the prompt {name!r} is {prompt!r}; names and prompts must be texts")
        if self.default_prompt is not None and self.default_prompt not in self.prompts:
            known = ", ".join(self.prompts) or "there are none"
            raise ConfigError(f"default_prompt is {self.default_prompt!r}; the prompts are: {known}")

    @property
    def width(self) -> int:
        """Numbers in the vector of a token, which are pooled."""
        return self.dimensions if self.dense is None else self.dense.in_features


def read_sentence_config(folder: str | os.PathLike[str]) -> SentenceConfig | None:
    """The settings of a sentence-transformers folder; None if the folder is no such thing."""
    folder = Path(folder)
    if not (folder / MODULES).is_file():
        return None
    general = _fields(folder / PROMPTS, missing={})
    if general.get("model_type") == "CrossEncoder":
        return None  # a pair in and a score out: a classifier, whose config.json says all
    steps = _steps(folder)
    pooling, width = _pooling(folder / steps["Pooling"] / "config.json")
    dense = _dense(folder, steps["Dense"]) if "Dense" in steps else None
    if dense is not None and dense.in_features != width:
        raise ConfigError(
            f"{folder / MODULES}: Pooling gives {width} numbers and Dense takes {dense.in_features}; "
            "they must be the same"
        )
    reading = _fields(_reading_file(folder), missing={})
    try:
        return SentenceConfig(
            dimensions=width if dense is None else dense.out_features,
            pooling=pooling,
            normalize="Normalize" in steps,
            max_seq_length=_limit(folder, reading),
            dense=dense,
            prompts=general.get("prompts") or {},
            default_prompt=general.get("default_prompt_name"),
            similarity=general.get("similarity_fn_name") or "cosine",
            lower_case=reading.get("do_lower_case") or False,
        )
    except ConfigError as error:
        raise ConfigError(f"{folder}: {error}") from error


def write_sentence_config(folder: str | os.PathLike[str], config: SentenceConfig) -> None:
    """Write the settings into a model folder; the weights of a Dense layer are the caller's, at `dense.file`."""
    folder = Path(folder)
    steps = [("Transformer", ""), ("Pooling", "1_Pooling")]
    pooled = {mode: config.pooling == how for mode, how in OLD_MODES.items()}
    _write(folder / "1_Pooling/config.json", {"word_embedding_dimension": config.width, **pooled})
    if config.dense is not None:
        place = Path(config.dense.file).parent.as_posix()
        steps.append(("Dense", place))
        activation = next(name for name, how in ACTIVATIONS.items() if how == config.dense.activation)
        _write(
            folder / place / "config.json",
            {
                "in_features": config.dense.in_features,
                "out_features": config.dense.out_features,
                "bias": config.dense.bias,
                "activation_function": activation,
            },
        )
    if config.normalize:
        steps.append(("Normalize", f"{len(steps)}_Normalize"))
        (folder / steps[-1][1]).mkdir(parents=True, exist_ok=True)
    _write(folder / READING, {"max_seq_length": config.max_seq_length, "do_lower_case": config.lower_case})
    _write(
        folder / PROMPTS,
        {
            "prompts": dict(config.prompts),
            "default_prompt_name": config.default_prompt,
            "similarity_fn_name": config.similarity,
        },
    )
    # Last: a folder without it is no sentence model yet, and never half of one.
    _write(
        folder / MODULES,
        [
            {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for number, (kind, path) in enumerate(steps)
        ],
    )


def _steps(folder: Path) -> dict[str, str]:
    """Kind of module -> its folder, if they are what we can do: Transformer, Pooling, perhaps Dense and Normalize."""
    path = folder / MODULES
    entries = _json(path)
    if not isinstance(entries, list):
        raise ConfigError(f"{path}: it is no list of modules")
    found: list[tuple[str, str]] = []
    for entry in entries:
        if not isinstance(entry, dict) or not all(
            isinstance(entry.get(key), str) for key in ("path", "type")
        ):
            raise ConfigError(f"{path}: an entry is {entry!r}; a module has a path and a type")
        package, _, kind = entry["type"].rpartition(".")
        if package.split(".")[0] != "sentence_transformers" or kind not in MAY_FOLLOW:
            raise ConfigError(
                f"{path}: the module {entry['type']} cannot be used here; what can: {', '.join(MAY_FOLLOW)}"
            )
        if Path(entry["path"]).is_absolute() or ".." in Path(entry["path"]).parts:
            raise ConfigError(f"{path}: the path {entry['path']!r} leaves the model folder")
        found.append((kind, entry["path"]))
    kinds = [kind for kind, _ in found]
    before = [None, *kinds]
    if "Pooling" not in kinds or any(
        last not in MAY_FOLLOW[kind] for last, kind in zip(before, kinds, strict=False)
    ):
        raise ConfigError(
            f"{path}: the modules are {', '.join(kinds) or 'none'}; what can be used is Transformer, Pooling, then "
            "perhaps Dense, then perhaps Normalize, each once"
        )
    if found[0][1]:
        raise ConfigError(
            f"{path}: the encoder lies in {found[0][1]}; move its files up to {folder} and make its path empty"
        )
    return dict(found)


MAY_FOLLOW: dict[str, tuple[str | None, ...]] = {
    "Transformer": (None,),
    "Pooling": ("Transformer",),
    "Dense": ("Pooling",),
    "Normalize": ("Pooling", "Dense"),
}


def _pooling(path: Path) -> tuple[Pooling, int]:
    """How tokens are pooled, and how many numbers the vector of each has."""
    fields = _fields(path)
    if "pooling_mode" in fields:
        mode = fields["pooling_mode"]
        names = mode if isinstance(mode, list) else [mode]
    else:
        names = [name for name, on in fields.items() if name.startswith("pooling_mode_") and on] or [
            "pooling_mode_mean_tokens"
        ]
    known = NEW_MODES if "pooling_mode" in fields else OLD_MODES
    if len(names) != 1 or names[0] not in known:
        given = ", ".join(map(str, names))
        raise ConfigError(f"{path}: the module Pooling has {given}; it can have one of {', '.join(known)}")
    if fields.get("include_prompt", True) is not True:
        raise ConfigError(
            f"{path}: the module Pooling leaves prompts out (include_prompt); it can only keep them"
        )
    width = fields.get("embedding_dimension", fields.get("word_embedding_dimension"))
    _check_count(f"{path}: embedding_dimension", width)
    return known[names[0]], int(str(width))


def _dense(folder: Path, place: str) -> Dense:
    path = folder / place / "config.json"
    fields = _fields(path)
    activation = fields.get("activation_function", "torch.nn.modules.activation.Tanh")
    if activation not in ACTIVATIONS:
        raise ConfigError(
            f"{path}: the module Dense has the activation {activation}; it can have {', '.join(ACTIVATIONS)}"
        )
    names = {fields.get(f"module_{end}_name") or "sentence_embedding" for end in ("input", "output")}
    if names != {"sentence_embedding"} or fields.get("use_residual", False) is not False:
        raise ConfigError(
            f"{path}: the module Dense must take and give sentence_embedding, without use_residual; it has {fields}"
        )
    if not (folder / place / WEIGHTS).is_file():
        raise ConfigError(
            f"{folder / place}: there is no {WEIGHTS}, and no other weights are read; save the model again with a "
            "newer sentence-transformers"
        )
    if not isinstance(fields.get("bias", True), bool):
        raise ConfigError(f"{path}: bias is {fields['bias']!r}; it must be true or false")
    try:
        return Dense(
            fields.get("in_features", 0),
            fields.get("out_features", 0),
            fields.get("bias", True),
            ACTIVATIONS[activation],
            f"{Path(place).as_posix()}/{WEIGHTS}",
        )
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def _reading_file(folder: Path) -> Path:
    names = [name for name in (READING, *OLDER_READING) if (folder / name).is_file()]
    return folder / (names[0] if names else READING)


def _limit(folder: Path, reading: Mapping[str, Any]) -> int | None:
    """From version 5 on the length stands in tokenizer_config.json alone."""
    limit = reading.get("max_seq_length")
    if limit is None:
        limit = _fields(folder / "tokenizer_config.json", missing={}).get("model_max_length")
    return None if isinstance(limit, (int, float)) and limit >= UNLIMITED else limit


def _fields(path: Path, *, missing: dict[str, Any] | None = None) -> dict[str, Any]:
    if missing is not None and not path.is_file():
        return missing
    values = _json(path)
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: it holds a {type(values).__name__}; an object was expected")
    return values


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file, and {MODULES} asks for it") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: cannot be read as JSON ({error})") from error


def _write(path: Path, values: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.draft")
    draft.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    draft.replace(path)


def _check_count(name: str, value: object, *, least: int = 1) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigError(f"{name} is {value!r}; it must be a whole number from {least} up")


def _check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(f"{name} is {value!r}; it must be one of {', '.join(allowed)}")
