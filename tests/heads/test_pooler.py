"""Models that do without the pooler, and heads that are put on anew."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import parity
from pocketbert.errors import InputError
from pocketbert.heads import build, load, save
from pocketbert.heads.pooler import leave_out_pooler
from pocketbert.model import preset


def test_without_a_pooler_the_head_reads_the_first_token(tmp_path) -> None:
    config = replace(preset("mobilebert-nano"), classifier_activation=True)
    model = parity.redraw(build(config, "classification", labels=["a", "b", "c"])).eval()
    ids = torch.randint(1000, 20_000, (2, 9))
    before = model(ids).logits
    leave_out_pooler(model)
    after = model(ids)
    assert not torch.allclose(before, after.logits, atol=1e-2)
    torch.testing.assert_close(after.logits, model.head.linear(after.encoder.last[:, 0]))
    save(model, tmp_path)
    again = load(tmp_path).eval()
    assert again.report.new == ()
    assert again.config.classifier_activation is False
    assert torch.equal(again(ids).logits, after.logits)
    theirs = (
        pytest.importorskip("transformers")
        .AutoModelForSequenceClassification.from_pretrained(tmp_path)
        .eval()
    )
    torch.testing.assert_close(theirs(ids).logits, after.logits, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("family", ["bert-nano", "roberta-nano", "distilbert-nano"])
def test_families_that_cannot_do_without_are_refused(family) -> None:
    with pytest.raises(InputError, match="cannot do without one: give pooler = auto"):
        leave_out_pooler(build(family, "classification"))


def test_a_head_for_other_labels_is_new(tmp_path, caplog) -> None:
    save(parity.redraw(build("bert-nano", "classification", labels=["a", "b", "c"])), tmp_path)
    saved = load(tmp_path)
    other = load(tmp_path, head="classification", labels=["yes", "no"], head_weights="new")
    assert other.labels == ("yes", "no")
    assert other.report.new == ("the classification head",)
    assert "head.linear.weight" in other.report.unused
    for name, value in saved.encoder.named_parameters():
        assert torch.equal(other.encoder.get_parameter(name), value), name
    same = load(tmp_path, head="classification", labels=["a", "b", "c"], head_weights="new")
    assert not torch.equal(same.head.linear.weight, saved.head.linear.weight)
    assert caplog.text == "", "it was asked for"
