"""Schedules that are edited all the time while others fall due."""

import time
from itertools import count

import pytest

from bellringer.testing import Drive
from tests.scenarios.steps import MakeDrive, absent, note_runs

EDITS_A_SECOND = 20
MINUTELY = 200


class Editing:
    """Many daily schedules, some minutely ones, and edits on a clock that goes on by what each edit really takes."""

    def __init__(self, drive: Drive, schedules: int) -> None:
        self.drive, self.schedules = drive, schedules
        self.took: list[float] = []
        self._edited = count()
        self.ran = note_runs(drive)
        for begin in range(0, schedules, 5_000):
            numbers = range(begin, min(begin + 5_000, schedules))
            drive.schedule_many(
                {
                    "handler": "work",
                    "id": f"{number}",
                    "rule": "* * * * *" if number < MINUTELY else f"daily {number % 24:02}:{number % 60:02}:30",
                    "zone": "Europe/Berlin",
                    "start": drive.clock.now.add(hours=1) if number >= MINUTELY else None,
                }
                for number in numbers
            )

    def edit(self) -> None:
        number = MINUTELY + next(self._edited) * 7_919 % (self.schedules - MINUTELY)
        begun = time.perf_counter()
        self.drive.schedule(
            "work", id=f"{number}", rule=f"daily {number % 24:02}:00", zone="Europe/Berlin",
            start=self.drive.clock.now.add(hours=2),
        )  # fmt: skip
        self.took.append(time.perf_counter() - begun)
        self.drive.clock.advance(self.took[-1])

    def go_on(self, seconds: int) -> None:
        """The edits of each second come all at once, a moment before the second ends that a minute may end with."""
        self.drive.advance(seconds=0.999)
        for _ in range(seconds):
            begun = len(self.took)
            for _ in range(EDITS_A_SECOND):
                self.edit()
            self.drive.advance(max(0.0, 1 - sum(self.took[begun:])))

    def ninety_ninth(self, values: list[float]) -> float:
        return sorted(values)[len(values) * 99 // 100]

    def lateness(self) -> list[float]:
        return [row.late_by.total_seconds() for row in self.drive.history(limit=10_000) if row.outcome == "done"]


def test_b100_an_edit_that_comes_in_just_as_a_job_falls_due_does_not_put_it_off(drive: Drive) -> None:
    ran = note_runs(drive)
    drive.schedule("work", id="due", after=10)
    drive.advance(seconds=9)
    drive.clock.advance(seconds=1)
    drive.schedule("work", id="edited", after=3_600)
    assert ran == [("due", 10.0)]


@pytest.mark.parametrize(
    ("schedules", "seconds"),
    [
        (2_000, 65),
        pytest.param(10_000, 300, marks=[pytest.mark.slow, pytest.mark.timeout(900)]),
        pytest.param(50_000, 300, marks=[pytest.mark.slow, pytest.mark.timeout(900)]),
    ],
)
def test_b100_edits_without_end_delay_nothing_that_is_due(make_drive: MakeDrive, schedules: int, seconds: int) -> None:
    editing = Editing(make_drive(places=MINUTELY), schedules)
    editing.go_on(seconds)
    late = editing.lateness()
    assert len(late) >= MINUTELY * (seconds // 60)
    assert 0 < editing.ninety_ninth(late) < 1
    assert editing.ninety_ninth(editing.took) < 0.1
    assert absent(editing.drive) == []


def test_b100_an_edit_costs_no_more_beside_ten_times_as_many_schedules(make_drive: MakeDrive) -> None:
    medians = []
    for schedules in (1_000, 10_000):
        editing = Editing(make_drive(), schedules)
        for _ in range(200):
            editing.edit()
        medians.append(sorted(editing.took)[100])
    assert medians[1] < 3 * medians[0]
