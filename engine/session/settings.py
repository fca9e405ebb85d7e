"""The settings of a session, each of them one entry of a table: SET, RESET and SHOW read it.

    TIMER = register(Setting("timer", 2, parse_timer, "such as `4`", "how often it tells"))
    settings[TIMER]       its value, typed

The page docs/sql/statements.md has a line for each entry, and a terminal completes their names.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from raydb.engine.context import foreign_settings
from raydb.engine.context.cluster_settings import CLUSTER_SETTINGS
from raydb.engine.context.memory import (
    DEFAULT_LIMIT,
    parse_device_memory,
    parse_limit,
    whole_limit,
)
from raydb.engine.context.object_settings import OBJECT_SETTINGS, access_of
from raydb.engine.context.setting import (
    ON_OFF,
    SETTINGS,
    Setting,
    as_written,
    either,
    one_of,
    parse_milliseconds,
    parse_switch,
    register,
    whole_number,
)
from raydb.errors import (
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    did_you_mean,
)
from raydb.kernels.backends.choice import ENCODINGS, FALLBACKS
from raydb.kernels.backends.choice import SETTINGS as BACKENDS
from raydb.kernels.backends.cpu.threads import machine_processors
from raydb.kernels.vector.graph import MOST_EF
from raydb.planner import PlannerOptions
from raydb.planner.expressions.collations import known_collation
from raydb.planner.expressions.columns.zones import LOCAL, find_zone, zone_name
from raydb.sql import ast
from raydb.storage.objects.urls import is_url, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.remote import Secret

T = TypeVar("T")

# A letter alone is a drive.
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")

# More would be a slip of the keyboard.
_MAX_THREADS = 1024

# No index has so many lists.
_ALL_LISTS = 2**31


class Settings:
    """The values of all settings at a moment, which SET replaces.

    planner: those that plans depend on. device_memory: what may be held on each device. access: how
    object stores are reached, with the secrets of CREATE SECRET.
    """

    __slots__ = ("_values", "access", "device_memory", "planner", "secrets")

    def __init__(self, values: Mapping[str, Any], secrets: tuple[Secret, ...] = ()) -> None:
        self._values, self.secrets = values, secrets
        self.planner = PlannerOptions(
            self[BACKEND],
            self[FALLBACK],
            self[RT_ENCODING],
            self[FUSED_PATH],
            whole_limit(self[MEMORY_LIMIT]),
            self[TIME_ZONE],
            NULL_ORDERS[self[NULL_ORDER]],
            self[COLLATION],
            None if self[NPROBE] == "auto" else _lists(self[NPROBE]),
            ef=None if self[EF_SEARCH] == "auto" else int(self[EF_SEARCH]),
        )
        self.device_memory = parse_device_memory(self[DEVICE_MEMORY])
        self.access = access_of(self.__getitem__, secrets)

    def __getitem__(self, setting: Setting[T]) -> T:
        value: T = self._values.get(setting.name, setting.default)
        return value

    @property
    def has_external_access(self) -> bool:
        """Whether statements may reach files and object stores."""
        return self[EXTERNAL_ACCESS]

    def has(self, name: str) -> bool:
        """Tell whether there is a setting of that name."""
        return (
            foreign_settings.OTHER_NAMES.get(name, name) in SETTINGS
            or name in foreign_settings.POSTGRESQL
        )

    def text(self, name: str) -> str:
        """Return the value of a setting as SHOW says it."""
        if name in foreign_settings.POSTGRESQL and name not in SETTINGS:
            return foreign_settings.POSTGRESQL[name]
        setting = _find(name)
        value = self[setting]
        return _text(value) if setting.shown is None else setting.shown(value)

    def with_text(self, name: str, text: str) -> Settings:
        """Return the settings after SET; raises what `Setting.parse` and its guard do."""
        return self.with_texts({name: text})

    def with_texts(self, texts: Mapping[str, str]) -> Settings:
        """Return the settings after SET of each name; see `with_text`."""
        values = dict(self._values)
        for name, text in texts.items():
            setting = _find(name)
            if setting.guard is not None:
                setting.guard(self, text)
            values[setting.name] = setting.parse(text, name)
        return Settings(values, self.secrets)

    def chosen(self, option: ast.SetOption | ast.ResetOption) -> Settings:
        """Return other settings, as SET and RESET say."""
        if isinstance(option, ast.ResetOption):
            return self.with_default(option.name)
        if option.value is None:
            raise NotSupportedError(f"PRAGMA {option.name} is not supported")
        return self.with_text(option.name, option.value)

    def with_secrets(self, secrets: tuple[Secret, ...]) -> Settings:
        """Return the settings with other secrets."""
        return Settings(self._values, secrets)

    def with_default(self, name: str) -> Settings:
        """Return the settings after RESET."""
        return self.with_text(name, _text(_find(name).default))


def configured(config: Mapping[str, object], *, external_access: bool) -> Settings:
    """Return the settings that a program opens a connection with; raises what SET does.

    What it says of folders and stores is its own: only statements need external_access for that.
    """
    settings = Settings({})
    for name, value in config.items():
        settings = settings.with_text(name, option_text(value))
    return settings if external_access else settings.with_text(EXTERNAL_ACCESS.name, "off")


def option_text(value: object) -> str:
    """Return the text of a setting that a program gives as a value."""
    return _text(value)


def has_no_effect(name: str, warnings: list[str]) -> bool:
    """Tell whether SET of a name does nothing here; a warning says so."""
    owner = None if name in SETTINGS else foreign_settings.owner_of(name)
    if owner is not None:
        warnings.append(f"the setting '{name}' is {owner}'s and has no effect")
    return owner is not None


def _find(name: str) -> Setting[Any]:
    name = foreign_settings.OTHER_NAMES.get(name, name)
    if name not in SETTINGS:
        raise ProgrammingError(
            f"setting '{name}' does not exist{did_you_mean(name, sorted(SETTINGS))}"
        )
    return SETTINGS[name]


def _text(value: object) -> str:
    return ("off", "on")[value] if isinstance(value, bool) else str(value)


# -- what settings take


def parse_share(text: str, name: str = "bvh_merge_share") -> float:
    """Return the part of a BVH's rows that `SET bvh_merge_share = text` stands for.

    Raises ProgrammingError for another text.

    >>> parse_share("1%"), parse_share("0.5 %")
    (0.01, 0.005)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", text.strip())
    if found is None or float(found[1]) > 100:
        raise ProgrammingError(f"{name} is like '1%', from '0%' to '100%', not '{text}'")
    return float(found[1]) / 100


