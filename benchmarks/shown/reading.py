"""Readers: how good, how fast, how large."""

from __future__ import annotations

from record import circumstance, entries, recorded


def footprint() -> str:
    seconds = {name: pair["processor"] for name, pair in recorded("footprint", "seconds").items()}
    install = recorded("footprint", "base_install")
    alone = seconds.pop("python alone")
    rows = [f"| `{name}` | {max(0.0, value - alone):.3f} s |" for name, value in seconds.items()]
    parts = ", ".join(f"{name} {size:.0f} MB" for name, size in list(install["largest"].items())[:3])
    where = circumstance("footprint", "seconds", "machine")
    return "\n".join([
        "| | takes |",
        "| --- | ---: |",
        *rows,
        f"| base install ({parts}) | {install['megabytes']:.0f} MB |",
        "",
        f"Medians of processor time, over the {alone:.3f} s that Python itself needs, on {where}.",
    ])  # fmt: skip


def reader() -> str:
    measured = recorded("reader", "squad2")
    rows = []
    for name in ("torch", "fp32", "int8", "int8-fast", "fp16"):
        if name in measured:
            row = measured[name]
            equal = f"{row['equal']:.2f} %" if "equal" in row else ""
            size = f"{row['megabytes']:.1f} MB" if "megabytes" in row else ""
            rows.append(
                f"| {name} | {row['f1']:.1f} | {row['exact']:.1f} | {row['has_answer_f1']:.1f} | "
                f"{row['no_answer']:.1f} | {equal} | {size} |"
            )
    return "\n".join([
        "| | F1 | exact | F1 if it must answer | silent if it should be | equal to torch | size |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        (f"On {measured['questions']:,} questions of SQuAD 2.0's development set, {measured['unanswerable']:,} "
        "of them unanswerable, from articles that neither training nor calibration saw."),
    ])  # fmt: skip


def readers() -> str:
    measured = recorded("readers", "embedded")
    rows = [
        f"| `{name}` | {row['blocks']} | {row['megabytes']:.1f} MB | {row['milliseconds']['1']:.1f} ms | "
        f"{row['milliseconds']['2']:.1f} ms | {row['scores']['f1']:.1f} | {row['scores']['has_answer_f1']:.1f} | "
        f"{row['scores']['no_answer']:.1f} |"
        for name, row in measured.items()
    ]
    where = circumstance("readers", "embedded", "machine")
    return "\n".join([
        "| | blocks | size | a window | with two threads | F1 | F1 if it must answer | silent if it should be |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        f"Windows of 128 tokens, medians, in turns, on {where}; scores as in the table above.",
    ])  # fmt: skip


def latency() -> str:
    rows = []
    for key in entries("ask", "latency"):
        measured = recorded("ask", key)
        for case, contenders in measured["cases"].items():
            cells = []
            for name in ("transformers", "onnxruntime", "pocketbert", "pocketbert-fast"):
                if name in contenders:
                    found = contenders[name]
                    cells.append(f"{found['milliseconds']:,.0f} ms ({found['times_transformers']:.2f}x)")
                else:
                    cells.append("")
            windows = contenders["pocketbert"]["windows"]
            rows.append(f"| {case}, {measured['threads']} | {windows} | {' | '.join(cells)} |")
        peaks = [f"{peak:.0f} MB" for peak in measured["peak_megabytes"].values()]
        rows.append(f"| peak memory, {measured['threads']} | | {' | '.join(peaks)} |")
    where = circumstance("ask", entries("ask", "latency")[0], "machine")
    return "\n".join([
        "| case, threads | windows | transformers eager | plain onnxruntime | pocketbert int8 | pocketbert int8-fast |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        f"Medians, in turns, on {where}.",
    ])  # fmt: skip


