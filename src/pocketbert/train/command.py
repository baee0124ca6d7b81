"""A recipe on the command line: its settings class becomes the options, the help and the TOML keys.

A recipe file ends with the two lines that let its owner run it:

    if __name__ == "__main__":
        raise SystemExit(main(__file__, Settings, run))
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from pocketbert.errors import InputError, PocketbertError
from pocketbert.train.catalogue import describe, docstring, presets_of
from pocketbert.train.fields import Field, fields_of, resolve, shown
from pocketbert.train.settings import LoopSettings
from pocketbert.train.trials.ranges import OTHERS
from pocketbert.train.trials.space import split_space

INTERRUPTED = 130
_ASSIGNMENT = re.compile(r"([A-Za-z][\w-]*)=(.*)", re.DOTALL)


def main(
    file: str | Path,
    settings_class: type[Any],
    run: Callable[[Any], Any],
    arguments: Sequence[str] | None = None,
) -> int:
    """Run a recipe file as a program of its own; returns the exit status."""
    name = Path(file).name
    try:
        made = recipe_command(Path(file), settings_class, run)
        status = made.main(arguments, prog_name=f"python {name}", standalone_mode=False)
    except PocketbertError as error:
        click.echo(f"{name}: {error}", err=True)
        return 2 if isinstance(error, InputError) else 1
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        return INTERRUPTED
    return status if isinstance(status, int) else 0


def recipe_command(file: Path, settings_class: type[Any], run: Callable[[Any], Any]) -> click.Command:
    """The click command of a recipe."""
    fields = fields_of(settings_class)
    presets = presets_of(file)

    def callback(
        preset: str | None, config: Path | None, as_json: bool, rest: tuple[str, ...], **flags: str | None
    ) -> int:
        overrides = {name: value for name, value in flags.items() if value is not None}
        _check_values(overrides)
        _assign(rest, overrides, fields)
        if overrides.get("search") is not None and "search_fixed" in fields:
            overrides["search_fixed"] = _given(overrides)
        settings = resolve(
            settings_class,
            preset=None if preset is None else _preset_file(preset, presets),
            config=config,
            overrides=overrides,
        )
        return _run(run, settings, as_json=as_json)

    return _Recipe(
        file.stem,
        own=_declared_in(settings_class),
        callback=callback,
        params=[*_common(presets, fields), *(_option(field) for field in fields.values())],
        help=_help(file),
        short_help=describe(file),
        # Dashes are as good as underscores, in every flag.
        context_settings={
            "token_normalize_func": lambda token: token.replace("-", "_"),
            "max_content_width": 110,
        },
        options_metavar="[--setting value …]",
    )


class _Recipe(click.Command):
    """A command whose help shows a recipe's own settings before those that all recipes share."""

    def __init__(self, name: str, own: Sequence[str], **options: Any) -> None:
        super().__init__(name, **options)
        self._own = own

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in three sections."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(context):
            record = parameter.get_help_record(context)
            if isinstance(parameter, _Setting):
                title = "Settings of this recipe" if parameter.name in self._own else "Settings of training"
            else:
                title = "Options"
            if record is not None and isinstance(parameter, click.Option):
                sections.setdefault(title, []).append(record)
        for title in ("Options", "Settings of this recipe", "Settings of training"):
            if title in sections:
                with formatter.section(title):
                    formatter.write_dl(sections[title])


class _Setting(click.Option):
    """An option that a field of the settings class stands for."""


def _declared_in(settings_class: type) -> list[str]:
    """The settings that a recipe adds to the loop's, or has defaults of its own for."""
    owners = [owner for owner in settings_class.__mro__ if owner is not LoopSettings]
    return [name for owner in owners for name in vars(owner).get("__annotations__", {})]


