"""Check the rules of the house that no linter knows: who may import whom, and who may touch what."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools import layout, source

MAY_IMPORT = {
    "storage": {"storage"},
    "handlers": {"handlers", "storage"},
    "actors": {"actors", "handlers", "storage"},
    "bellringer": {"bellringer", "actors", "handlers", "storage"},
    "run_bot": {"bellringer", "actors", "handlers", "storage"},
}
"""Layer by layer. Tests, benchmarks and tools lie outside of the layers and import what they want."""

OWNERS = {
    "peewee": "storage/",
    "playhouse": "storage/",
    "sqlite3": "storage/",
    "thespian": "actors/",
}
"""Libraries that one folder hides from all others."""

CLOCK = "actors/clock.py"
FRAMES = "actors/frames.py"
UNPICKLERS = {"pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.load", "marshal.loads", "shelve.open"}

# Written so that this file does not match itself.
_FOREIGN = re.compile(
    r"(?<![\w.])/(?:work|root|home|Users)/|[A-Z]:\\Users\\|"
    r"\b(?:pypi|pythonhosted|npmjs|crates|deb[.]debian|archive[.]ubuntu)[.](?:org|com|io)\b"
)
_BROAD_WITHOUT_REASON = re.compile(r"#\s*noqa:\s*BLE001\W*(?:\w+\W*)?$")


class Finding(NamedTuple):
    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


def layer_of(relative: Path) -> str | None:
    top = relative.parts[0].removesuffix(".py")
    return top if top in MAY_IMPORT else None


def imported_layer(module: str) -> str | None:
    """The layer that a module, named absolutely, belongs to; None when it is not one of ours."""
    top, _, rest = module.partition(".")
    if top != layout.DOOR:
        return top if top in MAY_IMPORT else None
    inner = rest.partition(".")[0]
    return inner if inner in layout.MAPPED else top


def check_imports(relative: Path, module: source.Module) -> Iterator[Finding]:
    layer = layer_of(relative)
    for line, name in module.imports:
        top = name.partition(".")[0]
        if top in layout.MAPPED:
            yield Finding(relative, line, f"imports {name}: once installed, its name is {layout.DOOR}.{name}")
        if layer is None:
            continue
        imported = imported_layer(name)
        if imported and imported not in MAY_IMPORT[layer]:
            yield Finding(relative, line, f"imports {name}: {layer} may not import {imported}")
        owner = OWNERS.get(top)
        if owner and not relative.as_posix().startswith(owner):
            yield Finding(relative, line, f"imports {name}: only {owner} may")


def check_doors(relative: Path, module: source.Module) -> Iterator[Finding]:
    """The clock and pickle each have one module that may touch them."""
    if layer_of(relative) is None:
        return
    if relative.as_posix() != CLOCK:
        for line, name in module.clock_reads():
            yield Finding(relative, line, f"reads a clock ({name}): only {CLOCK} may; take `now` as an argument")
    if relative.as_posix() != FRAMES:
        for line, name in module.references:
            if name in UNPICKLERS:
                yield Finding(relative, line, f"uses {name}: only {FRAMES} may, after it has verified the signature")


def check_text(relative: Path, text: str) -> Iterator[Finding]:
    above = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if found := _FOREIGN.search(line):
            yield Finding(relative, number, f"names a registry host or a path of one machine: {found[0]!r}")
        if relative.suffix == ".py" and _BROAD_WITHOUT_REASON.search(line) and not above.startswith("#"):
            yield Finding(
                relative, number, "catches everything without a reason: say it after the noqa or in the line above"
            )
        above = line.strip()


def check(root: Path) -> list[Finding]:
    findings: list[Finding] = []
    for path in layout.files(root):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        relative = path.relative_to(root)
        findings += check_text(relative, text)
        if path.suffix == ".py":
            module = source.Module(text, layout.module_name(relative), is_package=path.name == "__init__.py")
            findings += check_imports(relative, module)
            findings += check_doors(relative, module)
    return findings


def main() -> int:
    findings = check(layout.ROOT)
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings in {sum(1 for _ in layout.files(layout.ROOT))} files")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
