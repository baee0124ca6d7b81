"""Teacher and student side by side: views, lessons, initialisation and the cache, on tiny models of every kind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shutil import disk_usage
from typing import Any

import pytest
import torch
from safetensors import safe_open
from torch import nn

import parity
from disks import tiny_disk
from pocketbert.errors import CheckpointError, InputError
from pocketbert.heads import build
from pocketbert.model import preset
from pocketbert.text import Tokenizer
from pocketbert.transfer import losses
from pocketbert.transfer.cache import Cache, fingerprint
from pocketbert.transfer.layers import layer_map
from pocketbert.transfer.lesson import Lesson, Terms, pick
from pocketbert.transfer.methods import METHODS, Course, schedule
from pocketbert.transfer.student import fit_norm, initialise, owners, shaped
from pocketbert.transfer.teacher import Teacher, check_vocabulary
from pocketbert.transfer.teaching import Teaching, check, relation_heads
from pocketbert.transfer.views import INPUTS, Wanted, look

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *(f"w{number}" for number in range(parity.VOCABULARY - 5)),
]
TOKENIZER = Tokenizer.from_vocabulary(WORDS)
STACK = {"num_hidden_layers": 4, "vocab_size": parity.VOCABULARY}


def model(name: str, head: str | None = "masked-lm", **changes):
    torch.manual_seed(len(name))
    return parity.redraw(build(replace(preset(name), **{**STACK, **changes}), head))


def teacher(name: str = "ib-bert-nano", head: str | None = "masked-lm", **changes) -> Teacher:
    return Teacher("teacher", model(name, head, **changes).requires_grad_(False), TOKENIZER)


def batch() -> dict[str, torch.Tensor]:
    rows = parity.batch().arguments()
    positions = torch.tensor([[1, 3, 5], [2, 4, 0], [1, 0, 0], [1, 2, 0]])
    labels = torch.tensor([[7, 8, 9], [10, 11, -100], [12, -100, -100], [13, 14, -100]])
    return {**rows, "positions": positions, "labels": labels}


def lesson(student, master: Teacher, **changes) -> Lesson:
    blocks = len(student.encoder.blocks)
    mapped = layer_map("uniform", student=blocks, teacher=master.blocks)
    wide, narrow = master.config.hidden_size, student.config.hidden_size
    projection = nn.Linear(narrow, wide) if changes.pop("projected", wide != narrow) else None
    terms = Terms(layers=mapped, teacher_blocks=master.blocks, statistics=master.statistics, **changes)
    return Lesson(student, terms, projection)


def taught(pupil: Lesson, master: Teacher, stage, given) -> tuple:
    view = master.look(given, pupil.terms.teaching(stage))
    logits = None
    if "soft" in stage.losses:
        logits = master.logits(pick(view.map(master.blocks), given["positions"]))
    return view, logits


@pytest.mark.parametrize(
    "name", ["bert-nano", "mobilebert-nano", "albert-nano", "distilbert-nano", "xlnet-nano"]
)
def test_a_view_is_what_the_encoder_shows(name: str) -> None:
    encoder, given = model(name, None), batch()
    inputs = {key: given[key] for key in INPUTS}
    wanted = Wanted(frozenset({0, 2}), frozenset({1}))
    with torch.no_grad():
        seen = look(encoder, given, wanted)
        whole = encoder(**inputs, feature_maps=True, attentions=True)
    assert wanted.depth == 2
    for number in (0, 2):
        assert parity.error(whole.feature_maps[number], seen.map(number)) < parity.TOLERANCE
    hidden = (given["attention_mask"] == 0)[:, None, None, :]
    map_again = seen.scores(1).masked_fill(hidden, -1e30).softmax(-1)
    real = given["attention_mask"].bool()
    assert torch.allclose(
        map_again.transpose(1, 2)[real], whole.attentions[1].transpose(1, 2)[real], atol=1e-5
    )


def test_nothing_is_run_that_is_not_looked_at() -> None:
    encoder, ran = model("bert-nano", None), []
    for number, block in enumerate(encoder.blocks):
        block.register_forward_hook(lambda *_, number=number: ran.append(number))
    look(encoder, batch(), Wanted(frozenset({1}), frozenset({1})))
    assert ran == [0, 1]


@pytest.mark.parametrize("method", METHODS)
def test_a_student_like_its_teacher_has_nothing_to_learn(method: str) -> None:
    """Every loss but the true words' is zero, and any nudge makes it grow."""
    master, student, given = teacher(), model("ib-bert-nano"), batch()
    pupil = lesson(student, master, projected=method == "tinybert", relation_heads=2)
    if pupil.projection is not None:
        nn.init.eye_(pupil.projection.weight)
        nn.init.zeros_(pupil.projection.bias)
    for stage in schedule(method, Course(blocks=4, block_steps=1, distillation_steps=1)):
        _, parts = pupil(given, stage, *taught(pupil, master, stage, given))
        assert {name: round(float(value), 5) for name, value in parts.items() if name != "hard"} == {
            name: 0.0 for name in parts if name != "hard"
        }
        assert set(parts) == set(stage.losses) - {"sentence"}
    parity.redraw(student, seed=1)
    for stage in schedule(method, Course(blocks=4, block_steps=1, distillation_steps=1)):
        total, parts = pupil(given, stage, *taught(pupil, master, stage, given))
        assert min(float(value) for value in parts.values()) > 1e-4
        assert float(total.detach()) == pytest.approx(
            sum(stage.losses[name] * float(value) for name, value in parts.items()), rel=1e-5
        )


