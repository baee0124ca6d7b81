"""The cards of the embedded models, with the numbers that the benchmarks wrote."""

from __future__ import annotations

from record import recorded

READERS = {"reader": "squad2", "mini": "mini"}
"""The entries of the results, by the names of the readers."""


def reader_card(name: str, precision: str) -> str:
    """The card of a reader, of which `benchmarks/reader.py` says how good it is."""
    measured = recorded("reader", READERS[name])
    exported, trusted = measured[precision], measured[precision]["trust"]
    rows = {
        "F1 at the fitted threshold": exported["f1"],
        "exact match at the fitted threshold": exported["exact"],
        "F1 on questions with an answer, made to answer": exported["has_answer_f1"],
        "silent on questions without one": exported["no_answer"],
        "expected calibration error": trusted["expected_calibration_error"],
        "F1 of the torch model": measured["torch"]["f1"],
        "answers equal to torch": exported["equal"],
    }
    table = "\n".join(f"| {name} | {value:.2f} |" for name, value in rows.items())
    return READER.format(
        about=ABOUT[name],
        made=MADE[name],
        precision=precision,
        questions=f"{measured['questions']:,}",
        unanswerable=f"{measured['unanswerable']:,}",
        table=table,
    )


ABOUT = {
    "reader": """# The embedded reader

An English MobileBERT (24 blocks, 24.6 million parameters, 384 positions) that answers questions with the
exact words of a text, or says that the answer is not there. Weights in eight bits, 26 MB. `pocketbert ask`
and `QuestionAnswerer.load()` use it; `pocketbert.load("pocketbert/reader")` takes it into torch.""",
    "mini": """# The small embedded reader

An English MobileBERT of six blocks (9.3 million parameters, 384 positions) that answers questions with the
exact words of a text, or says that the answer is not there. Weights in eight bits, 10 MB. `pocketbert ask
--model mini` and `QuestionAnswerer.load("mini")` use it; `pocketbert.load("pocketbert/mini")` takes it into
torch. It takes a quarter of the arithmetic of the embedded reader, which is more often right.""",
}
MADE = {
    "reader": "Fine-tuned from Google's MobileBERT",
    "mini": """Made of the embedded reader by `benchmarks/shrink.py`: the blocks that were missed least were left
out. What was left learnt from the whole reader's answers: to the questions below, but for those of RTE, to
clozes about English Wikipedia's featured articles (CC BY-SA 3.0), and to ReQA-SQuAD's questions about
sentences gathered around each answer (`benchmarks/teaching`). The last lessons were kept apart from
SQuAD 2.0's development set and from COVID-QA; some questions of COVID-QA may have been among the first, so it
is no set to measure this reader by. The whole reader was fine-tuned from Google's MobileBERT""",
}
READER = """---
language: "en"
library_name: pocketbert
pipeline_tag: question-answering
license: "apache-2.0"
base_model: "google/mobilebert-uncased"
tags: ["pocketbert", "mobilebert", "int8"]
---

{about}

## Scores

On {questions} questions of SQuAD 2.0's development set, {unanswerable} of them unanswerable, from four
articles that neither training nor calibration saw; in per cent, {precision} in the light runtime.

| | |
| --- | ---: |
{table}

## Data

{made} on a sample of SQuAD's training questions and on questions of ReQA-SQuAD
that the reader answered itself (CC BY-SA 4.0), SQuADShifts (new Wikipedia, Reddit, Amazon; CC BY 4.0),
FairytaleQA's explicit questions (Apache-2.0) and PolicyQA (MIT); on unanswerable questions that
`pocketbert.data.unanswerable` made from them; and on questions made from the inference pairs of MultiNLI's,
SNLI's and SciTail's development sets, MPE's training set (a collection under MIT) and RTE's training set.
Calibrated on the four other articles of that development set.

## Limits

English, in lower case. It finds words; it does not add, count or conclude over several places. It was
trained on paragraphs of encyclopedias, reviews, posts, stories and privacy policies: on law, medicine or
code trust its score less. It can be fooled by a passage that resembles an answer, and it repeats what a
page says, true or not.

## Licence

Apache-2.0. Made from Google's MobileBERT (google/mobilebert-uncased), Copyright 2020 The Google Research
Authors, Apache-2.0.
"""


def embedder_card(precision: str) -> str:
    """The card of the embedder, of which `benchmarks/embedder.py` says how good it is."""
    measured, words = recorded("embedder", "embedder"), recorded("embedder", "bm25")
    teacher = recorded("embedder", "all-MiniLM-L6-v2")["torch"]
    rows = []
    for title, task, score in (
        ("STS-B test, Spearman", "sts_b", "spearman"),
        ("ReQA-SQuAD test, MRR@10", "reqa", "mrr@10"),
        ("ReQA-SQuAD test, recall@1", "reqa", "recall@1"),
        ("ReQA-SQuAD test, recall@10", "reqa", "recall@10"),
        ("Cranfield, nDCG@10", "cranfield", "ndcg@10"),
    ):
        row = [found[task][score] for found in (measured[precision], measured["torch"], teacher)]
        cells = [f"{value:.2f}" for value in row]
        cells.append(f"{words[task][score]:.2f}" if task in words else "")
        rows.append(f"| {title} | {' | '.join(cells)} |")
    return EMBEDDER.format(
        precision=precision,
        dimensions=measured["dimensions"],
        parameters=f"{measured['parameters'] / 1e6:.1f}",
        table="\n".join(rows),
    )


EMBEDDER = """---
language: "en"
library_name: pocketbert
pipeline_tag: sentence-similarity
license: "apache-2.0"
base_model: "google/mobilebert-uncased"
tags: ["pocketbert", "mobilebert", "int8", "sentence-similarity"]
---

# The embedded embedder

An English MobileBERT of six blocks ({parameters} million parameters) that makes one vector of {dimensions} numbers of a
text. Texts that mean the same have vectors that point the same way. Weights in eight bits, 11 MB.
`pocketbert embed`, `similar`, `cluster`, `index`, `search` and `Embedder.load()` use it.

## Scores

In per cent, on texts that training never saw: the embedded file ({precision}, the light runtime), the same model in
torch, its teacher all-MiniLM-L6-v2 in torch (22.7 million parameters), and BM25, which matches words.

| | embedded | torch | teacher | BM25 |
| --- | ---: | ---: | ---: | ---: |
{table}

## Data

Started from the small embedded reader, taught the vectors of all-MiniLM-L6-v2 (Apache-2.0) on 300,000 sentences, then
on 32,768 passages, too: of English Wikipedia's featured articles, novels, the inference pairs of MultiNLI, SNLI,
SciTail, MPE and others, and the training questions and paragraphs of SQuAD, ReQA-SQuAD, SQuADShifts and FairytaleQA;
then trained on questions with the sentences and passages that hold their answers, on inference pairs, and on STS-B's
training pairs. It is the mean of the models after the last three of these steps. What it is measured on was left out of
all of them, sentence by sentence (`benchmarks/teaching/sentences_corpus.py`).

## Limits

English, in lower case. Texts of up to 128 tokens at once; longer ones are read in windows. It compares what texts are
about; negations and numbers count little. Names and codes are better found by their words: search uses both.

## Licence

Apache-2.0. Made from Google's MobileBERT (google/mobilebert-uncased), Copyright 2020 The Google Research
Authors, Apache-2.0.
"""
