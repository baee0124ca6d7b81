"""A zip file of a folder, with the same bytes whenever and wherever the same files are packed."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

EARLIEST = (
    1980,
    1,
    1,
    0,
    0,
    0,
)  # the first date that the format knows: files have the time of their making otherwise
UNIX = 3  # who made it; with it come the rights below
READABLE = 0o100644 << 16


def archive(folder: Path, path: Path) -> None:
    """Pack what is in a folder, without the folder itself, in the order of names."""
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    with ZipFile(path, "w") as packed:
        for name, file in sorted(files.items()):
            info = ZipInfo(name, EARLIEST)
            info.compress_type = ZIP_DEFLATED
            info.create_system = UNIX
            info.external_attr = READABLE
            packed.writestr(info, file.read_bytes(), compresslevel=9)
