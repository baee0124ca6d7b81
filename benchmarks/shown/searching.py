"""Searching: what is found and answered, and how stores grow."""

from __future__ import annotations

from record import circumstance, recorded

WAYS = {"words": "words", "vectors": "vectors", "both": "both", "everything": "everything is read"}
STORES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}


def quality() -> str:
    measured = recorded("search", "quality")
    rows = []
    for part in ("all", "sample"):
        found = measured[part]
        for way, row in found["ways"].items():
            cells = ["", "", "", ""]
            if "paragraph_at" in row:
                cells = [f"{row['paragraph_at'][depth]:.1f}" for depth in ("1", "5", "20")]
                cells.append(f"{row['search_milliseconds']:.0f} ms")
            rows.append(
                f"| {found['paragraphs']:,} | {WAYS[way]} | {' | '.join(cells)} | {row['f1']:.1f} | "
                f"{row['exact']:.1f} | {row['ask_milliseconds']:,.0f} ms |"
            )
    whole, sample = measured["all"], measured["sample"]
    return "\n".join([
        "| paragraphs | by | the right one first, % | among 5 | among 20 | searched in | F1 | exact | answered in |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        (f"{whole['questions']:,} questions on {whole['passages']:,} passages and {sample['questions']:,} on "
        f"{sample['passages']:,}, all with an answer; the reader read the best {measured['passages_read']} passages "
        f"and had to answer. Embedder: {measured['embedder']}. Medians on "
        f"{circumstance('search', 'quality', 'machine')}."),
    ])  # fmt: skip


def growth() -> str:
    measured = recorded("search", "growth")
    rows = []
    for store, sizes in measured["stores"].items():
        for row in sizes:
            times = [
                f"{row['latency'][way]['p50']:.1f} / {row['latency'][way]['p95']:.1f} ms"
                for way in list(WAYS)[:3]
            ]
            rows.append(
                f"| {STORES[store]} | {row['passages']:,} | {row['stored_a_second']:,.0f} | "
                f"{row['megabytes']:,.0f} MB | {row['peak_megabytes']:,.0f} MB | {' | '.join(times)} |"
            )
    last = max(
        (row for sizes in measured["stores"].values() for row in sizes), key=lambda row: row["passages"]
    )
    return "\n".join([
        "| store | passages | stored a second | on disk | peak memory | words | vectors | both |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        (f"Times are p50 / p95 of {measured['queries']} questions, on {circumstance('search', 'growth', 'machine')}. "
        f"To embed one takes {measured['embed_query_milliseconds']:.0f} ms more, and {measured['embedder']} embeds "
        f"{measured['embedded_a_second']:.0f} passages a second. The vectors of the first "
        f"{measured['embedded_passages']:,} passages are real, those of the others are mixed from these; "
        f"{last['passages_from_data']:,} texts are from the data, in the others their sentences are mixed. Memory is "
        "that of the process that indexes, not of the server."),
    ])  # fmt: skip
