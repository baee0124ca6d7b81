"""What every architecture's config shares: one frozen dataclass each, Hugging Face's names at the door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, Literal, TypeVar, get_args, get_origin, get_type_hints

from pocketbert.errors import ConfigError
from pocketbert.model.layers import Activation

C = TypeVar("C", bound="Config")


@dataclass(frozen=True, kw_only=True)
class Config:
    """The fields that every encoder has. Subclasses set defaults that are a real model."""

    model_type: ClassVar[str]
    renamed: ClassVar[Mapping[str, str]] = {}
    """Our names of fields to Hugging Face's, where they differ."""
    assumed: ClassVar[Mapping[str, Any]] = {}
    """What transformers takes where config.json is silent, if that is not our default; under our names."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    hidden_act: Activation = "gelu"
    hidden_dropout_prob: float = 0.1
    layer_norm_eps: float = 1e-12
    initializer_range: float = 0.02
    pad_token_id: int = 0
    pruned_heads: tuple[tuple[int, tuple[int, ...]], ...] = ()  # (block, its heads that are gone)

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.endswith(("_size", "_layers", "_heads", "_networks", "_embeddings")) and isinstance(
                value, int
            ):
                self._check(value >= 1, field.name, value, "a whole number of 1 or more")
            if field.name.endswith("_prob"):
                self._check(
                    0.0 <= value < 1.0, field.name, value, "a probability from 0 up to, not including, 1"
                )
        self._check(
            0 <= self.pad_token_id < self.vocab_size,
            "pad_token_id",
            self.pad_token_id,
            "an id of the vocabulary",
        )

    @property
    def longest(self) -> int | None:
        """How many tokens fit into one sequence; None for any number."""
        return None

    def at_most(self, length: int) -> int:
        """`length`, or as many tokens as fit into one sequence if those are fewer."""
        return min(length, self.longest or length)

    def _check(self, ok: bool, name: str, value: object, allowed: str) -> None:
        if not ok:
            raise ConfigError(f"{type(self).__name__}: {name} is {value!r}; it must be {allowed}")

    @classmethod
    def from_hf(cls: type[C], data: Mapping[str, Any]) -> C:
        """Read what a Hugging Face `config.json` says; keys that are none of ours are left alone."""
        hints = get_type_hints(cls)
        values: dict[str, Any] = {}
        for field in fields(cls):
            name = cls.renamed.get(field.name, field.name)
            if field.name == "pruned_heads":
                values[field.name] = _read_pruned(data.get("pruned_heads") or {})
            elif data.get(name) is not None:
                values[field.name] = _typed(cls.__name__, name, data[name], hints[field.name])
            elif field.name in cls.assumed:
                values[field.name] = cls.assumed[field.name]
            elif field.default is MISSING:
                raise ConfigError(f"{cls.__name__}: {name} is missing from the configuration")
        return cls(**values)

    def to_hf(self) -> dict[str, Any]:
        """The same as a Hugging Face `config.json` says it."""
        data: dict[str, Any] = {"model_type": self.model_type}
        for field in fields(self):
            if field.name != "pruned_heads":
                data[self.renamed.get(field.name, field.name)] = getattr(self, field.name)
        if self.pruned_heads:
            data["pruned_heads"] = {str(block): list(heads) for block, heads in self.pruned_heads}
        return data


@dataclass(frozen=True, kw_only=True)
class TableConfig(Config):
    """What encoders with a learned table of positions have besides."""

    max_position_embeddings: int = 512
    attention_probs_dropout_prob: float = 0.1

    @property
    def first_position(self) -> int:
        """The row of the table that the first token gets."""
        return 0

    @property
    def longest(self) -> int:
        return self.max_position_embeddings - self.first_position


def check_heads(config: Config, name: str, width: int) -> None:
    """Every head must get the same share of the width that attention works in."""
    if width % config.num_attention_heads:
        raise ConfigError(
            f"{type(config).__name__}: {name} is {width}; it must be a multiple of num_attention_heads, "
            f"{config.num_attention_heads}"
        )


def _typed(owner: str, name: str, value: Any, kind: Any) -> Any:
    """`value` as `kind`, or an error that says what is allowed."""
    if get_origin(kind) is Literal:
        allowed = get_args(kind)
        if isinstance(value, str) and value in allowed:
            return value
        raise ConfigError(f"{owner}: {name} is {value!r}; it must be one of {', '.join(map(repr, allowed))}")
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is float and number:
        return float(value)
    if kind is int and number and float(value).is_integer():
        return int(value)
    if kind in (bool, str) and isinstance(value, kind):
        return value
    raise ConfigError(f"{owner}: {name} is {value!r}; it must be of the type {kind.__name__}")


def _read_pruned(data: Any) -> tuple[tuple[int, tuple[int, ...]], ...]:
    try:
        return tuple(
            sorted((int(block), tuple(sorted(int(head) for head in heads))) for block, heads in data.items())
        )
    except (AttributeError, TypeError, ValueError):
        raise ConfigError(
            f"pruned_heads is {data!r}; it must map a block's number to a list of head numbers"
        ) from None