def trade() -> str:
    rows = []
    for key in entries("ask", "trade, "):
        settings = recorded("ask", key)["settings"]
        for mode, title in (("always", "made to answer"), ("own threshold", "may be silent")):
            whole, fast = settings[f"{mode}: all"], settings[f"{mode}: least 3, miss 0.05"]
            for kind in whole:
                if kind == "unanswerable" and mode == "always":
                    continue
                rows.append(
                    f"| {key.removeprefix('trade, ')} | {kind}, {title} | {whole[kind]['questions']:,} | "
                    f"{whole[kind]['f1']:.1f} | {fast[kind]['f1']:.1f} | {fast[kind]['read']:.0f} % |"
                )
    return "\n".join([
        "| documents | questions | | F1, every window | F1, fast | windows read |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
        *rows,
    ])  # fmt: skip


def start() -> str:
    measured = recorded("ask", "start")
    rows = [
        f"| {name} | {row['wall']:.0f} ms | {row['processor']:.0f} ms |"
        for name, row in measured["milliseconds"].items()
    ]
    return "\n".join([
        "| stage | wall | processor |",
        "| --- | ---: | ---: |",
        *rows,
        f"| `pocketbert ask`, the whole command | {measured['pocketbert ask, wall']:.0f} ms | |",
    ])  # fmt: skip


def memory() -> str:
    rows = [
        f"| {int(name.split()[0]):,} words | {row['windows']:,} | {row['peak_megabytes']:.0f} MB |"
        for name, row in recorded("ask", "memory").items()
    ]
    return "\n".join(["| document | windows read | peak |", "| --- | ---: | ---: |", *rows])


def variants() -> str:
    measured = recorded("variants", "milliseconds at 1x128")
    names = list(dict.fromkeys(name.rsplit(", ", 1)[0] for name in measured))
    rows = []
    for name in names:
        norm, activation = name.split(" & ")
        plain, folded = measured[f"{name}, as it is"], measured[f"{name}, folded"]
        label = f"{NORMS[norm]} & {activation.upper() if activation == 'gelu' else 'ReLU'}"
        rows.append(f"| {label} | {PHONE[norm, activation]} ms | {plain:.1f} ms | {folded:.1f} ms |")
    return "\n".join([
        "| | the paper's phone | onnxruntime here | here, folded |",
        "| --- | ---: | ---: | ---: |",
        *rows,
    ])  # fmt: skip


def family() -> str:
    (key,) = entries("family", "1x128")
    measured = recorded("family", key)
    forms = ("torch", "fp32")
    rows = []
    for row in sorted(measured["rows"], key=lambda row: row["parameters"]):
        cells = [f"`{row['model']}`", f"{row['parameters'] / 1e6:.1f} M", f"{row['gflops']:.2f}"]
        for form in forms:
            found = row["timings"][form]
            spread = f"{found['low']:.0f} to {found['high']:.0f}"
            cells += [f"{found['milliseconds']:.0f} ms ({spread})", f"{found['peak_megabytes']:,.0f} MB"]
        rows.append(f"| {' | '.join(cells)} | {row['megabytes']['fp32']:.0f} MB |")
    times = {
        row["model"]: [row["timings"][form]["milliseconds"] for form in forms] for row in measured["rows"]
    }
    ratios = [f"{a / b:.1f}" for a, b in zip(times["albert-base"], times["mobilebert"], strict=True)]
    settings = measured["settings"]
    return "\n".join([
        "| | parameters | GFLOPs | torch | peak | exported, fp32 | peak | file |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        (f"One text of {settings['length']} tokens, threads: {settings['threads']}; medians and quartiles, in turns, "
        f"on {circumstance('family', key, 'machine')}."),
        (f"ALBERT takes {ratios[0]} times as long as MobileBERT in torch, and {ratios[1]} times as long exported."),
    ])  # fmt: skip


NORMS = {"layer_norm": "LayerNorm", "no_norm": "NoNorm"}
PHONE = {
    ("layer_norm", "gelu"): 192,
    ("layer_norm", "relu"): 167,
    ("no_norm", "gelu"): 138,
    ("no_norm", "relu"): 113,
}
"""Table 7 of the MobileBERT paper (arXiv 2004.02984), in milliseconds."""