def test_each_layer_is_compared_with_the_one_it_is_mapped_to() -> None:
    master, student, given = teacher(), model("mobilebert-nano", num_hidden_layers=2), batch()
    terms = Terms(layers=(0, 2), teacher_blocks=4, statistics="absolute")
    pupil = Lesson(student, terms)
    one, two = schedule("progressive", Course(blocks=2, block_steps=1, distillation_steps=0))
    with torch.no_grad():
        seen = look(student.encoder, given, Wanted(frozenset({1, 2}), frozenset({0, 1})))
        shown = master.look(given, Wanted(frozenset({1, 3}), frozenset({0, 2})))
        for stage, own, theirs in ((one, 0, 0), (two, 1, 2)):
            _, parts = pupil(given, stage, *taught(pupil, master, stage, given))
            maps = seen.map(own + 1), shown.map(theirs + 1), seen.mask
            expected = {"feature_map": losses.feature_map(*maps), "mean": losses.mean(*maps)}
            expected |= {"variance": losses.variance(*maps)}
            expected |= {"attention": losses.attention(seen.scores(own), shown.scores(theirs), seen.mask)}
            for name, value in expected.items():
                assert float(parts[name]) == pytest.approx(float(value), rel=1e-4), name


def test_pretraining_distillation_mixes_as_the_paper_does() -> None:
    """alpha 1 is the plain masked LM; alpha 0 has no true word in it."""
    master, student, given = teacher(), model("mobilebert-nano"), batch()
    pupil = lesson(student, master)
    (stage,) = schedule("none", Course(blocks=4, block_steps=0, distillation_steps=1))
    total, parts = pupil(given, stage, *taught(pupil, master, stage, given))
    assert float(total.detach()) == pytest.approx(
        0.5 * float(parts["hard"]) + 0.5 * float(parts["soft"]), rel=1e-5
    )
    with torch.no_grad():
        plain = student(**{key: given[key] for key in INPUTS}, positions=given["positions"]).logits
    assert float(losses.hard_words(plain, given["labels"])) == pytest.approx(float(parts["hard"]), rel=1e-4)


@pytest.mark.parametrize(
    "name", ["bert-nano", "albert-nano", "distilbert-nano", "xlnet-nano", "mobilebert-nano"]
)
def test_any_teacher_teaches_any_student(name: str) -> None:
    """Other families, depths, widths and head counts: by relations, and by projected feature maps."""
    master = teacher(name, None, num_attention_heads=2)
    student, given = model("mobilebert-nano", num_hidden_layers=2, intra_bottleneck_size=32), batch()
    pupil = lesson(student, master, projected=True, relation_heads=8)
    for method in ("minilm", "joint"):
        course = Course(blocks=2, block_steps=1, distillation_steps=0)
        (stage,) = schedule(method, course)
        stage = replace(
            stage, losses={key: value for key, value in stage.losses.items() if key != "attention"}
        )
        total, _ = pupil(given, stage, *taught(pupil, master, stage, given))
        total.backward()
        assert float(total.detach()) > 0
        assert student.encoder.blocks[1].attention.query.weight.grad.abs().max() > 0


def test_unequal_heads_are_said() -> None:
    master, student, given = (
        teacher("bert-nano", None, num_attention_heads=2),
        model("mobilebert-nano"),
        batch(),
    )
    pupil = lesson(student, master)
    (stage,) = schedule("joint", Course(blocks=4, block_steps=1, distillation_steps=0))
    with pytest.raises(InputError, match="4 heads and the teacher's 2"):
        pupil(given, stage, *taught(pupil, master, stage, given))


