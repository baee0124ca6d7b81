"""What a student is told about its distance from a teacher; every loss is a small function beside its equation.

Each takes the student first, then the teacher, and gives the mean over the examples of a batch of what it means over
an example's own tokens, heads or words. Padding does not count, and however examples are split into batches, the
weighted mean stays the same. Everything is computed in single precision, also where a model around it is not.

Shapes: B batch, S sequence, W width, H heads, P predicted positions, V vocabulary. `mask` (B, S) is 1 for real tokens.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from pocketbert.errors import InputError

EPSILON = 1e-12  # of the norm, as in the reference code
Statistics = Literal["absolute", "relative"]


def feature_map(student: Tensor, teacher: Tensor, mask: Tensor) -> Tensor:
    """Feature-map transfer (arXiv 2004.02984, equation 2), on maps that a norm without parameters has passed.

    FMT = 1/(T N) sum_t sum_n (norm(H_teacher)[t,n] - norm(H_student)[t,n])^2

    The reference code has the norm, the paper's equation does not show it. What the norm takes away, `mean` and
    `variance` compare. The reference code counts padding; here T is the number of real tokens.
    """
    width = student.shape[-1:]
    difference = F.layer_norm(student.float(), width, eps=EPSILON) - F.layer_norm(
        teacher.float(), width, eps=EPSILON
    )
    return over_tokens(difference.square().mean(-1), mask)


def mean(student: Tensor, teacher: Tensor, mask: Tensor, statistics: Statistics = "absolute") -> Tensor:
    """The discrepancy of the means over channels.

    beta = 1/T sum_t (mean_n H_teacher[t,n] - mean_n H_student[t,n])^2     [ / var_n H_teacher[t,n] if relative ]

    TF 1's code takes the teacher's statistics over all of its layers at once, by a slip of a name; this layer's are
    meant. A NoNorm teacher has activations of 1e7 at [CLS] and of 1 elsewhere: relative to each token's variance both
    count alike, and 5000 times the square stays a number.
    """
    difference = teacher.float().mean(-1) - student.float().mean(-1)
    return over_tokens(difference.square() / _scale(teacher, statistics), mask)


def variance(student: Tensor, teacher: Tensor, mask: Tensor, statistics: Statistics = "absolute") -> Tensor:
    """The discrepancy of the variances over channels.

    gamma = 1/T sum_t |var_n H_teacher[t,n] - var_n H_student[t,n]|     [ / var_n H_teacher[t,n] if relative ]
    """
    difference = _variance(teacher) - _variance(student)
    return over_tokens(difference.abs() / _scale(teacher, statistics), mask)


def attention(student_scores: Tensor, teacher_scores: Tensor, mask: Tensor) -> Tensor:
    """Attention transfer (arXiv 2004.02984, equation 3): how far each head looks from where the teacher's does.

    AT = 1/(T A) sum_t sum_a KL(softmax(scores_teacher[a,t]) || softmax(scores_student[a,t]))

    A true divergence, zero when both are equal. Google's two codes give the cross-entropy, which has the same gradient
    but ends at the teacher's entropy, and the second one takes a softmax of what is a softmax already. `*_scores` are
    (B, H, S, S), before the softmax.
    """
    _same_heads(student_scores, teacher_scores)
    divergence = _divergence(student_scores, teacher_scores, mask[:, None, None, :])  # (B, H, S)
    return over_tokens(divergence.mean(1), mask)


def attention_scores(student_scores: Tensor, teacher_scores: Tensor, mask: Tensor) -> Tensor:
    """TinyBERT's attention loss (arXiv 1909.10351, equation 7), on scores before the softmax.

    L_attn = 1/h sum_i MSE(A_student[i], A_teacher[i])     over pairs of real tokens
    """
    _same_heads(student_scores, teacher_scores)
    pairs = (mask[:, :, None] * mask[:, None, :]).float()  # (B, S, S)
    squares = (student_scores.float() - teacher_scores.float()).square().mean(1) * pairs
    return (squares.sum((1, 2)) / pairs.sum((1, 2)).clamp(min=1)).mean()


def hidden(projected: Tensor, teacher: Tensor, mask: Tensor) -> Tensor:
    """TinyBERT's hidden and embedding losses (arXiv 1909.10351, equations 8 and 9).

    L_hidn = MSE(H_student W, H_teacher)     W is learnt; `projected` is H_student W
    """
    return over_tokens((projected.float() - teacher.float()).square().mean(-1), mask)


def cosine(student: Tensor, teacher: Tensor, mask: Tensor) -> Tensor:
    """DistilBERT's third loss (arXiv 1910.01108, section 3): last feature maps in the same direction.

    L_cos = 1/T sum_t (1 - cos(H_student[t], H_teacher[t]))
    """
    return over_tokens(1 - F.cosine_similarity(student.float(), teacher.float(), dim=-1, eps=1e-8), mask)


def relations(student: Tensor, teacher: Tensor, mask: Tensor, *, heads: int) -> Tensor:
    """MiniLM's self-attention relations (arXiv 2012.15828, equations 6 to 8), of queries, keys or values.

    R = softmax(A A^T / sqrt(d_r)),  L = 1/(A_r T) sum_a sum_t KL(R_teacher[a,t] || R_student[a,t])

    The vectors (B, S, W) are cut into `heads` relation heads, so neither the widths nor the numbers of attention heads
    need to be equal.
    """
    scores = [_relation_scores(vectors, heads) for vectors in (student, teacher)]
    return attention(scores[0], scores[1], mask)


def hard_words(logits: Tensor, labels: Tensor) -> Tensor:
    """Masked LM: - log P_student(the word that was masked), over the predicted positions of each example.

    `logits` (B, P, V); `labels` (B, P) has -100 where nothing is predicted.
    """
    losses = F.cross_entropy(logits.float().flatten(0, 1), labels.flatten(), reduction="none")
    return over_tokens(losses.view_as(labels), labels != -100)


def soft_words(logits: Tensor, taught: Tensor, labels: Tensor, temperature: float = 1.0) -> Tensor:
    """Distillation of the masked LM (arXiv 2004.02984, equation 4): the words that the teacher finds likely.

    L_KD = tau^2 KL(softmax(z_teacher / tau) || softmax(z_student / tau))     at the predicted positions

    L_PD = alpha L_MLM + (1 - alpha) L_KD + L_NSP is put together from the weights of a stage. TF 1's "temperature"
    multiplies the teacher's last feature map instead; at 1, the paper's value, they are the same.
    """
    if logits.shape[-1] != taught.shape[-1]:
        raise InputError(
            f"the student knows {logits.shape[-1]} words and the teacher {taught.shape[-1]}: soft labels need the same "
            "vocabulary"
        )
    everything = torch.ones((), dtype=torch.long, device=logits.device)
    divergence = _divergence(logits.float() / temperature, taught.float() / temperature, everything)  # (B, P)
    return temperature**2 * over_tokens(divergence, labels != -100)


def scaled_products(queries: Tensor, keys: Tensor) -> Tensor:
    """What a softmax is taken of in attention: queries keys^T / sqrt(d), (B, H, S, d) -> (B, H, S, S).

    Without autocast, which would round every product to 8 or 11 bits, where what is compared may differ by less, and
    overflow in fp16 before the root divides it.
    """
    kind = queries.device.type
    # A plan is made on the device `meta`, which has no autocast.
    exact = torch.autocast(kind, enabled=False) if torch.amp.is_autocast_available(kind) else nullcontext()
    with exact:
        return queries.float() @ keys.float().mT / math.sqrt(queries.shape[-1])


def over_tokens(values: Tensor, mask: Tensor) -> Tensor:
    """The mean over each example's real tokens, then over the examples: (B, S) -> one number."""
    chosen = mask != 0
    sums = torch.where(chosen, values, torch.zeros_like(values)).sum(1)
    return (sums / chosen.sum(1).clamp(min=1)).mean()


