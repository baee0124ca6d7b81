"""The one door to transformers: any of its encoders, behind the interface of ours.

A foreign encoder can teach and be compared; it is not trained, saved or exported here.

Shapes: B batch, P chosen positions, W width, V vocabulary.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from pocketbert.errors import HubError, InputError, require
from pocketbert.model.layers import EncoderOutput

Makers = tuple[nn.Module, nn.Module, nn.Module]

# What transformers calls the modules that make queries, keys and values.
_MAKERS = (
    ("query", "key", "value"),
    ("query_proj", "key_proj", "value_proj"),
    ("q_proj", "k_proj", "v_proj"),
    ("q_lin", "k_lin", "v_lin"),
    ("q_head", "k_head", "v_head"),
    ("q", "k", "v"),
)


class ForeignWords(nn.Module):
    """The masked-LM head of a transformers model, for a feature map that is there already."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    @property
    def base(self) -> nn.Module:
        """The encoder below the head."""
        base: nn.Module = self.model.base_model  # type: ignore[assignment]
        return base

    def forward(self, last: Tensor) -> Tensor:
        with _giving(self.base, last):
            logits: Tensor = self.model(input_ids=None).logits
        return logits  # (B, P, V)


class ForeignEncoder(nn.Module):
    """A transformers encoder that takes our arguments and gives an `EncoderOutput`.

    `words` is the masked-LM head that was trained with it, if there is one.
    """

    def __init__(self, model: nn.Module, words: ForeignWords | None = None) -> None:
        super().__init__()
        self.model = model
        self.words = words
        self.config: Any = model.config
        self._takes = set(inspect.signature(model.forward).parameters)

    @classmethod
    def load(cls, name_or_folder: str | Path) -> ForeignEncoder:
        """Load by folder or hub name, never running code that comes with the weights."""
        transformers = require("transformers", extra="dev")
        try:
            words = _load_words(transformers, str(name_or_folder))
            model = words.base if words else _load(transformers.AutoModel, str(name_or_folder))[0]
        except (OSError, ValueError) as error:
            raise HubError(
                f"transformers cannot load {str(name_or_folder)!r} as an encoder: {error}"
            ) from error
        return cls(model, words).eval()

    def makers(self) -> list[Makers]:
        """The modules that make each block's queries, keys and values; none if they are not found in every block."""
        found = [
            tuple(children[name] for name in names)
            for children in (dict(part.named_children()) for part in self.model.modules())
            for names in _MAKERS
            if set(names) <= children.keys()
        ]
        return found if len(found) == self.config.num_hidden_layers else []  # type: ignore[return-value]

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        *,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        feature_maps: bool = False,
        attentions: bool = False,
    ) -> EncoderOutput:
        given = input_ids if input_ids is not None else inputs_embeds
        if given is None:
            raise InputError("give either input_ids or inputs_embeds, not neither")
        mask = (
            attention_mask if attention_mask is not None else torch.ones(given.shape[:2], device=given.device)
        )
        arguments = {
            "input_ids": input_ids,
            "attention_mask": mask,
            "token_type_ids": token_type_ids,
            "position_ids": position_ids,
            "inputs_embeds": inputs_embeds,
        }
        known = {
            name: value for name, value in arguments.items() if value is not None and name in self._takes
        }
        output = self.model(**known, output_hidden_states=feature_maps, output_attentions=attentions)
        return EncoderOutput(
            last=output.last_hidden_state,
            mask=mask,
            pooled=getattr(output, "pooler_output", None),
            feature_maps=tuple(output.hidden_states) if feature_maps else None,
            attentions=tuple(output.attentions) if attentions else None,
        )


def _load(auto: Any, name: str) -> tuple[nn.Module, dict[str, Any]]:
    """A model in full precision, whatever it was saved in, and what transformers says of its loading."""
    model, report = auto.from_pretrained(
        name,
        trust_remote_code=False,
        use_safetensors=True,
        attn_implementation="eager",
        dtype=torch.float32,
        output_loading_info=True,
    )
    return model, report


def _load_words(transformers: ModuleType, name: str) -> ForeignWords | None:
    """The model with its masked-LM head; nothing if the weights have no whole one, whatever the config promises."""
    config = transformers.AutoConfig.from_pretrained(name, trust_remote_code=False)
    if type(config) not in transformers.MODEL_FOR_MASKED_LM_MAPPING:
        return None
    model, report = _load(transformers.AutoModelForMaskedLM, name)
    below = f"{model.base_model_prefix}."
    whole = all(key.startswith(below) for key in report["missing_keys"])
    return ForeignWords(model) if whole and model.base_model is not model else None


class _Output(tuple[Tensor]):
    """What a head gets of an encoder: the last feature map, by its place or its name, and no more."""

    def __getattr__(self, name: str) -> Tensor | None:
        return self[0] if name == "last_hidden_state" else None


@contextmanager
def _giving(base: nn.Module, last: Tensor) -> Iterator[None]:
    """Within, an encoder reads nothing and gives this feature map: heads differ, but all of them begin with it."""
    base.forward = lambda *_, **__: _Output((last,))
    try:
        yield
    finally:
        del base.forward
