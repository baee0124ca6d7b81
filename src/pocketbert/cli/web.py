"""`pocketbert web`: the page on this machine."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from pocketbert.errors import InputError


@click.command("web")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True,
              help="Where to listen; 0 takes any port that is free.")  # fmt: skip
@click.option("--model", metavar="MODEL", help="Folder or hub name of a reader [default: the embedded one].")
@click.option("--bundle", "folder", type=click.Path(path_type=Path, file_okay=False, exists=True),
              help="Serve a page that `pocketbert bundle` wrote.")  # fmt: skip
@click.option("--open", "show", is_flag=True, help="Show it in a browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON, for programs.")
def command(port: int, model: str | None, folder: Path | None, show: bool, as_json: bool) -> None:
    """Serve a page that answers questions about any text.

    Texts, HTML and PDF files are pasted or dropped there. It is served to this machine only, and all reading happens
    in the browser. Control-C ends it.
    """
    from pocketbert.bundle.folder import make_bundle
    from pocketbert.serve.static import Site

    if model is not None and folder is not None:
        raise InputError(
            f"a model ({model}) and a bundle ({folder}) are given; a bundle has its own model: give one"
        )
    # Ended by a program, it cleans up as it does for a person.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with TemporaryDirectory(prefix="pocketbert-") as hidden:
        try:
            if folder is None:
                Site(None, port).server_close()  # a port that is taken is said before all the work, not after
                folder = Path(hidden) / "page"
                make_bundle(model, folder, progress=lambda what: click.echo(what, err=True))
            with Site(folder, port) as site:
                click.echo(json.dumps({"address": site.address}) if as_json else site.address)
                sys.stdout.flush()
                click.echo("Control-C ends it", err=True)
                if show:
                    click.launch(site.address)
                site.serve_forever()
        except KeyboardInterrupt:
            click.echo(err=True)
