"""A folder or a file -> the settings of its tokenizer: which file counts, and which kind of tokenizer it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pocketbert.errors import TokenizerError
from pocketbert.text.files import read_json, read_text
from pocketbert.text.wordpiece import WordPiece
from pocketbert.text.wordpiece_files import from_tokenizer_json, from_vocab_txt

EMBEDDED = Path(__file__).parent.parent / "assets" / "uncased"

# Model type in a tokenizer.json -> its reader. BPE and Unigram get their lines here.
READERS = {"WordPiece": from_tokenizer_json}


def read_settings(path: Path) -> WordPiece:
    """Settings from a model folder or one file of it, with what stands beside it in tokenizer_config.json."""
    if path.parent == EMBEDDED.parent:
        path = EMBEDDED  # embedded models share one vocabulary
    file = path
    if path.is_dir():
        file = next((path / name for name in ("tokenizer.json", "vocab.txt") if (path / name).exists()), path)
        if file == path:
            raise TokenizerError(
                f"the folder {path} has neither a tokenizer.json nor a vocab.txt; give a model folder"
            )
    elif not path.exists():
        raise TokenizerError(f"{path} does not exist; give a model folder, a tokenizer.json or a vocab.txt")
    beside = file.with_name("tokenizer_config.json")
    config = read_json(beside) if beside.exists() else {}
    if file.suffix == ".json":
        data = read_json(file)
        with naming(file):
            return READERS[_model_type(data)](data, config)
    text = read_text(file)
    with naming(file):
        _refuse_added_words(file.with_name("added_tokens.json"))
        return from_vocab_txt(text, config)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the name of a file before what is wrong with it."""
    try:
        yield
    except TokenizerError as error:
        raise TokenizerError(f"{path}: {error}") from error
    except RecursionError as error:
        raise TokenizerError(f"{path} is nested too deeply; that is no tokenizer") from error


def _refuse_added_words(path: Path) -> None:
    # An old way to keep words beside vocab.txt. Without them the ids would be nearly right.
    if path.exists() and read_json(path):
        raise TokenizerError(
            f"{path.name} adds words to it; save the tokenizer with transformers once, "
            "which writes a tokenizer.json that holds them"
        )


def _model_type(data: dict[str, object]) -> str:
    model = data.get("model")
    # Files older than the field: only WordPiece has a prefix for continuations and no merges.
    old = isinstance(model, dict) and "continuing_subword_prefix" in model and "merges" not in model
    kind = model.get("type", "WordPiece" if old else None) if isinstance(model, dict) else None
    if not isinstance(kind, str) or kind not in READERS:
        raise TokenizerError(f"the model type is {kind!r}; supported: {', '.join(READERS)}")
    return kind
