"""The reader in a browser, beside others and beside Python."""

from __future__ import annotations

from record import circumstance, entries, recorded


def speed() -> str:
    measured = recorded("web", "speed")
    rows = [
        f"| {name} | {row['sent_programs']:.2f} MB | {row['sent_model']:.1f} MB | {row['ready']:.1f} s | "
        f"{row['first_answer']:.1f} s | {row['window']:.0f} ms | {row['megabytes']:.0f} MB |"
        for name, row in measured.items()
    ]
    where = f"Medians, one thread, on {circumstance('web', 'speed', 'machine')}."
    return "\n".join([
        "| | programs sent | model sent | ready after | first answer after | a window | memory |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        f"{where} Sent with gzip; memory is that of the page's processes.",
    ])  # fmt: skip


def same() -> str:
    rows = []
    for key in entries("web", "same answers, "):
        _, model, precision = key.split(", ")
        found = recorded("web", key)
        share = 100 * found["equal"] / found["asked"]
        rows.append(f"| {model} | `{precision}` | {found['equal']} of {found['asked']} | {share:.1f} % |")
    return "\n".join(["| reader | file | equal answers | |", "| --- | --- | ---: | ---: |", *rows])
