"""Teachers that come through transformers: their words, their queries, keys and values, and what they cannot show."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers

import parity
from pocketbert.errors import InputError, MissingExtraError
from pocketbert.heads import Model, build
from pocketbert.model import preset
from pocketbert.text import Tokenizer
from pocketbert.transfer.layers import layer_map
from pocketbert.transfer.lesson import Lesson, Terms
from pocketbert.transfer.methods import METHODS, Course, schedule
from pocketbert.transfer.teacher import Teacher
from pocketbert.transfer.teaching import Teaching, check, relation_heads
from pocketbert.transfer.views import Wanted

TINY = {
    "vocab_size": parity.VOCABULARY, "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 6,
    "intermediate_size": 32, "max_position_embeddings": 64,
}  # fmt: skip
SHARED = {"relative_attention": True, "share_att_key": True, "pos_att_type": ["p2c", "c2p"]}
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{number}" for number in range(94))]
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # DeBERTa's file uses it
COURSE = Course(blocks=4, block_steps=1, distillation_steps=1)


def foreign(family: str, **changes) -> transformers.PreTrainedModel:
    config = getattr(transformers, f"{family}Config")(**{**TINY, **changes})
    return parity.redraw(getattr(transformers, f"{family}ForMaskedLM")(config))


def written(theirs: transformers.PreTrainedModel, folder: Path) -> Teacher:
    theirs.save_pretrained(folder)
    Tokenizer.from_vocabulary(WORDS).save(folder)
    return Teacher.load(str(folder))


def student(name: str = "mobilebert-nano", **changes) -> Model:
    torch.manual_seed(1)
    config = replace(preset(name), vocab_size=parity.VOCABULARY, **{"num_hidden_layers": 4, **changes})
    return parity.redraw(build(config, "masked-lm"))


def batch() -> dict[str, torch.Tensor]:
    places = {"positions": torch.tensor([[1, 3], [2, 4], [1, 0], [1, 2]])}
    return {
        **parity.batch().arguments(),
        **places,
        "labels": torch.tensor([[7, 8], [9, 9], [5, -100], [6, 7]]),
    }


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("Electra", {"embedding_size": 32}),
        ("MPNet", {}),
        ("DebertaV2", SHARED),
        ("DebertaV2", {"legacy": False}),
        ("Longformer", {"attention_window": 8}),
    ],
)
def test_words_are_those_of_transformers(family: str, changes: dict, tmp_path: Path) -> None:
    theirs, inputs = foreign(family, **changes), parity.batch()
    teacher = written(theirs, tmp_path)
    with torch.no_grad():
        expected = theirs(**inputs.for_model(theirs)).logits
    last = teacher.look(inputs.arguments(), Wanted(frozenset({3}))).map(3)
    real = inputs.attention_mask.bool()
    assert parity.error(expected[real], teacher.logits(last)[real]) < parity.TOLERANCE
    again = teacher.look(inputs.arguments(), Wanted(frozenset({3}))).map(3)
    assert torch.equal(again, last), "the encoder reads again after its head has spoken"


@pytest.mark.parametrize(
    ("family", "changes", "attention"),
    [
        ("Electra", {}, "encoder.layer.{}.attention.self.{}"),
        ("DebertaV2", SHARED, "encoder.layer.{}.attention.self.{}_proj"),
        ("XLMRoberta", {"pad_token_id": 0}, "encoder.layer.{}.attention.self.{}"),
    ],
)
def test_vectors_are_made_of_the_feature_map_below(
    family: str, changes: dict, attention: str, tmp_path: Path
) -> None:
    teacher = written(foreign(family, **changes), tmp_path)
    seen = teacher.look(batch(), Wanted(frozenset({0, 1, 2}), vectors=frozenset({0, 1, 2})))
    for block in range(3):
        for what in ("query", "key", "value"):
            maker = teacher.encoder.model.get_submodule(attention.format(block, what))
            assert torch.equal(seen.vectors(what, block), maker(seen.map(block))), (what, block)


def test_a_student_with_the_teacher_s_weights_has_no_soft_loss(tmp_path: Path) -> None:
    """An ELECTRA as wide as its word table is a BERT with other names."""
    theirs = foreign("Electra", embedding_size=48)
    names = {
        "electra.": "bert.",
        "generator_predictions.": "cls.predictions.transform.",
        "generator_lm_head.bias": "cls.predictions.bias",
    }
    twin = transformers.BertForMaskedLM(transformers.BertConfig(**TINY))
    for old, new in names.items():
        for name, weight in theirs.named_parameters():
            if name.startswith(old):
                twin.get_parameter(new + name.removeprefix(old)).data = weight.data.clone()
    pupil, teacher = parity.ours(twin, head="masked-lm"), written(theirs, tmp_path)
    lesson = Lesson(pupil, Terms(layers=(0, 1, 2), teacher_blocks=3))
    teaching = Teaching(teacher, lesson.terms)
    (stage,) = schedule("none", Course(blocks=3, block_steps=1, distillation_steps=0))
    assert teaching.loss(lesson, batch(), stage)[1]["soft"] == pytest.approx(0, abs=1e-5)
    with torch.no_grad():
        pupil.head.bias[0] += 3
    assert teaching.loss(lesson, batch(), stage)[1]["soft"] > 1e-3


def test_relations_with_a_foreign_teacher(tmp_path: Path) -> None:
    teacher, pupil = written(foreign("Electra"), tmp_path), student()
    first, _ = stages = schedule("minilm", COURSE)
    check(pupil, teacher, stages, method="minilm")
    layers = layer_map("0,0,1,2", student=4, teacher=3)
    heads = relation_heads(pupil.encoder, teacher.encoder)
    terms = Terms(layers=layers, teacher_blocks=3, relation_heads=heads)
    assert terms.relation_heads == 4, "a divisor of 16 and of 48, and no more than there are heads"
    assert Teaching(teacher, terms).loss(Lesson(pupil, terms), batch(), first)[1]["relations"] > 0


@pytest.mark.parametrize(
    ("family", "changes"),
    [("ModernBert", {"pad_token_id": 0}), ("SqueezeBert", {"embedding_size": 48}), ("Longformer", {})],
)
def test_vectors_that_cannot_be_watched_are_refused(family: str, changes: dict, tmp_path: Path) -> None:
    """One matrix for all three, channels before tokens, and a text that is padded on the way."""
    teacher = written(foreign(family, **changes), tmp_path)
    said = f"{family}Model does not show its queries, keys and values.*use --method joint"
    with pytest.raises(InputError, match=said):
        check(student(), teacher, schedule("minilm", COURSE), method="minilm")


@pytest.mark.parametrize("theirs", ["ElectraModel", "ElectraForPreTraining", "promised"])
def test_a_head_without_weights_is_none(theirs: str, tmp_path: Path) -> None:
    made = getattr(transformers, theirs if theirs != "promised" else "ElectraModel")(
        transformers.ElectraConfig(**TINY)
    )
    teacher = written(made, tmp_path)
    if theirs == "promised":  # as some sentence encoders' configs do
        config = transformers.ElectraConfig(**TINY, architectures=["ElectraForMaskedLM"])
        config.save_pretrained(tmp_path)
        teacher = Teacher.load(str(tmp_path))
    assert teacher.words is None
    with pytest.raises(InputError, match="has no masked-LM head"):
        teacher.logits(torch.zeros(1, 1, 48))


@pytest.mark.parametrize("method", METHODS)
def test_only_what_helps_is_proposed(method: str, tmp_path: Path) -> None:
    teacher = written(transformers.ElectraModel(transformers.ElectraConfig(**TINY)), tmp_path)
    ours = Teacher("ours", build(preset("bert-nano"), None), teacher.tokenizer)
    stages = schedule(method, COURSE)
    with pytest.raises(InputError, match=r"no soft labels: (give|use) ") as foreign_error:
        check(student(), teacher, stages, method=method)
    with pytest.raises(InputError, match=r"no soft labels: train one on the frozen body first .*, or"):
        check(student(), ours, stages, method=method)
    said = str(foreign_error.value)
    assert "train pretrain" not in said
    assert ("--alpha 1" in said) == (method != "distilbert")
    assert ("or --distillation_steps 0" in said) == (method not in {"auxiliary", "none", "distilbert"})
    assert ("--method joint" in said) == (method == "distilbert")


def test_a_fingerprint_knows_the_head(tmp_path: Path) -> None:
    theirs = written(foreign("Electra"), tmp_path)
    ours = Teacher("ours", student("ib-bert-nano"), theirs.tokenizer)
    for teacher, weight in (
        (theirs, theirs.words.model.generator_predictions.dense.weight),
        (ours, ours.words.transform.weight),
    ):
        before = teacher.fingerprint()
        assert teacher.fingerprint() == before
        with torch.no_grad():
            weight[0, 0] += 1e-3
        assert teacher.fingerprint() != before


def test_a_fingerprint_does_not_know_the_folder(tmp_path: Path) -> None:
    teacher = written(foreign("Electra"), tmp_path / "here")
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    config = json.loads((tmp_path / "there" / "config.json").read_text())
    (tmp_path / "there" / "config.json").write_text(json.dumps({**config, "transformers_version": "0.1"}))
    assert Teacher.load(str(tmp_path / "there")).fingerprint() == teacher.fingerprint()


def test_half_weights_teach_in_full_precision(tmp_path: Path) -> None:
    teacher = written(foreign("Electra").half(), tmp_path)
    assert {weight.dtype for weight in teacher.model.parameters()} == {torch.float32}


def test_without_transformers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(foreign("Electra"), tmp_path)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"needs the package 'transformers', .*install it with: "):
        Teacher.load(str(tmp_path))