def test_a_teacher_without_a_head_says_what_to_do() -> None:
    with pytest.raises(InputError, match=r"no masked-LM head.*stages without the loss"):
        teacher(head=None).logits(torch.zeros(1, 1, 32))


def test_vocabularies_that_differ_are_said() -> None:
    other = Tokenizer.from_vocabulary([*WORDS[:-1], "stranger"])
    check_vocabulary(teacher(), TOKENIZER, "the student")
    with pytest.raises(
        InputError, match="2 differ, such as 'stranger': teacher and student must have the same"
    ):
        check_vocabulary(teacher(), other, "the student")


def test_ends_and_blocks_are_copied() -> None:
    master = teacher(num_hidden_layers=4)
    student = model("ib-bert-nano", num_hidden_layers=2)
    before = student.encoder.blocks[0].output.weight.clone()
    parity.redraw(student, seed=5)
    assert initialise(student, master, "ends", (1, 3)) == ()
    assert torch.equal(student.encoder.word_table, master.encoder.word_table)
    assert torch.equal(student.head.transform.weight, master.words.transform.weight)
    assert not torch.equal(student.encoder.blocks[1].output.weight, master.encoder.blocks[3].output.weight)
    assert initialise(student, master, "blocks", (1, 3)) == ()
    assert torch.equal(student.encoder.blocks[1].output.weight, master.encoder.blocks[3].output.weight)
    assert not torch.equal(student.encoder.blocks[0].output.weight, before)


def test_what_does_not_fit_is_not_copied() -> None:
    student = model("mobilebert-nano", embedding_size=8)
    assert initialise(student, teacher(), "ends", (0, 1, 2, 3)) == ("embeddings", "head")
    with pytest.raises(
        InputError, match=r"width 32, 64 inside, 4 heads and .*width 32, 16 inside.*--initialise ends"
    ):
        initialise(model("mobilebert-nano"), teacher(), "blocks", (0, 1, 2, 3))


def test_a_student_without_a_norm_gets_embeddings_of_the_teacher_s_scale() -> None:
    master, student, given = teacher(), model("mobilebert-nano"), batch()
    with torch.no_grad():
        master.encoder.word_table.mul_(0.01)
        master.encoder.embeddings.position.weight.mul_(0.01)
    assert initialise(student, master, "ends", (0, 1, 2, 3)) == ()
    wanted, real = Wanted(frozenset({0})), given["attention_mask"].bool()
    target = master.look(given, wanted).map(0)[real]

    def distance() -> float:
        return float((look(student.encoder, given, wanted).map(0)[real] - target).detach().square().mean())

    before = distance()
    assert fit_norm(student, master, given)
    assert distance() < 0.3 * before
    assert not fit_norm(model("ib-bert-nano"), master, given), "a norm needs none"
    assert not fit_norm(parity.redraw(student, seed=9), master, given), "embeddings of its own"


def test_a_preset_takes_the_teacher_s_vocabulary() -> None:
    master = teacher(max_position_embeddings=64)
    made = shaped(preset("mobilebert-nano"), master)
    assert (made.vocab_size, made.max_position_embeddings, made.intra_bottleneck_size) == (
        parity.VOCABULARY,
        64,
        16,
    )
    assert shaped(preset("bert-nano"), master).max_position_embeddings == 128
    assert owners(model("albert-nano", None)) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("method", "name", "changes", "said"),
    [
        ("none", "ib-bert-nano", {"head": None}, "no masked-LM head"),
        (
            "joint",
            "bert-nano",
            {"num_attention_heads": 2},
            "the student has 4 attention heads and the teacher 2",
        ),
        ("tinybert", "xlnet-nano", {"head": None}, "TinyBERT compares scores"),
    ],
)
def test_what_cannot_be_taught_is_said_before_the_first_step(method, name, changes, said) -> None:
    stages = schedule(method, Course(blocks=4, block_steps=1, distillation_steps=int(method == "none")))
    with pytest.raises(InputError, match=said):
        check(model("mobilebert-nano"), teacher(name, **changes), stages, method=method)


def test_relation_heads_divide_both_widths() -> None:
    student = model("mobilebert-nano", intra_bottleneck_size=24, num_attention_heads=3)
    assert relation_heads(student.encoder, teacher("bert-nano", None).encoder) == 4
    assert (
        relation_heads(
            student.encoder, teacher("bert-nano", None, hidden_size=33, num_attention_heads=11).encoder
        )
        == 3
    )


