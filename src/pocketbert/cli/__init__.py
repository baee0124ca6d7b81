"""The command line: `pocketbert VERB …`, one file per verb, each imported only when it is asked for.

Exit status: 0 fine, 1 failed, 2 misused, 3 no answer, 130 interrupted.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import cast

import click

import pocketbert
from pocketbert.errors import InputError, PocketbertError, needing

# Verb -> (module that defines `command`, line in the help). The lines stand here, and not only in the verbs'
# docstrings, so that `--help` imports nothing; a test keeps the two equal.
VERBS = {
    "ask": ("pocketbert.cli.ask", "Answer a question with the exact words of a page or a folder."),
    "attention": ("pocketbert.cli.attention", "Write a page that shows where every attention head looks."),
    "bundle": ("pocketbert.cli.bundle", "Write a reader and all that a browser needs to run it."),
    "classify": ("pocketbert.cli.classify", "Label texts with an exported classifier."),
    "cluster": ("pocketbert.cli.cluster", "Group texts that mean the same."),
    "compare": ("pocketbert.cli.compare", "Compare the size, speed and scores of models on this machine."),
    "copy": ("pocketbert.cli.copy", "Copy a recipe and its presets, to change and to own."),
    "distill": ("pocketbert.cli.distill", "Teach a small model what a large one knows, layer by layer."),
    "embed": ("pocketbert.cli.embed", "Write a vector for each text of files."),
    "evaluate": ("pocketbert.cli.evaluate", "Measure a model with the official scores of a task."),
    "export": ("pocketbert.cli.export", "Write a model as ONNX files for the light runtime."),
    "features": ("pocketbert.cli.features", "Give a vector for every token, for a model of your own."),
    "fill": ("pocketbert.cli.fill", "Show the likeliest words for each [MASK] in a text."),
    "index": ("pocketbert.cli.index", "Index the documents of folders, to be searched and asked."),
    "info": ("pocketbert.cli.info", "Show what models are made of: parameters, FLOPs, memory."),
    "list": ("pocketbert.cli.list", "List recipes, their presets and the model presets."),
    "plan": ("pocketbert.cli.plan", "Tell the steps, tokens, memory and time of a run in advance."),
    "rerank": ("pocketbert.cli.rerank", "Show the texts that fit a query best."),
    "search": ("pocketbert.cli.search", "Find the passages of indexed documents that fit a query."),
    "similar": ("pocketbert.cli.similar", "Show the pairs of texts that are most alike."),
    "tag": ("pocketbert.cli.tag", "Find entities, or tag words, with an exported tagger."),
    "tokens": ("pocketbert.cli.tokens", "Show how a text is cut into tokens."),
    "train": ("pocketbert.cli.train", "Train a model with a recipe."),
    "vocab": ("pocketbert.cli.vocab", "List, search and count the words of a vocabulary."),
    "web": ("pocketbert.cli.web", "Serve a page that answers questions about any text."),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (`sys.argv` if none is given) and return its exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A lone surrogate or a terminal that knows only ASCII must not end a verb half-way.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with needing("lab"):  # whatever a verb fails to import is of that extra
            status = group.main(arguments, prog_name="pocketbert", standalone_mode=False)
        sys.stdout.flush()
    except InputError as error:
        return _fail(error, status=2)
    except PocketbertError as error:
        return _fail(error, status=1)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort as error:
        return 130 if isinstance(error.__cause__, KeyboardInterrupt) else 1
    except BrokenPipeError:
        # The reader of our output has left, as `head` does. Python would flush again at exit and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _fail(error, status=1)
    return status if isinstance(status, int) else 0


class LazyGroup(click.Group):
    """A group that knows its verbs by name and imports one when it is run."""

    def list_commands(self, context: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(VERBS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in VERBS:
            return None
        return cast(click.Command, import_module(VERBS[name][0]).command)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(name, VERBS[name][1]) for name in self.list_commands(context)])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    subcommand_metavar="VERB …",
    epilog="Each verb explains itself: pocketbert VERB --help.",
)
@click.version_option(pocketbert.__version__, prog_name="pocketbert", message="%(prog)s %(version)s")
def group() -> None:
    """BERT-class reading in your pocket: small encoders to load, look into, train and ship."""


def _fail(error: Exception, *, status: int) -> int:
    click.echo(f"pocketbert: {error}", err=True)
    return status
