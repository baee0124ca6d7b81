"""The one door to transformers: any of its encoders, behind the interface of ours.

A foreign encoder can teach and be compared; it is not trained, saved or exported here.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pocketbert.errors import HubError, InputError, require
from pocketbert.model.layers import EncoderOutput


class ForeignEncoder(nn.Module):
    """A transformers encoder that takes our arguments and gives an `EncoderOutput`."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.config: Any = model.config
        self._takes = set(inspect.signature(model.forward).parameters)

    @classmethod
    def load(cls, name_or_folder: str | Path) -> ForeignEncoder:
        """Load by folder or hub name, never running code that comes with the weights."""
        transformers = require("transformers", extra="dev")
        try:
            model = transformers.AutoModel.from_pretrained(
                str(name_or_folder),
                trust_remote_code=False,
                use_safetensors=True,
                attn_implementation="eager",
            )
        except (OSError, ValueError) as error:
            raise HubError(
                f"transformers cannot load {str(name_or_folder)!r} as an encoder: {error}"
            ) from error
        return cls(model.eval())

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
