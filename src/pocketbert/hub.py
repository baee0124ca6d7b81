"""A name or a folder -> local files. A folder never needs the network; a name asks Hugging Face's hub for it.

huggingface_hub does the work and honours HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE and HF_TOKEN. Whatever the
hub holds, only data is fetched: no file that can carry code.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from pocketbert import __version__
from pocketbert.errors import HubError

PATTERNS = ("*.json", "*.safetensors", "*.txt", "*.model")
ONNX_PATTERNS = ("*.onnx", "*.onnx_data")
EMBEDDED = {name: Path(__file__).parent / "assets" / name for name in ("reader", "mini", "embedder")}
"""The models that come with the package, as pocketbert/NAME or NAME alone."""
NAME = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)
NEVER = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.pickle", "*.ckpt", "*.h5", "*.msgpack", "*.py")


@dataclass(frozen=True)
class Resolved:
    """Where a model's files are, and which commit of the hub they are; a local folder has none."""

    folder: Path
    revision: str | None
    name: str


def resolve(
    name_or_folder: str | Path,
    *,
    revision: str | None = None,
    patterns: Sequence[str] = PATTERNS,
    presets: Sequence[str] = (),
) -> Resolved:
    """Find a model's files: an existing folder is itself, anything else is the name of an embedded model or on the hub.

    `revision` is a branch, a tag or a commit. `patterns` say which files to fetch; add `ONNX_PATTERNS` for
    exported models. `presets` are names the caller knows, proposed when the given one leads nowhere.
    """
    name = os.fspath(name_or_folder)
    path = _existing_path(name) or _embedded(name)
    if path is not None and path.is_dir():
        if revision is not None:
            raise HubError(f"{name} is a local folder and has no revisions; leave out revision={revision!r}")
        return Resolved(path, None, name)
    if path is not None:
        raise HubError(
            f"{name} is a file; give the folder that holds config.json and model.safetensors. "
            "Weights of other kinds (.bin, .pt, .pkl, …) can run code and are never opened"
        )
    if isinstance(name_or_folder, Path) or _looks_local(name):
        raise HubError(f"there is no folder {name}{_near_folders(name)}")
    if not NAME.fullmatch(name):
        raise HubError(_no_name(name, presets))
    return _download(name, revision, patterns, presets)


def _existing_path(name: str) -> Path | None:
    if not name:
        raise HubError(
            "the name of the model is empty; give a folder or a name on the hub such as owner/name"
        )
    try:
        path = Path(name).expanduser()
        return path if path.exists() else None
    except (OSError, RuntimeError, ValueError) as error:  # too long, forbidden, no such user, a NUL
        reason = error.strerror if isinstance(error, OSError) else error
        raise HubError(f"{name[:200]!r} cannot be looked up as a folder: {reason}") from error


def _embedded(name: str) -> Path | None:
    folder = EMBEDDED.get(name.removeprefix("pocketbert/"))
    return folder if folder is not None and folder.is_dir() else None


def _looks_local(name: str) -> bool:
    return (
        name.startswith((".", "~"))
        or name.endswith("/")
        or name.count("/") > 1
        or "\\" in name
        or Path(name).is_absolute()
    )


def _near_folders(name: str) -> str:
    """What the caller may have meant, among the folders that do exist beside it."""
    path = Path(name).expanduser()
    try:
        beside = sorted(entry.name for entry in path.parent.iterdir() if entry.is_dir())
    except OSError:
        return f", nor its parent {path.parent}"
    near = get_close_matches(path.name, beside)
    return f"; did you mean {' or '.join(str(path.parent / each) for each in near)}?" if near else ""


def _download(name: str, revision: str | None, patterns: Sequence[str], presets: Sequence[str]) -> Resolved:
    from huggingface_hub import snapshot_download
    from huggingface_hub.utils.tqdm import tqdm

    class Progress(tqdm):
        """A bar for people; huggingface_hub would draw it into log files too."""

        def __init__(self, *arguments: object, **options: object) -> None:
            options["disable"] = options.get("disable") or not sys.stderr.isatty()
            super().__init__(*arguments, **options)  # type: ignore[no-untyped-call]

    try:
        with _no_telemetry():
            folder = snapshot_download(
                name,
                revision=revision,
                allow_patterns=list(patterns),
                ignore_patterns=list(NEVER),
                local_files_only=_is_offline(),
                library_name="pocketbert",
                library_version=__version__,
                tqdm_class=Progress,
            )
    except Exception as error:  # a proxy, TLS, a full disk: every HTTP library has its own family of errors
        raise HubError(_explain(error, name, revision, presets)) from error
    return Resolved(Path(folder), Path(folder).name, name)


def _explain(error: Exception, name: str, revision: str | None, presets: Sequence[str]) -> str:
    """What went wrong at the hub, and what to do."""
    from huggingface_hub import errors

    if isinstance(error, errors.HFValidationError):
        return _no_name(name, presets)
    if isinstance(error, errors.GatedRepoError):  # before its parent, RepositoryNotFoundError
        return f"{name} is given out on request: accept its terms on the hub, then set HF_TOKEN to your token"
    if isinstance(error, errors.RepositoryNotFoundError):
        return f"the hub has no model {name}, or it is private and HF_TOKEN is not set{_meant(name, presets)}"
    if isinstance(error, errors.RevisionNotFoundError):
        return f"{name} has no revision {revision!r}; give a branch, a tag or a commit of it"
    if isinstance(error, errors.LocalEntryNotFoundError):
        which = f"{name} at {revision}" if revision else name
        why = "HF_HUB_OFFLINE is set" if _is_offline() else "the hub cannot be reached"
        return (
            f"{which} is not complete in the local cache, and {why}{_meant(name, presets)}. "
            f"To get its files, run `hf download {name}` where there is a network, under the same HF_HOME, "
            "or copy the model's folder here and give its path"
        )
    return f"{name} could not be fetched from the hub: {type(error).__name__}: {error}"


@contextmanager
def _no_telemetry() -> Iterator[None]:
    """Keep huggingface_hub from telling the hub what runs here; its one switch is for the whole process."""
    from huggingface_hub import constants

    before = constants.HF_HUB_DISABLE_TELEMETRY
    constants.HF_HUB_DISABLE_TELEMETRY = True
    try:
        yield
    finally:
        constants.HF_HUB_DISABLE_TELEMETRY = before


def _is_offline() -> bool:
    """Whether HF_HUB_OFFLINE is set now: huggingface_hub looks only once, when it is imported."""
    from huggingface_hub import constants

    told = os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}
    return told or constants.HF_HUB_OFFLINE


def _no_name(name: str, presets: Sequence[str]) -> str:
    return f"{name[:200]!r} is neither a folder nor a name on the hub (owner/name){_meant(name, presets)}"


def _meant(name: str, presets: Sequence[str]) -> str:
    near = get_close_matches(name, presets)
    if near:
        return f" (did you mean the preset {' or '.join(near)}?)"
    return f" (presets are {', '.join(presets)})" if presets else ""