def _parse_folder(text: str, name: str) -> str:
    if text and not (Path(text).is_dir() and os.access(text, os.W_OK)):
        raise OperationalError(f"{name} '{text}' is no folder to write to")
    return text


def _parse_nprobe(text: str, name: str) -> str:
    word = text.lower()
    is_number = word.isascii() and word.isdigit() and 1 <= int(word) < _ALL_LISTS
    if word not in ("auto", "all") and not is_number:
        raise ProgrammingError(f"{name} is 'auto', 'all' or a number from 1, not '{text}'")
    return word


def _parse_ef(text: str, name: str) -> str:
    word = text.lower()
    is_number = word.isascii() and word.isdigit() and 1 <= int(word) <= MOST_EF
    if word != "auto" and not is_number:
        raise ProgrammingError(f"{name} is 'auto' or a number from 1 to {MOST_EF}, not '{text}'")
    return word


def _lists(word: str) -> int:
    return _ALL_LISTS if word == "all" else int(word)


def check_file(path: str, settings: Settings, *, may_be_object: bool = False) -> None:
    """Raise OperationalError unless statements may read and write files, or where NUL is in a path.

    may_be_object: whether the URL of an object will do. Raises NotSupportedError for other files on
    another machine.
    """
    if not settings[EXTERNAL_ACCESS]:
        raise OperationalError(
            f"file '{shown(path)}' cannot be accessed: external_access is off for this connection"
        )
    if "\0" in path:
        raise OperationalError(f"{path!r} is not the path of a file")
    if _REMOTE.match(path) and not (may_be_object and is_url(path)):
        where = "a local file" if is_url(path) else "a file here or in an object store"
        raise NotSupportedError(
            f"'{shown(path)}' is not {where}, which is what this reads or writes"
        )


def _check_folder(settings: Settings, text: str) -> None:
    if text:
        check_file(text, settings)


def _check_not_lost(settings: Settings, text: str) -> None:
    if parse_switch(text, EXTERNAL_ACCESS.name) and not settings[EXTERNAL_ACCESS]:
        raise OperationalError(
            "external_access cannot be turned on again: it was turned off for the life of the"
            " connection"
        )


def _parse_zone(text: str, _: str) -> str:
    return LOCAL if text.lower() == LOCAL else find_zone(text)


def _parse_null_order(text: str, name: str) -> str:
    """Return one of NULL_ORDERS; DuckDB's words for them are known too."""
    word = "_".join(text.lower().split())
    word = _OTHER_NULL_ORDERS.get(word, word)
    if word not in NULL_ORDERS:
        raise ProgrammingError(f"{name} is one of {', '.join(NULL_ORDERS)}, not '{text}'")
    return word


_OTHER_NULL_ORDERS = {
    "first": "nulls_first",
    "last": "nulls_last",
    "nulls_first_on_asc_last_on_desc": "nulls_are_small",
    "sqlite": "nulls_are_small",
    "mysql": "nulls_are_small",
    "nulls_last_on_asc_first_on_desc": "nulls_are_large",
    "postgres": "nulls_are_large",
}

# -- the table, in the order of the page

