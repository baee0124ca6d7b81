"""Every loss beside values computed by hand, and what no loss may depend on: padding, and how batches are split."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from pocketbert.errors import InputError
from pocketbert.heads import load
from pocketbert.text import Tokenizer
from pocketbert.transfer import losses
from pocketbert.transfer.teacher import Teacher
from pocketbert.transfer.views import View, Wanted, look

ALL = torch.ones(1, 1, dtype=torch.long)


def row(*values: float) -> Tensor:
    return torch.tensor(values).view(1, 1, -1)


def test_feature_map_by_hand() -> None:
    """(1, 3) is (-1, 1) after the norm and (9, 5) is (1, -1): both channels are 2 apart."""
    assert float(losses.feature_map(row(1, 3), row(9, 5), ALL)) == pytest.approx(4.0)
    assert float(losses.feature_map(row(1, 3), row(10, 30), ALL)) == pytest.approx(0.0, abs=1e-9)


def test_statistics_by_hand() -> None:
    """Means 2 and 20, variances 1 and 100."""
    student, teacher = row(1, 3), row(10, 30)
    assert float(losses.mean(student, teacher, ALL)) == pytest.approx(18.0**2)
    assert float(losses.variance(student, teacher, ALL)) == pytest.approx(99.0)
    assert float(losses.mean(student, teacher, ALL, "relative")) == pytest.approx(18.0**2 / 100)
    assert float(losses.variance(student, teacher, ALL, "relative")) == pytest.approx(0.99)


def test_feature_map_is_blind_to_what_the_statistics_see() -> None:
    student = torch.randn(2, 5, 8)
    moved = 3 * student + 2
    mask = torch.ones(2, 5, dtype=torch.long)
    assert float(losses.feature_map(moved, student, mask)) == pytest.approx(0.0, abs=1e-8)
    assert float(losses.mean(moved, student, mask)) > 1
    assert float(losses.variance(moved, student, mask)) > 1


def test_attention_by_hand() -> None:
    """A teacher at (3/4, 1/4) and a student at (1/2, 1/2): 3/4 log 3/2 + 1/4 log 1/2, in both rows and heads."""
    teacher = torch.tensor([math.log(3.0), 0.0]).expand(1, 2, 2, 2)
    student = torch.zeros(1, 2, 2, 2)
    mask = torch.ones(1, 2, dtype=torch.long)
    expected = 0.75 * math.log(1.5) + 0.25 * math.log(0.5)
    assert float(losses.attention(student, teacher, mask)) == pytest.approx(expected, rel=1e-6)


def test_divergence_is_zero_only_between_equals() -> None:
    scores = torch.randn(2, 3, 6, 6)
    mask = torch.ones(2, 6, dtype=torch.long)
    assert float(losses.attention(scores, scores, mask)) == pytest.approx(0, abs=1e-7)
    assert float(losses.attention(scores + 5, scores, mask)) == pytest.approx(0, abs=1e-6), (
        "softmax sees no constant"
    )
    for head in range(3):
        other = scores.clone()
        other[1, head, 2, 4] += 0.5
        assert float(losses.attention(other, scores, mask)) > 1e-5


def test_attention_survives_scores_that_underflow() -> None:
    """A teacher that looks where the student's probability is below the smallest number still pulls it there."""
    teacher, student = torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 2, 2)
    teacher[..., 0], student[..., 1] = 300.0, 300.0
    student.requires_grad_(True)
    loss = losses.attention(student, teacher, torch.ones(1, 2, dtype=torch.long))
    loss.backward()
    assert float(loss.detach()) == pytest.approx(300.0)
    assert student.grad[0, 0, 0].tolist() == pytest.approx([-0.5, 0.5])


def test_tinybert_by_hand() -> None:
    mask = torch.tensor([[1, 1, 0]])
    student, teacher = torch.zeros(1, 2, 3, 3), torch.zeros(1, 2, 3, 3)
    teacher[0, 0, 0, 1], teacher[0, 1, 1, 0], teacher[0, 0, 2, 0], teacher[0, 0, 0, 2] = 4.0, 2.0, 50.0, 50.0
    # 16 and 4 in two heads of four real pairs; what stands at padding is 50 and does not count.
    assert float(losses.attention_scores(student, teacher, mask)) == pytest.approx((16 + 4) / (2 * 4))
    projected, wanted = torch.zeros(1, 3, 2), torch.full((1, 3, 2), 3.0)
    assert float(losses.hidden(projected, wanted, mask)) == pytest.approx(9.0)


