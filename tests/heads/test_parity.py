"""Each head against transformers: outputs, losses, and the way of the weights in both directions."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import transformers

import parity
from pocketbert.heads import load, save

TINY = {
    "vocab_size": parity.VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 20,
}
FAMILIES = {
    "mobilebert": (
        transformers.MobileBertConfig,
        TINY | {"embedding_size": 12, "intra_bottleneck_size": 16, "num_feedforward_networks": 2},
    ),
    "bert": (transformers.BertConfig, TINY),
    "roberta": (
        transformers.RobertaConfig,
        TINY | {"type_vocab_size": 2, "pad_token_id": 1, "hidden_act": "relu"},
    ),
    "distilbert": (
        transformers.DistilBertConfig,
        {"vocab_size": parity.VOCABULARY, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 24}
        | {"max_position_embeddings": 20},
    ),
    "albert": (
        transformers.AlbertConfig,
        TINY | {"embedding_size": 12, "num_hidden_layers": 3, "num_hidden_groups": 2, "inner_group_num": 2},
    ),
    "xlnet": (
        transformers.XLNetConfig,
        {"vocab_size": parity.VOCABULARY, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 24},
    ),
}
CLASSES = {
    "mobilebert": "MobileBert",
    "bert": "Bert",
    "roberta": "Roberta",
    "distilbert": "DistilBert",
    "albert": "Albert",
    "xlnet": "XLNet",
}
INPUTS = parity.batch(rows=3)
LABELS = torch.tensor([2, 0, 1])
MASKED = torch.where(torch.arange(13) % 3 == 1, INPUTS.input_ids, -100)
TAGS = torch.where(INPUTS.attention_mask == 1, INPUTS.input_ids % 5, -100)

# head: (transformers' class, their labels, our labels, settings, attribute there, attribute here)
HEADS = {
    "question-answering": (
        "ForQuestionAnswering",
        {"start_positions": torch.tensor([3, 0, 2]), "end_positions": torch.tensor([5, 0, 99])},
        None,
        {},
        ["start_logits", "end_logits"],
    ),
    "classification": ("ForSequenceClassification", {"labels": LABELS}, None, {"num_labels": 3}, ["logits"]),
    "multi": (
        "ForSequenceClassification",
        {"labels": torch.tensor([[1.0, 0, 1], [0, 0, 0], [1, 1, 1]])},
        None,
        {"num_labels": 3, "problem_type": "multi_label_classification"},
        ["logits"],
    ),
    "regression": (
        "ForSequenceClassification",
        {"labels": torch.tensor([0.5, -1.0, 2.0])},
        None,
        {"num_labels": 1},
        ["logits"],
    ),
    "tags": ("ForTokenClassification", {"labels": TAGS}, None, {"num_labels": 5}, ["logits"]),
    "masked-lm": ("ForMaskedLM", {"labels": MASKED}, None, {}, ["logits"]),
    "next-sentence": ("ForNextSentencePrediction", {"labels": LABELS.clamp(max=1)}, None, {}, ["logits"]),
    "pretraining": (
        "ForPreTraining",
        {"labels": MASKED, "next_sentence_label": LABELS.clamp(max=1)},
        {"labels": MASKED, "next_sentence_labels": LABELS.clamp(max=1)},
        {},
        ["prediction_logits:masked_lm_logits", "seq_relationship_logits:next_sentence_logits"],
    ),
    "order pretraining": (
        "ForPreTraining",
        {"labels": MASKED, "sentence_order_label": LABELS.clamp(max=1)},
        {"labels": MASKED, "sentence_order_labels": LABELS.clamp(max=1)},
        {},
        ["prediction_logits:masked_lm_logits", "sop_logits:sentence_order_logits"],
    ),
}


HEADS["simple question-answering"] = ("ForQuestionAnsweringSimple", *HEADS["question-answering"][1:])
HEADS["permutation-lm"] = ("LMHeadModel", *HEADS["masked-lm"][1:])
ALL = ["classification", "multi", "regression", "tags"]
BERT = [*ALL, "question-answering", "masked-lm"]
HEADS_OF = {
    "mobilebert": [*BERT, "next-sentence", "pretraining"],
    "bert": [*BERT, "next-sentence", "pretraining"],
    "roberta": BERT,
    "distilbert": BERT,
    "albert": [*BERT, "order pretraining"],
    "xlnet": [*ALL, "simple question-answering", "permutation-lm"],
}
PAIRS = [(family, head) for family, heads in HEADS_OF.items() for head in heads]


def oracle(family: str, head: str) -> transformers.PreTrainedModel:
    torch.manual_seed(0)
    name, _, _, settings, _ = HEADS[head]
    config_class, sizes = FAMILIES[family]
    model = getattr(transformers, CLASSES[family] + name)._from_config(
        config_class(**sizes, **settings), attn_implementation="eager"
    )
    return parity.redraw(model)


def inputs_for(theirs) -> parity.Batch:
    """XLNet reads the last token where the others read the first, so its padding stands on the left."""
    return INPUTS.left_padded() if theirs.config.model_type == "xlnet" else INPUTS


def compare(theirs, model, head: str) -> float:
    _, their_labels, our_labels, _, names = HEADS[head]
    inputs = inputs_for(theirs)
    full = replace(inputs, attention_mask=torch.ones_like(inputs.attention_mask))
    with torch.no_grad():
        expected = theirs(**full.for_model(theirs), **their_labels)
        given = model(**full.arguments(), **(our_labels or their_labels))
        errors = [parity.error(expected.loss, given.loss)]
        expected, given = theirs(**inputs.for_model(theirs)), model(**inputs.arguments())
    for pair in names:
        there, _, here = pair.partition(":")
        first, second = getattr(expected, there), getattr(given, here or there)
        if first.shape[:2] == inputs.input_ids.shape:  # what stands at padding is nobody's business
            first, second = (
                parity.real(first, inputs.attention_mask),
                parity.real(second, inputs.attention_mask),
            )
        errors.append(parity.error(first, second))
    return max(errors)


def reference(model):
    if hasattr(model.encoder.embeddings, "mask_padding"):
        model.encoder.embeddings.mask_padding = False
    return model


@pytest.mark.parametrize(("family", "head"), PAIRS)
def test_same_numbers_and_back(family: str, head: str, tmp_path) -> None:
    theirs = oracle(family, head)
    model = reference(parity.ours(theirs))
    assert model.report.new == ()
    assert model.report.unused == ()
    assert compare(theirs, model, head) < parity.TOLERANCE

    for name, parameter in model.head.named_parameters():  # each weight of the head matters
        saved = parameter.data.clone()
        parameter.data += 0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0))
        assert compare(theirs, model, head) > 10 * parity.TOLERANCE, name
        parameter.data = saved

    save(model, tmp_path)
    again, notes = type(theirs).from_pretrained(
        tmp_path, attn_implementation="eager", output_loading_info=True
    )
    assert not notes["missing_keys"]
    assert not notes["unexpected_keys"]
    assert not notes["mismatched_keys"]
    assert compare(again.eval(), model, head) < parity.TOLERANCE


@pytest.mark.parametrize("family", FAMILIES)
def test_choice_between_texts(family: str, tmp_path) -> None:
    torch.manual_seed(0)
    theirs = parity.redraw(
        getattr(transformers, CLASSES[family] + "ForMultipleChoice")._from_config(
            FAMILIES[family][0](**FAMILIES[family][1]), attn_implementation="eager"
        )
    )
    rows = inputs_for(theirs).arguments()
    inputs = {name: value.view(1, 3, 13).repeat(2, 1, 1) for name, value in rows.items()}
    inputs["input_ids"][1] = inputs["input_ids"][1].flip(0)
    labels = torch.tensor([2, 1])
    model = reference(parity.ours(theirs))
    with torch.no_grad():
        taken = {name: value for name, value in inputs.items() if name in INPUTS.for_model(theirs)}
        expected, given = theirs(**taken, labels=labels), model(**inputs, labels=labels)
    assert given.logits.shape == (2, 3)
    assert parity.error(expected.logits, given.logits) < parity.TOLERANCE
    assert parity.error(expected.loss, given.loss) < parity.TOLERANCE
    save(model, tmp_path)
    _, notes = type(theirs).from_pretrained(tmp_path, output_loading_info=True)
    assert not notes["missing_keys"]
    assert not notes["unexpected_keys"]


@pytest.mark.parametrize("family", FAMILIES)
def test_labels_and_problem_survive(family: str, tmp_path) -> None:
    theirs = oracle(family, "multi")
    theirs.config.id2label = {0: "sport", 1: "money", 2: "weather"}
    model = parity.ours(theirs)
    assert model.labels == ("sport", "money", "weather")
    assert model.head.problem == "multi"
    save(model, tmp_path)
    assert load(tmp_path).labels == model.labels
    assert load(tmp_path).head.problem == "multi"
    assert transformers.AutoConfig.from_pretrained(tmp_path).id2label[1] == "money"
