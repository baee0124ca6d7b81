"""Ids to feature maps: the encoders of the house and their presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from pocketbert.errors import ConfigError
from pocketbert.model import albert, bert, distilbert, mobilebert, roberta, xlnet
from pocketbert.model.albert import AlbertConfig
from pocketbert.model.architecture import Architecture, HeadForm, HeadKind, Summary
from pocketbert.model.bert import BertConfig
from pocketbert.model.config import Config
from pocketbert.model.distilbert import DistilBertConfig
from pocketbert.model.encoder import Encoder
from pocketbert.model.layers import EncoderOutput
from pocketbert.model.mobilebert import MobileBertConfig
from pocketbert.model.roberta import RobertaConfig
from pocketbert.model.xlnet import XLNetConfig, XLNetOutput

__all__ = [
    "ARCHITECTURES",
    "PRESETS",
    "AlbertConfig",
    "Architecture",
    "BertConfig",
    "Config",
    "DistilBertConfig",
    "Encoder",
    "EncoderOutput",
    "HeadForm",
    "HeadKind",
    "MobileBertConfig",
    "RobertaConfig",
    "Summary",
    "XLNetConfig",
    "XLNetOutput",
    "architecture",
    "build_encoder",
    "preset",
    "read_config",
]

ARCHITECTURES: dict[str, Architecture] = {
    "mobilebert": mobilebert.ARCHITECTURE,
    "bert": bert.ARCHITECTURE,
    "roberta": roberta.ARCHITECTURE,
    "distilbert": distilbert.ARCHITECTURE,
    "albert": albert.ARCHITECTURE,
    "xlnet": xlnet.ARCHITECTURE,
}

PRESETS: dict[str, Config] = {
    **mobilebert.PRESETS,
    **bert.PRESETS,
    **roberta.PRESETS,
    **distilbert.PRESETS,
    **albert.PRESETS,
    **xlnet.PRESETS,
}


def preset(name: str) -> Config:
    """The configuration that goes by this name."""
    if name not in PRESETS:
        near = get_close_matches(name, PRESETS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"there is no preset {name!r}{hint} The presets are {', '.join(PRESETS)}.")
    return PRESETS[name]


def architecture(model_type: object) -> Architecture:
    """What the house knows of a family, by Hugging Face's name for it."""
    if not isinstance(model_type, str) or model_type not in ARCHITECTURES:
        raise ConfigError(
            f"model_type is {model_type!r}; the architectures here are {', '.join(map(repr, ARCHITECTURES))}"
        )
    return ARCHITECTURES[model_type]


def read_config(data: Mapping[str, Any]) -> Config:
    """A Hugging Face `config.json`, as the config of the family that it names."""
    return architecture(data.get("model_type")).config.from_hf(data)


def build_encoder(config: Config | str, *, pooler: bool = True) -> Encoder:
    """An encoder with fresh weights, from a config or a preset's name."""
    config = preset(config) if isinstance(config, str) else config
    encoder = architecture(config.model_type).build(replace(config, pruned_heads=()), pooler)
    encoder.prune_heads(dict(config.pruned_heads))
    return encoder
