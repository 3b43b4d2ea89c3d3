"""`python -m benchmarks [NAME…]`, or `python -m benchmarks profile NAME`."""

import argparse
import sys
import tempfile
from pathlib import Path

from . import due, processes, profiling, repeating, report, resting, rules, scheduling
from .measuring import Benchmark, Figure, Line, Plan, line

ALL = (*scheduling.BENCHMARKS, *due.BENCHMARKS, *repeating.BENCHMARKS, *rules.BENCHMARKS, *resting.BENCHMARKS)
REST_WITHIN_S = 20.0
BY_NAME = {benchmark.name: benchmark for benchmark in ALL}


def measured(benchmark: Benchmark, rounds: int, *, quick: bool) -> dict[str, Line]:
    figures: dict[str, list[Figure]] = {row.key: [] for row in benchmark.rows}
    for round_number in range(1, rounds + 1):
        busy = processes.wait_for_rest(REST_WITHIN_S)
        if busy >= processes.QUIET:
            print(f"{benchmark.name}, round {round_number}: the machine is {busy:.0%} busy with other things")
        with tempfile.TemporaryDirectory(prefix="bellringer-bench-") as folder:
            for key, figure in benchmark.measure(Plan(Path(folder), quick)).items():
                figures[key].append(figure)
    return {f"{benchmark.name}.{row.key}": line(row, figures[row.key]) for row in benchmark.rows}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"`profile NAME`, or any of: {', '.join(BY_NAME)}")
    parser.add_argument("--quick", action="store_true", help="one round of each, and fewer jobs")
    parser.add_argument("--rounds", type=int, help="instead of each benchmark's own number")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the results; what FILE has of others stays")
    parser.add_argument("--readme", action="store_true", help="write the table into README.md, with what --json has")
    arguments = parser.parse_args()
    names, profiled = arguments.names, arguments.names[:1] == ["profile"]
    chosen = names[1:] if profiled else names or list(BY_NAME)
    if unknown := [name for name in chosen if name not in BY_NAME]:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(BY_NAME)}")
    if profiled:
        for name in chosen:
            profiling.profile(BY_NAME[name])
        return 0
    lines = report.read(arguments.json) if arguments.json else {}
    for name in chosen:
        rounds = arguments.rounds or (1 if arguments.quick else BY_NAME[name].rounds)
        found = measured(BY_NAME[name], rounds, quick=arguments.quick)
        lines |= found
        print(report.plain(found.values()).partition("\n")[2], flush=True)
        if arguments.json:
            report.write(arguments.json, lines)
    ordered = [
        lines[key] for benchmark in ALL for row in benchmark.rows if (key := f"{benchmark.name}.{row.key}") in lines
    ]
    print(f"\n{report.machine()}\n\n{report.plain(ordered)}")
    if arguments.readme:
        report.write_readme(ordered)
    return 0


if __name__ == "__main__":
    sys.exit(main())
