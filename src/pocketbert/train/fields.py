"""One dataclass field = one flag, one TOML key and one line of help.

`setting` declares a field, `fields_of` lists the fields of a settings class, `resolve` builds the settings from
a preset, a file and overrides. Nothing here imports torch: help must come up at once.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import json
import math
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pocketbert.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SettingsType = TypeVar("SettingsType")
_TRUE, _FALSE, _NONE = ("true", "yes", "on", "1"), ("false", "no", "off", "0"), ("none", "")


def setting(
    default: Any = dataclasses.MISSING,
    *,
    help: str,  # noqa: A002
    positional: bool = False,
    flag_value: str | None = None,
) -> Any:
    """Declare a field of a settings class.

    A `positional` field may also be given without its name; `flag_value` is what the bare flag means.
    """
    metadata = {"help": help, "positional": positional, "flag_value": flag_value}
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Field:
    """What the command line, the files and the help need to know of one setting."""

    name: str
    kind: Any
    default: Any
    help: str
    positional: bool
    flag_value: str | None

    @property
    def required(self) -> bool:
        """Whether a value must be given."""
        return self.default is dataclasses.MISSING

    @property
    def allowed(self) -> str:
        """What the setting takes, in words."""
        return _allowed(self.kind)


def fields_of(settings_class: type) -> dict[str, Field]:
    """The settings of a class by name; a subclass that only changes a default inherits the help."""
    kinds = get_type_hints(settings_class)
    inherited: dict[str, Mapping[str, Any]] = {}
    for base in reversed(settings_class.__mro__):
        for name, declared in getattr(base, "__dataclass_fields__", {}).items():
            if declared.metadata:
                inherited[name] = declared.metadata
    found = {}
    for declared in dataclasses.fields(settings_class):
        metadata = inherited.get(declared.name, {})
        default = declared.default
        if declared.default_factory is not dataclasses.MISSING:
            default = declared.default_factory()
        found[declared.name] = Field(
            name=declared.name,
            kind=kinds[declared.name],
            default=default,
            help=metadata.get("help", ""),
            positional=metadata.get("positional", False),
            flag_value=metadata.get("flag_value"),
        )
    return found


def resolve(
    settings_class: type[SettingsType],
    *,
    preset: Path | None = None,
    config: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> SettingsType:
    """Build settings; what comes later wins: defaults, preset, file, overrides."""
    fields = fields_of(settings_class)
    values: dict[str, Any] = {}
    layers: list[tuple[str, Mapping[str, Any]]] = []
    for label, file in (("preset", preset), ("config", config)):
        if file is not None:
            layers.append((f"{label} {file}", read_toml(file)))
    layers.append(("the command line", overrides or {}))
    for source, layer in layers:
        for given, value in layer.items():
            name = given.replace("-", "_")
            if name not in fields:
                raise InputError(_unknown(given, source, fields))
            values[name] = coerce(value, fields[name], source)
    missing = [field.name for field in fields.values() if field.required and field.name not in values]
    if missing:
        flags = ", ".join(f"--{name} ({fields[name].help})" for name in missing)
        raise InputError(f"settings without a value: {flags}")
    return settings_class(**values)


def read_toml(file: Path) -> dict[str, Any]:
    """Read a TOML file, or say what is wrong with it."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file} is not a TOML file of key = value lines: {error}") from error


def coerce(value: Any, field: Field, source: str) -> Any:
    """Turn a string or a TOML value into what the field holds."""
    try:
        return _coerce(value, field.kind)
    except (TypeError, ValueError):
        raise InputError(f"{field.name} = {value!r} in {source}: allowed is {field.allowed}") from None


def to_json(settings: Any) -> dict[str, Any]:
    """The settings as a JSON document."""
    return {field.name: _plain(getattr(settings, field.name)) for field in dataclasses.fields(settings)}


def shown(value: Any) -> str:
    """A default as one would type it."""
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(shown, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _unknown(given: str, source: str, fields: Mapping[str, Field]) -> str:
    near = difflib.get_close_matches(given.replace("-", "_"), fields, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(sorted(fields))}"
    return f"unknown setting {given!r} in {source}; {hint}"


def _coerce(value: Any, kind: Any) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if value is None or (isinstance(value, str) and value.lower() in _NONE):
            if type(None) in arguments:
                return None
            raise ValueError(value)
        return _first(value, [argument for argument in arguments if argument is not type(None)])
    if origin is Literal:
        for allowed in arguments:
            if value == allowed or (isinstance(value, str) and value == str(allowed)):
                return allowed
        raise ValueError(value)
    if origin is tuple:
        if isinstance(value, str):
            value = [] if value.lower() in _NONE else value.split(",")
        if not isinstance(value, list | tuple):
            raise TypeError(value)
        return tuple(_coerce(item.strip() if isinstance(item, str) else item, arguments[0]) for item in value)
    if kind is bool:
        word = str(value).lower()
        if word not in _TRUE + _FALSE:
            raise ValueError(value)
        return word in _TRUE
    if kind is Path and isinstance(value, str | Path):
        return Path(value).expanduser()
    if kind is str and isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError(value)
    if kind is int and not isinstance(value, float):
        return int(value)
    if kind is float and math.isfinite(float(value)):
        return float(value)
    raise ValueError(value)


def _first(value: Any, kinds: Sequence[Any]) -> Any:
    for kind in kinds:
        with contextlib.suppress(TypeError, ValueError):
            return _coerce(value, kind)
    raise ValueError(value)


def _allowed(kind: Any) -> str:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return " or ".join("none" if argument is type(None) else _allowed(argument) for argument in arguments)
    if origin is Literal:
        return " | ".join(map(str, arguments))
    if origin is tuple:
        return f"a list (a,b,c) of {_allowed(arguments[0])}"
    names = {bool: "true | false", int: "a whole number", float: "a number", Path: "a path", str: "a text"}
    return names.get(kind, str(kind))


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    json.dumps(value)
    return value
