"""Sentence vectors: what they are worth, and how fast they are made."""

from __future__ import annotations

from record import circumstance, entries, recorded

TEACHER = "all-MiniLM-L6-v2"
NAMES = {"embedder": "the embedded embedder", TEACHER: f"{TEACHER}, its teacher"}
SCORES = (
    ("sts_b", "spearman"),
    ("reqa", "mrr@10"),
    ("reqa", "recall@1"),
    ("reqa", "recall@10"),
    ("reqa_both", "mrr@10"),
    ("cranfield", "ndcg@10"),
    ("cranfield_both", "ndcg@10"),
)


def scores() -> str:
    rows = []
    for name, title in NAMES.items():
        measured = recorded("embedder", name)
        for form in ("torch", "fp32", "int8", "int8-fast"):
            if form in measured:
                size = f"{measured[form]['megabytes']:.1f} MB" if "megabytes" in measured[form] else ""
                rows.append(f"| {title}, {form} | {size} | {' | '.join(cells_of(measured[form]))} |")
    rows.append(f"| BM25 |  | {' | '.join(cells_of(recorded('embedder', 'bm25')))} |")
    return "\n".join([
        ("| | size | STS-B, Spearman | ReQA, MRR@10 | recall@1 | recall@10 | with words "
        "| Cranfield, nDCG@10 | with words |"),
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        ("STS-B's test pairs; ReQA-SQuAD's test questions, each of which looks for the sentence with its answer among "
        "10,246; Cranfield's 225 questions on 1,400 abstracts. With words: fused with BM25's order, as in a search."),
    ])  # fmt: skip


def cells_of(measured: dict[str, dict[str, float]]) -> list[str]:
    return [f"{measured[task][score]:.1f}" if task in measured else "" for task, score in SCORES]


def speeds() -> str:
    keys = entries("sentences", "threads")
    names = list(recorded("sentences", keys[0])["encode"]["contenders"])
    rows = []
    for name in names:
        cells = []
        for key in keys:
            measured = recorded("sentences", key)
            row = measured["encode"]["contenders"][name]
            cells += [f"{row['sentences_per_second']:,.0f} ({row['times']:.2f}x)"]
            cells += [f"{measured['pair']['contenders'][name]['seconds']:,.1f} s"]
        first = recorded("sentences", keys[0])["encode"]
        near = first["cosine"].get(name, {}).get("mean")
        cells += [
            "" if near is None else f"{near:.4f}",
            f"{first['contenders'][name]['peak_megabytes']:,} MB",
        ]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    count = next(found["count"] for key in keys if "count" in (found := recorded("sentences", key)))
    several = [recorded("sentences", key)["threads"] for key in keys]
    heads = [
        part for threads in several for part in (f"a second, threads: {threads}", "the most alike of 10,000")
    ]
    return "\n".join([
        f"| | {' | '.join(heads)} | cosine | memory |",
        f"| --- | {' | '.join(['---:'] * (len(heads) + 2))} |",
        *rows,
        "",
        (f"Sentences of {first['words']:.0f} words on average, on {circumstance('sentences', keys[0], 'machine')}. "
        "The cosine is with the vectors that sentence-transformers makes of the same model. A cross-encoder read "
        f"{count['pairs_per_second']:.1f} pairs a second: all {count['pairs']:,} pairs would take it "
        f"{count['hours']:,.0f} hours."),
    ])  # fmt: skip
