"""Handlers that harm their process harm no other job, and their own run is recorded."""

import pytest

from bellringer import Job, SchedulerHandle, StartOptions
from tests.processes.conftest import Figure, StartSystem
from tests.processes.metronome import Metronome
from tests.processes.record import Record
from tests.processes.waiting import until

OPTIONS: StartOptions = {"handlers": ["tests.processes.jobs_hostile"], "host_memory_mib": 600}
LATE_AT_MOST_S = 2.0


def parked(scheduler: SchedulerHandle, job_id: str, figure: Figure) -> Job:
    """A hostile job, once it is parked; meanwhile the jobs of other chats have kept their times."""

    def job_if_parked() -> Job | None:
        job = scheduler.get(job_id)
        return job if job is not None and job.status == "parked" else None

    with Metronome(scheduler, "ok") as metronome:
        scheduler.schedule(job_id, id=job_id, after=0.2, time_limit=1.0, chat_id="hostile", delivery="at_least_once")
        job = until(job_if_parked, f"{job_id} is parked", within_s=40.0, every_s=0.05)
        metronome.go_on(20)
    late = metronome.lateness_p99()
    figure("lateness of the others, p99", late)
    assert late < LATE_AT_MOST_S
    return job


@pytest.mark.parametrize(
    ("handler", "reason"),
    [
        ("os._exit", "called os._exit(3)"),
        ("sys.exit", "SystemExit: 4"),
        ("KeyboardInterrupt", "KeyboardInterrupt"),
        ("surrogate", "half a cake: "),
        ("computes", "time limit"),
        ("stays", "time limit"),
        pytest.param("sleeps", "time limit", marks=pytest.mark.slow),
        pytest.param("blocks", "time limit", marks=pytest.mark.slow),
        pytest.param("eats", "MemoryError", marks=pytest.mark.slow),
    ],
)
def test_b77_a_hostile_handler_costs_only_its_own_run(
    handler: str, reason: str, start: StartSystem, figure: Figure
) -> None:
    scheduler = start(**OPTIONS)

    job = parked(scheduler, handler, figure)

    (occurrence,) = scheduler.history(handler)
    assert occurrence.outcome == "failed"
    assert reason in (occurrence.reason or "")
    assert job.attempts == 1


def test_b84_a_job_that_has_ended_its_host_three_times_is_parked(
    start: StartSystem, noted: Record, figure: Figure
) -> None:
    scheduler = start(**OPTIONS)

    job = parked(scheduler, "faults", figure)

    assert noted.starts()["faults"] == 3
    assert "has ended its host 3 times" in (job.why or "")


def test_b51_a_repeating_job_keeps_its_grid_however_its_runs_end(start: StartSystem) -> None:
    scheduler = start(**OPTIONS)

    scheduler.persisted_every("moody", "moody", every=0.2)
    until(lambda: len(scheduler.history("moody")) >= 6, "it has run six times", every_s=0.05)
    scheduler.cancel("moody")

    runs = [occurrence for occurrence in reversed(scheduler.history("moody")) if occurrence.started_at is not None]
    first = runs[0].due_at
    assert [run.outcome for run in runs[:5]] == ["failed", "failed", "failed", "failed", "done"]
    assert all((run.due_at - first).total_seconds() % 0.2 in (0.0, pytest.approx(0.2)) for run in runs)


def test_b78_a_run_that_hangs_is_ended_at_its_limit_and_never_has_a_second_beside_it(
    start: StartSystem, noted: Record
) -> None:
    scheduler = start(**OPTIONS)

    scheduler.persisted_every("hangs", "hangs", every=0.1, time_limit=0.5)
    until(lambda: len(scheduler.history("hangs", outcome="failed")) >= 2, "it was ended twice", every_s=0.05)
    scheduler.cancel("hangs")

    words = [note.word for note in noted.notes()]
    assert words[:4] == ["start", "end", "start", "end"]
    (missed, *_) = scheduler.history("hangs", outcome="skipped")
    assert missed.times >= 3
