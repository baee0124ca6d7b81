"""Students: what each way of teaching brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from record import recorded

LABELS = {
    "alone": "alone",
    "distillation": "with distillation",
    "copied": "with copied ends, too",
    "feature maps": "with feature maps, too",
    "progressive": "with attention, too: progressive",
    "joint": "joint",
    "auxiliary": "auxiliary",
}


def ablation(arms: Sequence[str], *, compared: Sequence[tuple[str, str]]) -> str:
    """Rows of transfer.json, and whether each of some differences is larger than the spread of seeds."""
    measured = recorded("transfer", "bench")
    teacher, settings = measured["teacher"], measured["settings"]
    rows = [row_of_students(arm, measured["arms"][arm]) for arm in arms]
    verdicts = [
        f"- {LABELS[better]} over {LABELS[worse]}: " + "; ".join(
            f"{name} {difference(measured['arms'][better], measured['arms'][worse], score)}"
            for score, name in (("masked_lm_accuracy", "hidden words"), ("task_accuracy", "the task"))
        )
        for better, worse in compared
    ]  # fmt: skip
    steps = 6 * settings["block_steps"] + settings["distillation_steps"]
    return "\n".join([
        "| student | hidden words, % | their loss | task, % | feature maps | attention |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        (f"| the teacher | {100 * teacher['masked_lm_accuracy']:.1f} | {teacher['masked_lm_loss']:.2f} | "
        f"{100 * teacher['task_accuracy']:.1f} | 0 | 0 |"),
        (f"| the most frequent word | {100 * measured['unigram']['unigram_accuracy']:.1f} | "
        f"{measured['unigram']['unigram_loss']:.2f} | | | |"),
        "",
        (f"Means and spreads (± half of the range) of {len(settings['seeds'])} seeds, {steps:,} steps of "
        f"{settings['batch']} texts of {settings['length']} tokens each; distances are means over the six blocks."),
        "",
        *verdicts,
    ])  # fmt: skip


def row_of_students(arm: str, found: Sequence[Mapping[str, Any]]) -> str:
    words, loss, task = (
        [row[name] for row in found] for name in ("masked_lm_accuracy", "masked_lm_loss", "task_accuracy")
    )
    distances = [
        mean(mean(layer[name] for layer in row["layers"]) for row in found)
        for name in ("feature_map", "attention")
    ]
    cells = [percent(words), f"{mean(loss):.2f}", percent(task), *(f"{value:.3f}" for value in distances)]
    return f"| {LABELS[arm]} | {' | '.join(cells)} |"


def percent(values: Sequence[float]) -> str:
    return f"{100 * mean(values):.1f} ± {50 * (max(values) - min(values)):.1f}"


def difference(better: Sequence[Mapping[str, Any]], worse: Sequence[Mapping[str, Any]], score: str) -> str:
    """The difference of two means in points, and of each seed; undecided if it is no larger than seeds' range."""
    first, second = ([100 * row[score] for row in found] for found in (better, worse))
    gain = mean(first) - mean(second)
    spread = max(max(values) - min(values) for values in (first, second))
    pairs = " and ".join(f"{one - other:+.1f}" for one, other in zip(first, second, strict=True))
    undecided = "" if abs(gain) > spread else f", undecided: seeds differ by {spread:.1f}"
    return f"{gain:+.1f} ({pairs}{undecided})"


def ablation_parts() -> str:
    return ablation(
        ("alone", "distillation", "copied", "feature maps", "progressive"),
        compared=[
            ("distillation", "alone"), ("copied", "distillation"),
            ("feature maps", "copied"), ("progressive", "feature maps"),
        ],
    )  # fmt: skip


def ablation_schedules() -> str:
    return ablation(
        ("copied", "auxiliary", "joint", "progressive"),
        compared=[("joint", "auxiliary"), ("progressive", "joint"), ("auxiliary", "copied")],
    )


def compression() -> str:
    measured = recorded("compress", "methods")
    rows = []
    for method, row in measured["methods"].items():
        distances = [
            f"{mean(layer[name] for layer in row['layers']):.2f}" if row["layers"] else ""
            for name in ("feature_map", "attention")
        ]
        rows.append(scored(method, row, *distances))
    settings, head = measured["settings"], measured["masked_lm_head"]
    removal = recorded("compress", "removal-short")
    rows.append(scored("the reader's own blocks", removal["scores"], "", ""))
    learnt = sum(stage["steps"] for stage in removal["stages"])
    return "\n".join([
        "| transfer | F1 where there is an answer | F1, best threshold | feature maps | attention |",
        "| --- | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        (f"{settings['transfer_steps']:,} steps of transfer and {settings['reader_steps']:,} of reading, "
        f"{settings['batch']} windows of {settings['length']} tokens each; "
        "without transfer, all of them of reading. "
        f"The reader's own blocks: {learnt:,} of reading while they become fewer. One seed. "
        f"The head for words that `distilbert` needs, trained on the frozen encoder, finds "
        f"{100 * head['masked_lm_accuracy']:.1f} % of the hidden words; the most frequent word is "
        f"{100 * head['unigram_accuracy']:.1f} % of them."),
    ])  # fmt: skip


def scored(name: str, row: dict[str, float], *more: str) -> str:
    cells = [name, f"{row['HasAns_f1']:.1f}", f"{row['best_f1']:.1f}", *more]
    return f"| {' | '.join(cells)} |"
