"""What a Python file imports and which outside names it refers to, read off its syntax tree."""

import ast
import re
from collections.abc import Iterator

from tools import layout

CLOCKS = {
    *(f"time.{name}" for name in ("time", "monotonic", "perf_counter")),
    *(f"time.{name}_ns" for name in ("time", "monotonic", "perf_counter")),
    *("time.clock_gettime", "time.clock_gettime_ns", "time.ctime"),
    *(f"datetime.datetime.{name}" for name in ("now", "utcnow", "today")),
    "datetime.date.today",
    *(f"pendulum.{name}" for name in ("now", "today", "tomorrow", "yesterday")),
    *(f"pendulum.{kind}.{name}" for kind in ("DateTime", "Date") for name in ("now", "utcnow", "today")),
}

CLOCKS_WITHOUT_ARGUMENT = {"time.localtime", "time.gmtime", "time.asctime"}

_LOOP = re.compile(r"loop\w*(?:\(\))?$", re.IGNORECASE)
_SQL_CLOCK = re.compile(r"\bCURRENT_(?:TIMESTAMP|TIME|DATE)\b|'now'", re.IGNORECASE)
_IMPORTERS = {"importlib.import_module", "importlib.util.find_spec", "__import__"}


class Module:
    """One parsed file.

    `imports` holds (line, absolute module name), relative ones resolved and those below `if TYPE_CHECKING` and
    of `import_module("…")` included. `references` holds (line, dotted name) of everything that was imported and used.
    """

    def __init__(self, text: str, name: str, *, is_package: bool) -> None:
        self._tree = ast.parse(text)
        self._package = name if is_package else name.rpartition(".")[0]
        self._aliases: dict[str, str] = {}
        self.imports: list[tuple[int, str]] = list(self._imports())
        self.references: list[tuple[int, str]] = list(self._references())
        self.imports += self._imports_by_name()

    def clock_reads(self) -> Iterator[tuple[int, str]]:
        for line, name in self.references:
            if name in CLOCKS:
                yield line, name
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call):
                name = self._dotted(node.func) or ""
                if name in CLOCKS_WITHOUT_ARGUMENT and not node.args and not node.keywords:
                    yield node.lineno, name
            elif isinstance(node, ast.Attribute) and node.attr == "time" and _LOOP.search(ast.unparse(node.value)):
                yield node.lineno, ast.unparse(node)
            elif (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and (found := _SQL_CLOCK.search(node.value))
            ):
                yield node.lineno, f"{found[0]} in SQL"

    def _imports(self) -> Iterator[tuple[int, str]]:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self._aliases[alias.asname or alias.name.partition(".")[0]] = (
                        alias.name if alias.asname else alias.name.partition(".")[0]
                    )
                    yield node.lineno, alias.name
            elif isinstance(node, ast.ImportFrom):
                base = self._resolve(node)
                for alias in node.names:
                    whole = f"{base}.{alias.name}"
                    self._aliases[alias.asname or alias.name] = whole
                    # `from .. import storage` imports a module, `from .. import Name` what its package defines.
                    yield node.lineno, whole if base == layout.DOOR else base

    def _resolve(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self._package.split(".")
        kept = parts[: len(parts) - node.level + 1]
        return ".".join([*kept, *([node.module] if node.module else [])])

    def _references(self) -> Iterator[tuple[int, str]]:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Attribute | ast.Name) and (name := self._dotted(node)):
                yield node.lineno, name

    def _dotted(self, node: ast.expr) -> str | None:
        """The full name behind `t.monotonic` after `import time as t`; None for what was not imported."""
        if isinstance(node, ast.Name):
            return self._aliases.get(node.id)
        if isinstance(node, ast.Attribute) and (value := self._dotted(node.value)):
            return f"{value}.{node.attr}"
        return None

    def _imports_by_name(self) -> Iterator[tuple[int, str]]:
        for node in ast.walk(self._tree):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            function = self._dotted(node.func) or ast.unparse(node.func)
            name = node.args[0]
            if function in _IMPORTERS and isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield node.lineno, name.value
