"""Sentence and token tasks: settings and the scores they gave."""

from __future__ import annotations

from record import circumstance, entries, recorded

LABELS = {
    "cola": "CoLA, Matthews", "mrpc": "MRPC, F1", "sts-b": "STS-B, Spearman", "rte": "RTE, accuracy",
    "sst-2": "SST-2, accuracy", "wnut17": "WNUT-17, entity F1", "ud-ewt": "UD English EWT, accuracy",
}  # fmt: skip


def tasks() -> str:
    rows = []
    found = [name for name in LABELS if name in entries("tasks", "")]
    for name in found:
        row = recorded("tasks", name)
        settings, score = row["settings"], row["score"]
        cells = [
            f"{settings['per_device_train_batch_size']}",
            f"{settings['learning_rate']:.0e}".replace("e-0", "e-"),
            f"{settings['num_train_epochs']:g}",
            *(f"{row[form][score]:.1f}" for form in ("torch", "fp32", "int8")),
            "" if row["paper"] is None else f"{row['paper']:.1f}",
        ]
        rows.append(f"| {LABELS[name]} | {' | '.join(cells)} |")
    machine = circumstance("tasks", found[0], "machine")
    return "\n".join([
        "| task, score | batch | rate | epochs | torch | ONNX | int8 | the paper's, on test |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        f"MobileBERT, fine-tuned on {machine}; GLUE on its development sets, tags on the test sets.",
    ])  # fmt: skip