def test_cosine_by_hand() -> None:
    mask = torch.tensor([[1, 1]])
    student = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]])
    teacher = torch.tensor([[[5.0, 0.0], [3.0, 0.0]]])
    assert float(losses.cosine(student, teacher, mask)) == pytest.approx(0.5)


def test_relations_by_hand() -> None:
    """Two tokens of width 1: the scores are products, and widths may differ where the heads divide both."""
    mask = torch.tensor([[1, 1]])
    teacher = torch.tensor([[[math.sqrt(math.log(3.0))], [0.0]]])  # rows of R: (3/4, 1/4) and (1/2, 1/2)
    student = torch.zeros(1, 2, 4)
    expected = (0.75 * math.log(1.5) + 0.25 * math.log(0.5)) / 2
    assert float(losses.relations(student, teacher, mask, heads=1)) == pytest.approx(expected, rel=1e-5)
    vectors = torch.randn(1, 2, 12)
    assert float(losses.relations(vectors, vectors, mask, heads=3)) == pytest.approx(0, abs=1e-7)
    with pytest.raises(InputError, match="relation_heads is 5, which does not divide the width 12"):
        losses.relations(vectors, vectors, mask, heads=5)


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16], ids=["bf16", "fp16"])
def test_what_is_compared_is_not_rounded(precision: torch.dtype) -> None:
    """Two that hardly differ, with products beyond fp16: autocast around a loss changes nothing."""
    generator = torch.Generator().manual_seed(0)
    teacher = 60 * torch.randn(2, 5, 64, generator=generator)
    student = teacher + 0.01 * torch.randn(2, 5, 64, generator=generator)
    mask = torch.ones(2, 5, dtype=torch.long)

    def compared() -> list[float]:
        seen, taught = (
            View(mask, heads=1, parts={("query", 0): vectors, ("key", 0): vectors})
            for vectors in (student, teacher)
        )
        return [
            float(losses.attention(seen.scores(0), taught.scores(0), mask)),
            float(losses.attention_scores(seen.scores(0), taught.scores(0), mask)),
            float(losses.relations(student, teacher, mask, heads=1)),
        ]

    exact = compared()
    with torch.autocast("cpu", precision):
        assert compared() == exact
    assert all(map(math.isfinite, exact))


def test_words_by_hand() -> None:
    """Two examples: one with a word of probability 1/2, one with two words of 1/4 each; examples count alike."""
    half, quarter = [math.log(3.0), 0.0, 0.0, 0.0], [0.0] * 4
    logits = torch.tensor([[half, half], [quarter, quarter]])
    labels = torch.tensor([[0, -100], [1, 3]])
    assert float(losses.hard_words(logits, labels)) == pytest.approx((math.log(2) + math.log(4)) / 2)
    taught = torch.tensor([[quarter, half], [quarter, quarter]])
    expected = (0.25 * math.log(0.5) + 3 * 0.25 * math.log(1.5)) / 2  # only the first word differs
    assert float(losses.soft_words(logits, taught, labels)) == pytest.approx(expected, rel=1e-5)
    assert float(losses.soft_words(taught, taught, labels, 2.0)) == pytest.approx(0, abs=1e-7)
    hot = float(losses.soft_words(2 * logits, 2 * taught, labels, 2.0))
    assert hot == pytest.approx(4 * expected, rel=1e-5), (
        "temperature 2 halves the logits and counts four times"
    )


def test_words_of_two_vocabularies() -> None:
    with pytest.raises(InputError, match="the student knows 4 words and the teacher 5"):
        losses.soft_words(torch.zeros(1, 1, 4), torch.zeros(1, 1, 5), torch.zeros(1, 1, dtype=torch.long))


def test_head_counts_that_differ_say_what_to_do() -> None:
    with pytest.raises(InputError, match=r"2 heads and the teacher's 4.*--method minilm"):
        losses.attention(torch.zeros(1, 2, 3, 3), torch.zeros(1, 4, 3, 3), torch.ones(1, 3))