def _divergence(student: Tensor, teacher: Tensor, mask: Tensor) -> Tensor:
    """KL(teacher || student) of the last axis, in logits; `mask` says which entries there are."""
    least = torch.finfo(torch.float32).min
    hidden_entries = mask == 0
    logs = [
        scores.float().masked_fill(hidden_entries, least).log_softmax(-1) for scores in (student, teacher)
    ]
    difference = F.kl_div(logs[0], logs[1], reduction="none", log_target=True)
    return difference.masked_fill(hidden_entries, 0).sum(-1)


def _relation_scores(vectors: Tensor, heads: int) -> Tensor:
    batch, length, width = vectors.shape
    if width % heads:
        raise InputError(
            f"relation_heads is {heads}, which does not divide the width {width} of the attention: choose a divisor of "
            "both widths"
        )
    split = vectors.float().view(batch, length, heads, width // heads).transpose(1, 2)  # (B, H, S, W / H)
    return scaled_products(split, split)


def _variance(values: Tensor) -> Tensor:
    return values.float().var(-1, unbiased=False)


def _scale(teacher: Tensor, statistics: Statistics) -> Tensor | float:
    return _variance(teacher).clamp(min=EPSILON) if statistics == "relative" else 1.0


def _same_heads(student: Tensor, teacher: Tensor) -> None:
    if student.shape != teacher.shape:
        raise InputError(
            f"the student's attention has {student.shape[1]} heads and the teacher's {teacher.shape[1]}, so they "
            "cannot be compared head by head: use --method minilm, whose relations need no equal heads, or "
            "--attention_weight 0"
        )