def _run(run: Callable[[Any], Any], settings: object, *, as_json: bool) -> int:
    from pocketbert.train.interrupt import Interrupted
    from pocketbert.train.together import leave_together, processes

    try:
        report = run(settings)
        speaks = processes().is_main_process
        leave_together()
    except Interrupted as stopped:
        click.echo(str(stopped), err=True)
        return INTERRUPTED
    if not speaks:
        return 0
    to_json = getattr(report, "to_json", None)
    if to_json is not None:  # a report that knows how it reads
        click.echo(json.dumps(to_json()) if as_json else str(report))
    elif isinstance(report, Mapping):
        if as_json:
            click.echo(json.dumps(report))
        else:
            for name, value in report.items():
                click.echo(f"{name}: {shown(value)}")
    return 0


def _common(presets: Mapping[str, Path], fields: Mapping[str, Field]) -> list[click.Parameter]:
    known = ", ".join(presets) or "none for this recipe"
    places = [f"[{field.name.upper()}]" for field in fields.values() if field.positional]
    return [
        click.Argument(
            ["rest"], nargs=-1, metavar=" ".join([*places, "[key=value …]"]), type=click.UNPROCESSED
        ),
        click.Option(["--preset"], metavar="NAME", help=f"Settings that come with the recipe: {known}."),
        click.Option(
            ["--config"], metavar="FILE", type=click.Path(path_type=Path), help="A TOML file of settings."
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="Print the result as JSON."),
    ]


def _option(field: Field) -> _Setting:
    note = "required" if field.required else f"default: {shown(field.default)}"
    help_text = f"{field.help[:1].upper()}{field.help[1:]} [{note}]"
    # Only where the bare flag means something: click takes no value with a dash for an option that can do without.
    bare: dict[str, Any] = {} if field.flag_value is None else {"flag_value": field.flag_value}
    return _Setting(
        [f"--{field.name}", field.name],
        metavar=f"<{field.allowed}>",
        help=help_text,
        type=str,
        is_flag=False,
        default=None,
        **bare,
    )


def _check_values(overrides: Mapping[str, str]) -> None:
    for name, value in overrides.items():
        if value.startswith("--"):
            raise InputError(f"--{name} has no value: {value} comes right behind it; write --{name} VALUE")


def _assign(rest: tuple[str, ...], overrides: dict[str, Any], fields: Mapping[str, Field]) -> None:
    """Add `key=value` words and positional values to what the flags said."""
    open_fields = [
        field.name for field in fields.values() if field.positional and field.name not in overrides
    ]
    for word in rest:
        assignment = _ASSIGNMENT.fullmatch(word)
        if assignment:
            name, value = assignment.group(1).replace("-", "_"), assignment.group(2)
        elif open_fields:
            name, value = open_fields.pop(0), word
        else:
            raise InputError(f"{word!r} is neither --setting value nor key=value")
        if name in overrides:
            raise InputError(f"{name} is given twice: {overrides[name]!r} and {value!r}")
        overrides[name] = value


def _given(overrides: Mapping[str, Any]) -> str:
    """The settings that a search leaves alone because the command line says them."""
    own = split_space(overrides["search_space"]) if overrides.get("search_space") else {}
    for name, values in own.items():
        if name in overrides:
            raise InputError(
                f"{name} is given twice: as {overrides[name]!r}, and to be searched in {values!r}; leave one out"
            )
    named = {name for name in OTHERS.settings if name in overrides}
    return ",".join(sorted({*filter(None, str(overrides.get("search_fixed") or "").split(",")), *named}))


def _preset_file(name: str, presets: Mapping[str, Path]) -> Path:
    if name in presets:
        return presets[name]
    raise InputError(
        f"no preset {name!r}; there are: {', '.join(presets) or 'none'} (a file goes with --config)"
    )


def _help(file: Path) -> str:
    """The recipe's docstring, kept as it is written: click would re-flow the command lines in it."""
    return "\n\n".join(f"\b\n{paragraph}" for paragraph in docstring(file).split("\n\n"))
