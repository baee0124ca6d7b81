"""Losses for sentence vectors against their formulas, and large batches in chunks against whole ones."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from pocketbert.data.sentences import FORMATS, SentenceLesson, losses, make_loss
from pocketbert.data.sentences import lesson as lesson_module
from pocketbert.heads import build, sentence_model
from pocketbert.model import preset
from pocketbert.text.sentence_config import Dense, SentenceConfig

NAMES = list(FORMATS)


def drawn(columns: int, rows: int = 6, dimensions: int = 8, seed: int = 0) -> torch.Tensor:
    return torch.randn(columns, rows, dimensions, generator=torch.Generator().manual_seed(seed))


def cosines(u: torch.Tensor, v: torch.Tensor) -> list[float]:
    return [float(a @ b / (a.norm() * b.norm())) for a, b in zip(u, v, strict=True)]


def test_cosine_regression_is_the_squared_error_of_the_cosine() -> None:
    vectors, scores = drawn(2), torch.tensor([0.1, 0.9, 0.5, -1.0, 1.0, 0.0])
    expected = sum((c - float(y)) ** 2 for c, y in zip(cosines(*vectors), scores, strict=True)) / 6
    assert float(losses.cosine_regression(vectors, scores)) == pytest.approx(expected, rel=1e-5)


def test_cosent_counts_every_pair_of_pairs_in_the_wrong_order() -> None:
    vectors, scores = drawn(2), [0.1, 0.9, 0.5, 0.5, 1.0, 0.0]
    found = cosines(*vectors)
    total = sum(
        math.exp(20 * (found[j] - found[i])) for i in range(6) for j in range(6) if scores[i] > scores[j]
    )
    loss = losses.cosent(vectors, torch.tensor(scores))
    assert float(loss) == pytest.approx(math.log(1 + total), rel=1e-5)


def test_cosent_of_equal_scores_is_nothing() -> None:
    vectors = drawn(2).requires_grad_()
    loss = losses.cosent(vectors, torch.ones(6))
    loss.backward()
    assert float(loss.detach()) == 0
    assert float(vectors.grad.abs().max()) == 0


def test_contrastive_draws_together_and_pushes_apart() -> None:
    vectors, labels = drawn(2), torch.tensor([1.0, 0, 1, 0, 0, 1])
    distances = [1 - c for c in cosines(*vectors)]
    expected = [0.5 * (d**2 if y else max(0.0, 0.5 - d) ** 2) for d, y in zip(distances, labels, strict=True)]
    assert float(losses.contrastive(vectors, labels)) == pytest.approx(sum(expected) / 6, rel=1e-5)


def test_triplet_is_a_hinge_of_distances() -> None:
    anchor, positive, negative = vectors = drawn(3)
    expected = [
        max(0.0, float((a - p).norm() - (a - n).norm()) + 1)
        for a, p, n in zip(anchor, positive, negative, strict=True)
    ]
    assert float(losses.triplet(vectors)) == pytest.approx(sum(expected) / 6, rel=1e-5)


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_ranking_is_a_choice_among_all_candidates(columns: int) -> None:
    vectors = drawn(columns)
    candidates = [vector for column in vectors[1:] for vector in column]
    expected = 0.0
    for row, anchor in enumerate(vectors[0]):
        logits = [20 * c for c in cosines([anchor] * len(candidates), candidates)]
        expected += math.log(sum(map(math.exp, logits))) - logits[row]
    assert float(losses.ranking(vectors)) == pytest.approx(expected / 6, rel=1e-5)


def test_ranking_takes_no_text_for_its_own_negative() -> None:
    vectors = drawn(3)
    vectors[1, 4] = vectors[1, 1]  # rows 1 and 4 have the same positive,
    vectors[0, 3] = vectors[0, 2]  # rows 2 and 3 the same anchor,
    vectors[2, 0] = vectors[1, 5]  # and the negative of row 0 is the positive of row 5
    numbers = torch.arange(18).view(3, 6)
    numbers[1, 4], numbers[0, 3], numbers[2, 0] = numbers[1, 1], numbers[0, 2], numbers[1, 5]
    logits = 20 * F.normalize(vectors[0], dim=-1) @ F.normalize(vectors[1:].flatten(0, 1), dim=-1).T
    left_out = {(1, 4), (4, 1), (2, 3), (3, 2), (5, 6)}
    expected = 0.0
    for row in range(6):
        kept = [logits[row, place] for place in range(12) if (row, place) not in left_out]
        expected += float(torch.stack(kept).logsumexp(0) - logits[row, row])
    assert float(losses.ranking(vectors, numbers=numbers)) == pytest.approx(expected / 6, rel=1e-5)


def test_softmax_reads_both_vectors_and_their_difference() -> None:
    u, v = vectors = drawn(2)
    loss = losses.SoftmaxLoss(8, 3)
    labels = torch.tensor([0, 1, 2, 2, 1, 0])
    flat = torch.cat([u, v, (u - v).abs()], dim=-1) @ loss.weight.flatten(1).T + loss.bias
    assert torch.allclose(loss.logits(vectors), flat, atol=1e-6)
    assert torch.allclose(loss(vectors, {"labels": labels}), F.cross_entropy(flat, labels))


def test_distances_from_a_teacher() -> None:
    vectors, taught = F.normalize(drawn(1), dim=-1), F.normalize(drawn(1, seed=1)[0], dim=-1)
    expected = sum(1 - c for c in cosines(vectors[0], taught)) / 6
    assert float(losses.angle(vectors, taught)) == pytest.approx(expected, rel=1e-5)
    assert float(losses.distance(vectors, taught)) == pytest.approx(2 * expected, rel=1e-5)


def lesson_of(name: str, *, dropout: float = 0.0, **options: object) -> SentenceLesson:
    torch.manual_seed(5)
    shape = replace(preset("bert-nano"), hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout)
    model = sentence_model(build(shape), SentenceConfig(dimensions=12, dense=Dense(32, 12)))
    loss = make_loss(name, dimensions=12, labels=3, taught_dimensions=12)
    return SentenceLesson(model, loss, **options)


def batch_of(name: str, rows: int = 5) -> dict:
    draw = torch.Generator().manual_seed(2)
    columns = len(FORMATS[name].texts)
    mask = (torch.arange(7)[None] < torch.randint(3, 8, (columns * rows, 1), generator=draw)).long()
    ids = torch.randint(1000, 2000, mask.shape, generator=draw) * mask
    labels = {"class": torch.tensor([0, 1, 2, 1, 0]), "binary": torch.tensor([0.0, 1, 1, 0, 1])}
    return {
        "input_ids": ids,
        "attention_mask": mask,
        "token_type_ids": torch.zeros_like(ids),
        "columns": columns,
        "labels": labels.get(FORMATS[name].kind, torch.tensor([0.2, 0.4, 0.1, 0.9, 0.5])),
        "taught": F.normalize(torch.randn(rows, 12, generator=draw), dim=-1),
        "numbers": torch.arange(columns * rows).view(columns, rows),
    }


def gradients(lesson: SentenceLesson, batch: dict) -> tuple[float, dict[str, torch.Tensor]]:
    lesson.train()
    torch.manual_seed(1)
    loss, _ = lesson(batch)
    loss.backward()
    found = {name: weight.grad for name, weight in lesson.named_parameters() if weight.grad is not None}
    return float(loss.detach()), found


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_in_chunks_has_the_gradients_of_the_whole(name: str) -> None:
    whole, pieces = lesson_of(name), lesson_of(name, chunk=4)
    (loss, expected), (other, found) = (gradients(lesson, batch_of(name)) for lesson in (whole, pieces))
    assert loss == pytest.approx(other, rel=1e-5)
    assert found.keys() == expected.keys()
    largest = max(float(value.abs().max()) for value in expected.values())
    assert largest > 1e-6
    for weight, value in expected.items():
        assert torch.allclose(found[weight], value, atol=1e-5 * largest), weight


def test_texts_of_like_length_together_have_the_gradients_of_the_whole(monkeypatch) -> None:
    batch = batch_of("ranking")
    lengths: list[int] = []
    loss, expected = gradients(lesson_of("ranking"), batch)
    monkeypatch.setattr(lesson_module, "TOGETHER", 3)
    lesson = lesson_of("ranking")
    lesson.model.register_forward_pre_hook(lambda _, inputs: lengths.append(inputs[0].shape[1]))
    other, found = gradients(lesson, batch)
    assert loss == pytest.approx(other, rel=1e-5)
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1] == 7
    largest = max(float(value.abs().max()) for value in expected.values())
    for weight, value in expected.items():
        assert torch.allclose(found[weight], value, atol=1e-5 * largest), weight


def test_chunks_repeat_their_dropout() -> None:
    """What is read the second time is what was read the first: the loss falls along the gradient."""
    lesson, batch = lesson_of("distill", chunk=2, dropout=0.1), batch_of("distill")
    loss, found = gradients(lesson, batch)
    weights = dict(lesson.named_parameters())
    size = 1e-3 / math.sqrt(sum(float(value.square().sum()) for value in found.values()))
    with torch.no_grad():
        for name, value in found.items():
            weights[name] -= size * value
        torch.manual_seed(1)
        lesson.zero_grad()
    with torch.enable_grad():
        torch.manual_seed(1)
        after = float(lesson(batch)[0].detach())
    slope = sum(float(value.square().sum()) for value in found.values())
    assert loss - after == pytest.approx(size * slope, rel=0.05)


@pytest.mark.parametrize("name", NAMES)
def test_matryoshka_is_the_mean_over_first_dimensions(name: str) -> None:
    lesson, batch = lesson_of(name, matryoshka=[12, 5]).eval(), batch_of(name)
    with torch.no_grad():
        loss, parts = lesson(batch)
        vectors = lesson.vectors(batch).unflatten(0, (batch["columns"], -1))
        expected = []
        for size in (12, 5):
            cut = {**batch, "taught": F.normalize(batch["taught"][:, :size], dim=-1)}
            expected.append(lesson.loss(F.normalize(vectors[..., :size], dim=-1), cut))
    assert [float(parts["loss_12"]), float(parts["loss_5"])] == pytest.approx([float(e) for e in expected])
    assert float(loss) == pytest.approx(float(sum(expected)) / 2)


def test_a_layer_learns_along_where_dimensions_differ() -> None:
    loss = make_loss("distill", dimensions=12, taught_dimensions=20)
    assert loss.projection.weight.shape == (20, 12)
    assert make_loss("distill", dimensions=12, taught_dimensions=12).projection is None