def test_distances_by_layer() -> None:
    master, given = teacher(), batch()
    pupil = lesson(model("ib-bert-nano"), master)
    teaching = Teaching(master, pupil.terms)
    rows = teaching.distances(pupil, [given])
    assert rows == [{"feature_map": pytest.approx(0, abs=1e-6), "attention": pytest.approx(0, abs=1e-6)}] * 4
    with torch.no_grad():
        pupil.student.encoder.blocks[2].attention.query.weight.mul_(-1)
    rows = teaching.distances(pupil, [given, given])
    assert rows[1]["feature_map"] == pytest.approx(0, abs=1e-6)
    assert rows[2]["attention"] > 1e-3
    assert rows[2]["feature_map"] > 1e-5
    uneven = [collated(range(3)), collated([3])]
    for whole, cut in zip(teaching.distances(pupil, [given]), teaching.distances(pupil, uneven), strict=True):
        assert cut == pytest.approx(whole, rel=1e-4, abs=1e-6), "however examples are batched"


def test_a_teacher_of_transformers(tmp_path: Path) -> None:
    """An architecture that is not of the house teaches by its feature maps and attention maps."""
    transformers = pytest.importorskip("transformers")
    config = transformers.ElectraConfig(
        vocab_size=parity.VOCABULARY, hidden_size=32, embedding_size=32, num_hidden_layers=4,
        num_attention_heads=4, intermediate_size=32, max_position_embeddings=64,
    )  # fmt: skip
    transformers.ElectraModel(config).save_pretrained(tmp_path)
    TOKENIZER.save(tmp_path)
    master, student, given = Teacher.load(str(tmp_path)), model("mobilebert-nano"), batch()
    pupil = lesson(student, master)
    (stage,) = schedule("joint", Course(blocks=4, block_steps=1, distillation_steps=0))
    total, parts = pupil(given, stage, *taught(pupil, master, stage, given))
    assert float(total.detach()) > 0
    assert float(parts["attention"]) > 0


def collated(numbers) -> dict[str, torch.Tensor]:
    return {name: values[list(numbers)] for name, values in batch().items()}


@pytest.mark.parametrize("name", ["ib-bert-nano", "xlnet-nano"])
def test_a_cache_gives_what_the_teacher_gave(tmp_path: Path, name: str) -> None:
    master = teacher(name, None)
    wanted = Wanted(frozenset({0, 4}), frozenset({2}), frozenset({3}))
    cache = Cache(tmp_path, master, wanted, data="d", examples=4, shard=3)
    cache.fill(collated, batch_size=2)
    again = Cache(tmp_path, master, wanted, data="d", examples=4, shard=3)
    given = collated([3, 0, 1])
    seen = again.view([3, 0, 1], given["attention_mask"], wanted)
    live = master.look(given, wanted)
    real = given["attention_mask"].bool()
    assert set(seen.parts) == set(live.parts)
    for key, values in live.parts.items():
        assert torch.allclose(seen.parts[key][real], values[real], atol=2e-3, rtol=2e-3), key


def test_a_cache_serves_whoever_looks_at_less(tmp_path: Path) -> None:
    """And goes on with all it promised, so that the next one finds it."""
    master, all_of_it = teacher(head=None), Wanted(frozenset({1, 4}), frozenset({2}))
    Cache(tmp_path, master, all_of_it, data="d", examples=4, shard=2)
    less = Wanted(frozenset({4}))
    Cache(tmp_path, master, less, data="d", examples=4, shard=2).fill(collated)
    again = Cache(tmp_path, master, all_of_it, data="d", examples=4, shard=2)
    given = collated([3])
    seen, live = again.view([3], given["attention_mask"], all_of_it), master.look(given, all_of_it)
    assert set(seen.parts) == set(live.parts)


def test_examples_in_any_order_open_each_shard_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    master, wanted = teacher(), Wanted(frozenset({1}))

    def in_turn(numbers) -> dict[str, torch.Tensor]:
        return collated([number % 4 for number in numbers])

    cache = Cache(tmp_path, master, wanted, data="d", examples=20, shard=1)
    cache.fill(in_turn)
    opened: list[Path] = []

    def counting(file: Path, **options: Any) -> Any:
        opened.append(file)
        return safe_open(file, **options)

    monkeypatch.setattr("pocketbert.transfer.cache.safe_open", counting)
    for number in [*range(20), *reversed(range(20)), *range(20)]:
        cache.view([number], in_turn([number])["attention_mask"], wanted)
    assert len(opened) == len(set(opened)) == 20