MEMORY_LIMIT = register(
    Setting(
        "memory_limit",
        DEFAULT_LIMIT,
        as_written(parse_limit),
        "such as `'2GB'`, `'80%'` or `'none'`",
        "what a statement may hold: rows that wait go to temporary files beyond it, tables in files"
        " are read block by block, and a BVH that would not fit is an error",
    )
)
TEMP_DIRECTORY = register(
    Setting(
        "temp_directory",
        "",
        _parse_folder,
        "a folder",
        "where those files go; empty is the database directory",
        guard=_check_folder,
    )
)
THREADS = register(
    Setting(
        "threads",
        machine_processors(),
        whole_number(1, _MAX_THREADS),
        "a number from 1 to 1024",
        "how many processors a statement uses; statements that run at once in a process use what"
        " the last of them has set",
    )
)
CALENDAR = register(
    Setting(
        "calendar",
        "gregorian",
        lambda text, name: one_of(("gregorian",))(text.lower(), name),
        "`'gregorian'`",
        "the calendar of dates; there is no other",
    )
)
FUSED_PATH = register(
    Setting("fused_path", True, parse_switch, ON_OFF, "whether queries may run on BVHs")
)
PLAN_CACHE = register(
    Setting(
        "plan_cache",
        True,
        parse_switch,
        ON_OFF,
        "whether plans are kept for texts that come again, with other constants too",
    )
)
REPLACEMENT_SCANS = register(
    Setting(
        "replacement_scans",
        True,
        parse_switch,
        ON_OFF,
        "whether FROM may name Python variables ([docs/python.md](../python.md))",
    )
)
BVH_MERGE = register(
    Setting(
        "bvh_merge",
        "background",
        either({word: word for word in ("background", "checkpoint")}),
        "`'background'`, `'checkpoint'`",
        "when newer rows are merged into BVHs, see [bvh.md](../bvh.md)",
    )
)
BVH_MERGE_SHARE = register(
    Setting(
        "bvh_merge_share",
        "1%",
        as_written(parse_share),
        "such as `'1%'`",
        "how many changed rows CHECKPOINT leaves beside a large BVH",
    )
)
BACKEND = register(
    Setting(
        "backend",
        "auto",
        one_of(BACKENDS),
        ", ".join(f"`'{name}'`" for name in BACKENDS),
        "what runs fused jobs, see [gpu.md](../gpu.md)",
    )
)
FALLBACK = register(
    Setting(
        "fallback",
        "next",
        one_of(FALLBACKS),
        "`'next'`, `'error'`",
        "whether another backend answers where that one cannot",
    )
)
RT_ENCODING = register(
    Setting(
        "rt_encoding",
        "lanes",
        one_of(ENCODINGS),
        "`'lanes'`, `'paper'`",
        "how the backend `rt` makes triangles of rows",
    )
)
DEVICE_MEMORY = register(
    Setting(
        "device_memory",
        DEFAULT_LIMIT,
        as_written(parse_device_memory),
        "such as `'4GB'`, `'80%'` or `'none'`",
        "what backends keep on each device",
    )
)
TIME_ZONE = register(
    Setting(
        "timezone",
        LOCAL,
        _parse_zone,
        "a name of IANA's such as `'Europe/Oslo'`, or `'local'`",
        "in which zone a TIMESTAMP WITH TIME ZONE is read and shown; `'local'` is the system's",
        shown=zone_name,
    )
)
NULL_ORDERS: dict[str, tuple[bool, bool] | None] = {
    "nulls_are_large": None,
    "nulls_are_small": (True, False),
    "nulls_first": (True, True),
    "nulls_last": (False, False),
}
NULL_ORDER = register(
    Setting(
        "default_null_order",
        "nulls_are_large",
        _parse_null_order,
        ", ".join(f"`'{name}'`" for name in NULL_ORDERS),
        "where ORDER BY has NULLs if it does not say; large ones are last in ascending and first in"
        " descending order",
    )
)
COLLATION = register(
    Setting(
        "default_collation",
        "",
        lambda text, _: known_collation(text) if text else "",
        "`'NOCASE'`, `'NOACCENT'`, `'NFC'`, such as `'NOCASE.NOACCENT'`, `'BINARY'`, `''`",
        "the collation of texts that have none, wherever they are compared but in CHECK, DEFAULT"
        " and generated columns",
    )
)
NPROBE = register(
    Setting(
        "nprobe",
        "auto",
        _parse_nprobe,
        "`'auto'`, a number from 1, `'all'`",
        "how many lists of an index a vector search scans that does not say, see"
        " [vector.md](../vector.md)",
    )
)
EF_SEARCH = register(
    Setting(
        "ef_search",
        "auto",
        _parse_ef,
        f"`'auto'`, a number from 1 to {MOST_EF}",
        "how many vectors a walk along the graph of an hnsw index keeps that does not say, see"
        " [vector.md](../vector.md)",
    )
)
MAX_EXECUTION_TIME = register(
    Setting(
        "max_execution_time",
        0,
        parse_milliseconds,
        "milliseconds, 0",
        "how long a statement may run before it is ended with an error; 0 is no limit",
    )
)
NANOSECONDS = register(
    Setting(
        "nanoseconds",
        "error",
        either({word: word for word in ("error", "cut")}),
        "`'error'`, `'cut'`",
        "what becomes of times in files and frames that are finer than a microsecond",
    )
)
EXTERNAL_ACCESS = register(
    Setting(
        "external_access",
        True,
        parse_switch,
        ON_OFF,
        "whether statements may read and write files; cannot be turned on again",
        guard=_check_not_lost,
    )
)
for _each in (*CLUSTER_SETTINGS, *OBJECT_SETTINGS):
    register(_each)
