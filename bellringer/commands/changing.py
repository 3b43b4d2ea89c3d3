"""The commands that change what is scheduled: through the scheduler, or in its place where none runs."""

from collections.abc import Sequence

import click

from ..actors.client import SchedulerHandle
from ..actors.errors import RequestRefusedError
from ..storage import door
from . import records
from .options import DONE, REFUSED, Common, common_options, not_found, offline_option, tell
from .phrases import safe
from .reasons import pause_in_words
from .sources import File, Running, Source, changing_file, now, pending_page, running

EVERY = 1_000_000


@click.command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@offline_option
@common_options
@click.pass_obj
def cancel(common: Common, ids: Sequence[str]) -> int:
    """Cancel jobs. Ids that are not there are named; it is refused only where none of them is."""
    wanted = [door.job_id(job_id) for job_id in dict.fromkeys(ids)]
    if common.offline:
        with changing_file(common) as store:
            removed = store.cancel(wanted, now())
        unknown = [job_id for job_id, gone in zip(wanted, removed, strict=True) if gone is None]
    else:
        with running(common) as handle:
            unknown = list(handle.cancel(*wanted, timeout=common.timeout).unknown)
    cancelled = [job_id for job_id in wanted if job_id not in set(unknown)]
    lines = [f"cancelled {safe(job_id)}" for job_id in cancelled]
    tell(common, lines, {"cancelled": [*cancelled], "unknown": [*unknown]})
    if not common.json:
        for job_id in unknown:
            click.echo(f"bellringer: job {safe(job_id)} is not there", err=True)
    return DONE if cancelled else REFUSED


@click.command()
@click.argument("job_id", metavar="ID")
@offline_option
@common_options
@click.pass_obj
def run_now(common: Common, job_id: str) -> int:
    """Run a scheduled job now. A repeating one runs once more, and its grid stays."""
    door.job_id(job_id)
    if common.offline:
        with changing_file(common) as store:
            if not store.run_now(job_id, now()):
                raise _refusal(File(store), job_id, "only a scheduled job can be run now")
        when = "runs as soon as a scheduler does"
    else:
        with running(common) as handle:
            handle.run_now(job_id, timeout=common.timeout)
            when = _when_it_runs(handle, job_id, common.timeout)
    tell(common, [f"{safe(job_id)} {when}"], {"run_now": [job_id]})
    return DONE


@click.command()
@click.argument("job_id", metavar="ID", required=False)
@click.option("--all-parked", is_flag=True, help="Put every parked job back.")
@offline_option
@common_options
@click.pass_obj
def redrive(common: Common, job_id: str | None, all_parked: bool) -> int:
    """Put a parked job back, due now, with all its attempts."""
    if (job_id is None) != all_parked:
        raise click.UsageError("give one ID, or --all-parked")
    if common.offline:
        with changing_file(common) as store:
            wanted = _all_parked(File(store)) if job_id is None else [door.job_id(job_id)]
            done = [one for one in wanted if store.redrive(one, now())]
            if job_id is not None and not done:
                raise _refusal(File(store), job_id, "only a parked job can be redriven")
    else:
        with running(common) as handle:
            wanted = _all_parked(Running(handle, common.timeout)) if job_id is None else [job_id]
            done = []
            for one in wanted:
                try:
                    handle.redrive(one, timeout=common.timeout)
                except RequestRefusedError:
                    # Of many, one may have been cancelled meanwhile.
                    if not all_parked:
                        raise
                else:
                    done.append(one)
    lines = [f"{safe(one)} is scheduled again" for one in done] or ["No job is parked."]
    tell(common, lines, {"redriven": [*done]})
    return DONE


def _when_it_runs(handle: SchedulerHandle, job_id: str, timeout: float) -> str:
    job = handle.get(job_id, timeout=timeout)
    if job is None or job.is_finished or job.status == "claimed":
        return "runs now"
    paused = records.pause_over(job, handle.pauses(timeout=timeout))
    if paused is not None:
        return f"is due now; {pause_in_words(paused)}"
    if job.waiting_for is not None and job.why is not None:
        return f"is due now; {job.why}"
    known = {name for host in handle.health(timeout=timeout).hosts for name in host.handlers}
    if job.handler != "(closure)" and job.handler not in known:
        return f"is due now; waiting: no host knows the handler {job.handler!r}"
    return "runs now"


def _all_parked(source: Source) -> list[str]:
    jobs, _ = pending_page(source, None, "parked", EVERY, None)
    return [job.id for job in jobs]


def _refusal(file: File, job_id: str, why: str) -> Exception:
    job = file.get(job_id)
    if job is None:
        return not_found(job_id)
    return RequestRefusedError("wrong_state", f"job {job_id!r} is {job.status}: {why}")
