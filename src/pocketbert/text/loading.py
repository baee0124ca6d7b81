"""A folder or a file -> the settings of its tokenizer, and back: which file counts, and which kind it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from pocketbert.errors import TokenizerError
from pocketbert.text import bytepairs_files, unigram_files, wordpiece_files
from pocketbert.text.bytepairs import BytePairs
from pocketbert.text.engine import Engine
from pocketbert.text.files import read_bytes, read_json, read_text
from pocketbert.text.json_fields import Fields
from pocketbert.text.layout import Layout
from pocketbert.text.unigram import Unigram
from pocketbert.text.vocabulary import Kind, Vocabulary
from pocketbert.text.wordpiece import WordPiece

EMBEDDED = Path(__file__).parent.parent / "assets" / "uncased"


class Settings(Protocol):
    """What every kind of tokenizer has."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The words."""

    @property
    def layout(self) -> Layout:
        """The special tokens around texts."""

    @property
    def lowercase(self) -> bool:
        """Whether texts are read in lower case."""

    def kind(self, word: str) -> Kind:
        """What sort of entry a word of the vocabulary is."""

    def plain(self, word: str) -> str:
        """The letters of a word."""

    def continues(self, word: str, text: str, start: int, /) -> bool:
        """Whether a token that starts there goes on inside a word of the text."""

    def engine(self) -> Engine:
        """Build the engine."""


# Model type in a tokenizer.json -> its reader.
READERS: dict[str, Callable[[Fields, Fields], Settings]] = {
    "WordPiece": wordpiece_files.from_tokenizer_json,
    "BPE": bytepairs_files.from_tokenizer_json,
    "Unigram": unigram_files.from_tokenizer_json,
}
# The file that counts in a folder is the first of these that is there.
FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "spiece.model")
PATTERNS = (*FILES, "merges.txt", "tokenizer_config.json")
"""All files that can belong to a tokenizer."""


def read_settings(path: Path) -> Settings:
    """Settings from a model folder or one file of it, with what stands beside it in tokenizer_config.json."""
    if path.parent == EMBEDDED.parent:
        path = EMBEDDED  # embedded models share one vocabulary
    file = path
    if path.is_dir():
        file = next((path / name for name in FILES if (path / name).exists()), path)
        if file == path:
            raise TokenizerError(
                f"the folder {path} has neither a tokenizer.json nor a vocab.txt, a vocab.json or a spiece.model; "
                "give a model folder"
            )
    elif not path.exists():
        raise TokenizerError(
            f"{path} does not exist; give a model folder, a tokenizer.json, a vocab.txt, a vocab.json or a spiece.model"
        )
    beside = file.with_name("tokenizer_config.json")
    config = read_json(beside) if beside.exists() else {}
    if file.suffix == ".model":
        piece_data = read_bytes(file)
        with naming(file):
            _refuse_added_words(file)
            return unigram_files.from_spiece_model(piece_data, config)
    if file.name in ("vocab.json", "merges.txt"):
        return _with_merges(file.with_name("vocab.json"), file.with_name("merges.txt"), config)
    if file.suffix == ".json":
        data = read_json(file)
        with naming(file):
            return READERS[_model_type(data)](data, config)
    text = read_text(file)
    with naming(file):
        _refuse_added_words(file)
        return wordpiece_files.from_vocab_txt(text, config)


def write_settings(settings: Settings, folder: Path, *, model_max_length: int | None) -> None:
    """Write the files of a tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    config: dict[str, object] = {} if model_max_length is None else {"model_max_length": model_max_length}
    match settings:
        case WordPiece():
            wordpiece_files.save(settings, folder, config)
        case BytePairs():
            bytepairs_files.save(settings, folder, config)
        case Unigram():
            unigram_files.save(settings, folder, config)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the name of a file before what is wrong with it."""
    try:
        yield
    except TokenizerError as error:
        raise TokenizerError(f"{path}: {error}") from error
    except RecursionError as error:
        raise TokenizerError(f"{path} is nested too deeply; that is no tokenizer") from error


def _with_merges(words: Path, merges: Path, config: Fields) -> Settings:
    for file, other in ((words, merges), (merges, words)):
        if not other.exists():
            raise TokenizerError(
                f"{file} needs a {other.name} beside it; copy both from where the model came from"
            )
    vocabulary, pairs = read_json(words), read_text(merges)
    with naming(words):
        _refuse_added_words(words)
        return bytepairs_files.from_vocab_json(vocabulary, pairs, config)


def _refuse_added_words(file: Path) -> None:
    # An old way to keep words beside a vocabulary. Without them the ids would be nearly right.
    path = file.with_name("added_tokens.json")
    if path.exists() and read_json(path):
        raise TokenizerError(
            f"{path.name} adds words to it; save the tokenizer with transformers once, "
            "which writes a tokenizer.json that holds them"
        )


def _model_type(data: Fields) -> str:
    model = data.get("model")
    kind = model.get("type", _told_by_fields(model)) if isinstance(model, dict) else None
    if not isinstance(kind, str) or kind not in READERS:
        raise TokenizerError(f"the model type is {kind!r}; supported: {', '.join(READERS)}")
    return kind


def _told_by_fields(model: Fields) -> str | None:
    """The type in files that are older than the field for it."""
    if "merges" in model:
        return "BPE"
    if "unk_id" in model:
        return "Unigram"
    return "WordPiece" if "continuing_subword_prefix" in model else None