MAPS = {
    "feature_map": losses.feature_map,
    "mean": losses.mean,
    "relative mean": lambda a, b, mask: losses.mean(a, b, mask, "relative"),
    "variance": losses.variance,
    "relative variance": lambda a, b, mask: losses.variance(a, b, mask, "relative"),
    "hidden": losses.hidden,
    "cosine": losses.cosine,
    "relations": lambda a, b, mask: losses.relations(a, b, mask, heads=2),
    "attention": lambda a, b, mask: losses.attention(pairs(a), pairs(b), mask),
    "scores": lambda a, b, mask: losses.attention_scores(pairs(a), pairs(b), mask),
}


def pairs(vectors: Tensor) -> Tensor:
    split = vectors.unflatten(-1, (2, -1)).transpose(1, 2)
    return split @ split.flip(-1).mT


@pytest.mark.parametrize("name", MAPS)
def test_padding_does_not_count_and_batches_are_means(name: str) -> None:
    """Whatever stands at padding, and however much of it: the mean of the examples alone, and the same gradient."""
    loss = MAPS[name]
    student, teacher = torch.randn(3, 7, 8), torch.randn(3, 7, 8)
    lengths = [7, 4, 5]
    mask = torch.tensor([[int(place < length) for place in range(7)] for length in lengths])
    alone = [
        loss(student[i : i + 1, :n], teacher[i : i + 1, :n], torch.ones(1, n, dtype=torch.long))
        for i, n in enumerate(lengths)
    ]
    student.requires_grad_(True)
    together = loss(student, teacher, mask)
    together.backward()
    together = float(together.detach())
    assert together == pytest.approx(float(torch.stack(alone).mean()), rel=1e-5)
    assert student.grad[mask == 0].abs().max() == 0
    with torch.no_grad():
        student[mask == 0], teacher[mask == 0] = 1e4, -1e4
        assert float(loss(student, teacher, mask)) == pytest.approx(together, rel=1e-5)


def test_one_huge_token_is_one_token() -> None:
    """A NoNorm teacher's [CLS] reaches 1e7: squared and times 5000 it would be all there is."""
    teacher = torch.randn(2, 6, 16)
    teacher[:, 0] *= 2.5e7
    student = (teacher * (1 + 0.1 * torch.randn(2, 6, 16))).requires_grad_(True)
    mask = torch.ones(2, 6, dtype=torch.long)
    terms = [losses.feature_map(student, teacher, mask)]
    terms += [loss(student, teacher, mask, "relative") for loss in (losses.mean, losses.variance)]
    torch.stack(terms).sum().backward()
    assert float(losses.mean(student.detach(), teacher, mask)) > 1e9
    assert max(float(term.detach()) for term in terms) < 1
    assert student.grad.isfinite().all()
    assert student.grad[:, 1:].abs().max() > 1e-3, "the other tokens learn"


def test_everything_is_finite_on_the_real_weights(unpacked) -> None:
    folder = unpacked("weights") / "mobilebert-uncased-128"
    teacher = Teacher("mobilebert", load(folder).eval().requires_grad_(False), Tokenizer.load(folder))
    assert teacher.statistics == "relative"
    rows = Tokenizer.load(folder).encode_batch(
        ["The mill by the river grinds corn.", "Rain fell on the hills all night, and the river rose."]
    )
    batch = {
        name: torch.from_numpy(getattr(rows, name))
        for name in ("input_ids", "attention_mask", "token_type_ids")
    }
    blocks = frozenset(range(24))
    wanted = Wanted(frozenset(range(25)), blocks, blocks)
    taught = teacher.look(batch, wanted)
    student = load(folder)
    with torch.no_grad():
        for weight in student.parameters():
            weight.mul_(1 + 0.01 * torch.randn_like(weight))
    seen = look(student, batch, wanted)
    terms = []
    for block in range(24):
        maps = seen.map(block + 1), taught.map(block + 1), seen.mask
        terms += [
            100 * losses.feature_map(*maps),
            losses.attention(seen.scores(block), taught.scores(block), seen.mask),
        ]
        terms += [5000 * losses.mean(*maps, "relative"), 5 * losses.variance(*maps, "relative")]
        terms += [
            losses.relations(seen.vectors("value", block), taught.vectors("value", block), seen.mask, heads=4)
        ]
    values = torch.stack(terms)
    assert values.isfinite().all()
    assert float(values.detach().max()) < 1e5
    values.sum().backward()
    assert all(weight.grad.isfinite().all() for weight in student.parameters() if weight.grad is not None)
