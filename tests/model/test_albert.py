"""What is special about ALBERT: groups of blocks that share their weights."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import transformers

import parity
from pocketbert.errors import ConfigError, InputError
from pocketbert.export import export_onnx, fold
from pocketbert.heads import build, load, save
from pocketbert.model import AlbertConfig, build_encoder, preset
from pocketbert.model.measure import measure

NANO = replace(preset("albert-nano"), vocab_size=parity.VOCABULARY)
GROUPED = replace(NANO, num_hidden_layers=5, num_hidden_groups=2, inner_group_num=2)


def test_blocks_follow_their_groups() -> None:
    encoder = build_encoder(GROUPED)
    first = [next(k for k, other in enumerate(encoder.blocks) if other is part) for part in encoder.blocks]
    assert first == [0, 1, 0, 1, 0, 1, 6, 7, 6, 7]


def test_shared_weights_count_once_and_work_as_often_as_they_are_used() -> None:
    once, often = measure(replace(NANO, num_hidden_layers=1)), measure(replace(NANO, num_hidden_layers=6))
    assert often.parameters == once.parameters
    assert often.blocks == (once.blocks[0], 0, 0, 0, 0, 0)
    embeddings = 2 * 16 * 32 * 128
    assert often.flops - embeddings == 6 * (once.flops - embeddings)


def test_heads_of_shared_blocks_go_together() -> None:
    encoder = parity.redraw(build_encoder(GROUPED))
    inputs = parity.batch()
    with pytest.raises(InputError, match=r"block 2 alone: blocks 0, 2, 4 share their weights"):
        encoder.prune_heads({2: [1]})
    with pytest.raises(InputError, match="at least one"):
        encoder.prune_heads(dict.fromkeys((7, 9), range(4)))
    mask = torch.ones(10, 4)
    mask[[0, 2, 4], 1] = 0
    mask[[7, 9], 3] = 0
    with torch.no_grad():
        masked = encoder(**inputs.arguments(), head_mask=mask).last
        encoder.prune_heads(mask)
        assert parity.error(masked, encoder(**inputs.arguments()).last) < parity.TOLERANCE
    again = build_encoder(encoder.config)
    again.load_state_dict(encoder.state_dict())
    with torch.no_grad():
        assert parity.error(masked, again.eval()(**inputs.arguments()).last) < parity.TOLERANCE


def test_a_head_mask_may_differ_between_blocks_that_share() -> None:
    encoder = parity.redraw(build_encoder(NANO))
    inputs = parity.batch()
    mask = torch.ones(2, 4)
    mask[1, 2] = 0
    with torch.no_grad():
        plain, masked = (encoder(**inputs.arguments(), head_mask=given).last for given in (None, mask))
    assert parity.error(plain, masked) > 1e-3


def test_groups_survive_folders_and_exports(tmp_path) -> None:
    model = parity.redraw(build(GROUPED, "question-answering"))
    save(model, tmp_path / "folder")
    inputs = parity.batch()
    again = load(tmp_path / "folder").eval()
    assert again.config == GROUPED
    assert again.encoder.blocks[0] is again.encoder.blocks[4]
    export_onnx(fold(model), tmp_path / "exported" / "onnx" / "model.onnx")
    (tmp_path / "exported" / "config.json").write_bytes((tmp_path / "folder" / "config.json").read_bytes())
    exported = load(tmp_path / "exported").eval()
    with torch.no_grad():
        expected = model(**inputs.arguments()).start_logits
        assert torch.equal(expected, again(**inputs.arguments()).start_logits)
        assert parity.error(expected, exported(**inputs.arguments()).start_logits) < parity.TOLERANCE


def test_configs_say_what_is_allowed() -> None:
    with pytest.raises(
        ConfigError, match="num_hidden_groups is 3; it must be from 1 to num_hidden_layers, 2"
    ):
        replace(NANO, num_hidden_groups=3)
    with pytest.raises(ConfigError, match="inner_group_num is 0"):
        replace(NANO, inner_group_num=0)


def test_a_silent_config_means_what_transformers_takes_it_for() -> None:
    ours = AlbertConfig.from_hf({})
    assert ours.to_hf().items() <= (transformers.AlbertConfig().to_dict() | {"model_type": "albert"}).items()
