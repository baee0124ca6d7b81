"""`QuestionAnswerer`: questions about texts, answered with the texts' own words, or not at all."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias, overload

from pocketbert.errors import CheckpointError, InputError
from pocketbert.runtime.answer import Result
from pocketbert.runtime.documents import Document, Plan
from pocketbert.runtime.folder import find_reader
from pocketbert.runtime.inputs import AHEAD, is_list, kind_of
from pocketbert.runtime.inquiry import Inquiry
from pocketbert.runtime.options import Options
from pocketbert.runtime.reading import read
from pocketbert.runtime.session import EngineName, Precision, Session
from pocketbert.text.calibration import Calibration
from pocketbert.text.tokenizer import Tokenizer

Context: TypeAlias = str | Document
Pair: TypeAlias = tuple[str, Context]

LONGEST_QUESTION = 10_000  # characters; no window has room for a question of that length


class QuestionAnswerer:
    """Finds the answer to a question in a text, word for word, and says how sure it is.

        qa = QuestionAnswerer.load()
        result = qa("Where does Bert live?", text, top_k=3)
        for answer in result:
            print(answer.score, answer.text, answer.sentence.text)

    A text may be of any length. If it holds no answer, the result is empty.
    """

    def __init__(
        self,
        session: Session,
        tokenizer: Tokenizer,
        calibration: Calibration,
        *,
        calibrated: bool = True,
        positions: int | None = None,
    ) -> None:
        if not {"start_logits", "end_logits"} <= set(session.outputs):
            raise CheckpointError(
                f"{session.path} gives {', '.join(session.outputs)}; a reader gives start_logits and end_logits: "
                "take a model that was trained for question answering"
            )
        self.session = session
        self.tokenizer = tokenizer
        self.calibration = calibration
        self.calibrated = calibrated
        """Whether the calibration was fitted; if not, scores are the model's bare softmax over a document."""
        self.positions = positions

    @classmethod
    def load(
        cls,
        name_or_folder: str | os.PathLike[str] | None = None,
        *,
        precision: Precision | None = None,
        threads: int | None = None,
        engine: EngineName = "onnxruntime",
        revision: str | None = None,
    ) -> QuestionAnswerer:
        """The embedded reader, or that of a model folder or a hub name; see `Session.load` for the other choices."""
        found = find_reader(name_or_folder, precision=precision, revision=revision)
        session = Session.load(found.path, precision=precision, threads=threads, engine=engine)
        return cls(
            session,
            found.tokenizer,
            found.calibration,
            calibrated=found.calibrated,
            positions=found.positions,
        )

    @overload
    def __call__(self, question: str, context: Context, **options: Any) -> Result: ...
    @overload
    def __call__(self, question: Sequence[str], context: Context, **options: Any) -> list[Result]: ...
    @overload
    def __call__(
        self, question: str | Sequence[str], context: Sequence[Context], **options: Any
    ) -> list[Result]: ...
    def __call__(
        self, question: str | Sequence[str], context: Context | Sequence[Context], **options: Any
    ) -> Result | list[Result]:
        """Answer a question about a context; several questions, several contexts, or as many of both, give a list.

        The options, with their defaults, are the fields of `pocketbert.runtime.options.Options`: `top_k=1`,
        `read="fast"` or `"all"`, `deadline=None` in seconds for the whole call, `progress=None`, `threshold=None` …
        """
        questions = list(question) if is_list(question) else None
        contexts = list(context) if is_list(context) else None
        if questions is None and contexts is None:
            pair: Any = (question, context)
            return self.results([pair], Options.of(options))[0]
        questions = [question] * len(contexts or ()) if questions is None else questions
        contexts = [context] * len(questions) if contexts is None else contexts
        if len(questions) != len(contexts):
            raise InputError(
                f"there are {len(questions)} questions and {len(contexts)} contexts; "
                "give as many of both, or one of either"
            )
        return list(self.answers(zip(questions, contexts, strict=True), **options))

    def answers(
        self, stream: Iterable[Pair | Mapping[str, Any]], *, ahead: int = AHEAD, **options: Any
    ) -> Iterator[Result]:
        """Answer pairs of question and context, or dictionaries that hold them, as they come, in order.

        `ahead` pairs are taken from the stream before the first is answered, and read together in batches of like
        length; 1 answers each at once.
        """
        if not isinstance(ahead, int) or isinstance(ahead, bool) or ahead < 1:
            raise InputError(f"ahead is {ahead!r}; it must be a whole number from 1 up")
        return self._stream(iter(stream), ahead, Options.of(options))

    def among(self, question: str, contexts: Sequence[Context], **options: Any) -> Result:
        """Answer one question from several texts that are read as if they were one document.

        `Answer.document` is the place of the text that an answer is from, and probabilities are over all of them.
        """
        if not is_list(contexts) or not contexts:
            raise InputError(f"the contexts are {kind_of(contexts)}; give a list of at least one text")
        choices = Options.of(options)
        documents = [self.document(context) for context in contexts]
        inquiry = self.inquiry(question, documents, choices)
        self._read([inquiry], choices, self._until(choices))
        return inquiry.result()

    def document(self, text: Context) -> Document:
        """A text tokenised once and for all, to be given as context to any number of questions."""
        if isinstance(text, Document):
            if text.tokenizer is not self.tokenizer:
                raise InputError(
                    "the document was made by another reader; make it with this one's document()"
                )
            return text
        if not isinstance(text, str):
            raise InputError(f"the context is {kind_of(text)}; it must be a text (str)")
        if not text.strip():
            raise InputError("the context is empty; it must hold the text that the question is about")
        return Document.of(text, self.tokenizer)

    def _stream(
        self, stream: Iterator[Pair | Mapping[str, Any]], ahead: int, options: Options
    ) -> Iterator[Result]:
        until = self._until(options)
        documents: dict[str, Document] = {}
        while pairs := [_pair(entry) for entry in islice(stream, ahead)]:
            yield from self.results(pairs, options, until=until, documents=documents)
            # Only what the last batch needed: the next one may go on with the same text.
            documents = {text: documents[text] for _, text in pairs if isinstance(text, str)}

    def results(
        self,
        pairs: Sequence[Pair],
        options: Options,
        *,
        until: float | None = None,
        documents: dict[str, Document] | None = None,
        same: Callable[[str], str] = str,
    ) -> list[Result]:
        """Answer some pairs together; texts that are the `same` count as one answer, and `documents` are kept there."""
        known = {} if documents is None else documents
        inquiries = []
        for question, context in pairs:
            if isinstance(context, str) and context in known:
                document = known[context]
            else:
                document = self.document(context)
                known[document.text] = document
            inquiries.append(self.inquiry(question, [document], options))
        self._read(inquiries, options, until or self._until(options))
        return [inquiry.result(same=same) for inquiry in inquiries]

    def inquiry(self, question: str, documents: Sequence[Document], options: Options) -> Inquiry:
        """A question that is ready to be read, for callers that read in their own way."""
        if not isinstance(question, str):
            raise InputError(f"the question is {kind_of(question)}; it must be a text (str)")
        if not question.strip():
            raise InputError("the question is empty; ask something")
        if len(question) > LONGEST_QUESTION:
            raise InputError(
                f"the question has {len(question):,} characters; at most {LONGEST_QUESTION:,} are allowed. "
                "The text to be searched is the context"
            )
        window = options.window or self.calibration.window
        if self.positions is not None and window > self.positions:
            raise InputError(f"window is {window}; this model reads at most {self.positions} tokens at once")
        overlap = self.calibration.overlap if options.overlap is None else options.overlap
        ids = tuple(token for token, _ in self.tokenizer.stream(question))
        plan = Plan.of(ids, documents, max_length=window, overlap=overlap)
        return Inquiry(question, plan, self.calibration, options)

    def _read(self, inquiries: Sequence[Inquiry], options: Options, until: float | None) -> None:
        read(inquiries, self.session, self.tokenizer, until=until, progress=options.progress)

    def _until(self, options: Options) -> float | None:
        return None if options.deadline is None else time.monotonic() + options.deadline

    def __repr__(self) -> str:
        return f"<QuestionAnswerer of {self.session.path}>"


def _pair(entry: object) -> Pair:
    if isinstance(entry, Mapping):
        missing = [name for name in ("question", "context") if name not in entry]
        if missing:
            raise InputError(
                f"a dictionary has no {' and no '.join(missing)}; it has {', '.join(map(str, entry))}"
            )
        return entry["question"], entry["context"]
    if isinstance(entry, Sequence) and not isinstance(entry, (str, bytes)) and len(entry) == 2:
        return entry[0], entry[1]
    raise InputError(
        f"an entry of the stream is {kind_of(entry)}; give pairs of question and context, or dictionaries"
    )