def test_a_cache_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    master, wanted = teacher(head=None), Wanted(frozenset({1}))
    cache = Cache(tmp_path, master, wanted, data="d", examples=4, shard=1)

    def stops(numbers):
        if numbers[0] == 2:
            raise KeyboardInterrupt
        return collated(numbers)

    with pytest.raises(KeyboardInterrupt):
        cache.fill(stops)
    assert len(list(tmp_path.glob("shard-*"))) == 2
    read: list[int] = []
    cache.fill(lambda numbers: read.extend(numbers) or collated(numbers))
    assert read == [2, 3]
    (tmp_path / "shard-00001.safetensors").write_bytes(b"broken")
    with pytest.raises(CheckpointError, match="delete this file, and it will be made again"):
        Cache(tmp_path, master, wanted, data="d", examples=4, shard=1).view([1], torch.ones(1, 13), wanted)


def test_a_cache_that_would_not_fit_is_refused_after_its_first_shard(tmp_path: Path) -> None:
    master, wanted = teacher(head=None), Wanted(frozenset({1}))
    with tiny_disk(tmp_path / "disk") as mounted:
        if not mounted:
            pytest.skip("only root can mount a small disk")
        cache = Cache(tmp_path / "disk" / "views", master, wanted, data="d", examples=4000, shard=1)
        with pytest.raises(InputError, match=r"of 4,000 examples takes .* GB more, .* or learn from fewer"):
            cache.fill(lambda numbers: collated([number % 4 for number in numbers]))
        assert [path.name for path in cache.folder.glob("shard-*")] == ["shard-00000.safetensors"]
        (tmp_path / "disk" / "rest").write_bytes(bytes(disk_usage(tmp_path / "disk").free))
        with pytest.raises(CheckpointError, match=r"cannot write into .*No space left on device"):
            cache.fill(lambda numbers: collated([number % 4 for number in numbers]))
        assert {path.name for path in cache.folder.iterdir()} == {"cache.json", "shard-00000.safetensors"}


def test_a_cache_in_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be a folder to write to"):
        Cache(tmp_path / "file", teacher(head=None), Wanted(frozenset({1})), data="d", examples=4)


def test_huge_values_are_not_kept_in_half(tmp_path: Path) -> None:
    master = teacher(head=None)
    with torch.no_grad():
        master.encoder.blocks[0].output_norm.weight.fill_(1e7)
    wanted = Wanted(frozenset({1}))
    cache = Cache(tmp_path, master, wanted, data="d", examples=4)
    cache.fill(collated)
    seen = cache.view(range(4), batch()["attention_mask"], wanted)
    assert seen.map(1).isfinite().all()
    assert seen.map(1).abs().max() > 1e6


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"teacher": "other"}, r"are of another teacher \(teacher\) than teacher"),
        ({"data": "e"}, "are of other data"),
        ({"examples": 5}, "are of 4 examples, not of 5"),
        ({"wanted": Wanted(frozenset({2}))}, "do not hold what this method looks at"),
        ({"teacher": "bf16"}, "were read in the precision no, not bf16"),
    ],
)
def test_a_cache_of_something_else_is_refused(tmp_path: Path, changes: dict, said: str) -> None:
    given = {"data": "d", "examples": 4, "wanted": Wanted(frozenset({1})), "teacher": teacher(head=None)}
    cache = Cache(tmp_path, given["teacher"], given["wanted"], data="d", examples=4)
    cache.fill(collated)
    if changes.get("teacher") == "bf16":
        changes = {"teacher": replace(given["teacher"], precision="bf16")}
    elif "teacher" in changes:
        changes = {"teacher": teacher(head=None)}
        with torch.no_grad():
            changes["teacher"].encoder.blocks[3].output.bias[0] += 1e-3
    given |= changes
    with pytest.raises(InputError, match=said):
        Cache(tmp_path, given["teacher"], given["wanted"], data=given["data"], examples=given["examples"])
    assert len(list(tmp_path.glob("shard-*"))) == 1, "nothing was touched"


def test_fingerprints_follow_from_what_is_told() -> None:
    assert fingerprint(length=64, seed=1) == fingerprint(seed=1, length=64) != fingerprint(length=65, seed=1)
