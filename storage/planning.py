"""A job as it is asked for, and when it is due: checked, and as it is stored. `now` is given."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple, TypedDict

from . import door, rules
from .durations import Duration, shown
from .errors import InvalidJobError
from .rules import At, Every, Rule
from .rules.zones import UTC
from .values import ChatId, JobSpec


class Terms(TypedDict, total=False):
    """What can be said of a job beyond its handler, its chat, and `at`, `after` or `every`."""

    payload: object
    delivery: str
    """`at_most_once` (the default) or `at_least_once`."""
    attempts: int | None
    """Tries in all. Without it a failure is final, and a `Retry` that the handler asks for is granted five times."""
    time_limit: Duration | None
    """How long one run may take; 60 s without it."""
    within: Duration | None
    """For calls that gather more of the same: scheduling the id again puts it off no further than this after the first
    time, however often that happens."""
    rule: Rule | str | None
    """When it comes again: a rule, or its text, such as `daily 09:00`, `weekly mon 18:00`, a cron expression or
    `RRULE:…`."""
    zone: str | None
    """Where local times hold, as `Europe/Berlin`. Without it where the chat is (`set_zone`), or in UTC."""
    start: datetime | None
    until: datetime | None
    count: int | None
    """Bounds of `every` and `rule`, both included: instants, or local times where they have no zone of their own."""
    jitter: Duration | None
    """Spreads jobs that would all be due at once: each is later by its own share, which stays the same."""
    misfire: str
    """What a run found later than `grace` gets: `run_late` (the default), `skip` or `expire`."""
    grace: Duration | None
    catch_up: str
    """Of several due times that were missed the latest runs (`one`, the default), none (`none`), or n (`all(n)`)."""
    overlap: str
    """What comes due while the job runs: the latest runs then (`queue_one`, the default), nothing (`skip`), or up to
    n runs go on side by side (`parallel(n)`, for jobs without a chat)."""
    stale_after: Duration | None
    """No attempt is begun later than this after the due time."""


class JobOptions(Terms, total=False):
    """The terms of a job, and whose it is."""

    chat_id: ChatId | None
    user_id: ChatId | None
    thread_id: ChatId | None


class When(TypedDict, total=False):
    """The part of it that says when. One of `at`, `after`, `every` and `rule` is needed."""

    at: datetime | None
    after: Duration | None
    every: Duration | None
    rule: Rule | str | None
    zone: str | None
    start: datetime | None
    until: datetime | None
    count: int | None
    jitter: Duration | None


class Plan(NamedTuple):
    """The part of a job that says when."""

    due_at: int
    rule: str | None = None
    zone: str | None = None
    local_at: str | None = None


_WAYS = frozenset(When.__annotations__)
_OPTIONS = frozenset(JobOptions.__annotations__)
_BOUNDS = ("start", "until", "count", "jitter")


def job(
    job_id: str,
    handler: str,
    now: int,
    *,
    at: datetime | None,
    after: Duration | None,
    every: Duration | None,
    options: Mapping[str, object],
    named: bool = True,
) -> JobSpec:
    """One job, checked. `options` are `JobOptions`. Raises `InvalidJobError`, which names the job if it is `named`."""
    rest = dict(options)
    try:
        if not rest.keys() <= _OPTIONS:
            raise InvalidJobError(f"there is no option {min(rest.keys() - _OPTIONS)!r}")
        if at is not None and after is None and every is None and _WAYS.isdisjoint(rest):
            planned = _at(at, None)
        else:
            when = {name: rest.pop(name) for name in _WAYS & rest.keys()}
            when.update(at=at, after=after, every=every)
            planned = plan(now, when, job_id)  # type: ignore[arg-type]  # checked there
        within = rest.pop("within", None)
        due_until = None if within is None else now + door.delay_us(within, "within", now)
    except InvalidJobError as error:
        raise InvalidJobError(f"job {shown(job_id)}: {error}" if named else str(error)) from None
    return door.job_spec(
        job_id,
        handler,
        due_at=planned.due_at if due_until is None else min(planned.due_at, due_until),
        rule=planned.rule,
        zone=planned.zone,
        local_at=planned.local_at,
        due_until=due_until,
        **rest,  # type: ignore[arg-type]  # checked there
    )


def plan(now: int, when: When, seed: str) -> Plan:
    """Raises `InvalidJobError`. `seed` draws the job's share of a jitter: the same for the same id."""
    given = [name for name in ("at", "after", "every", "rule") if when.get(name) is not None]
    if not given:
        raise InvalidJobError("say when it is due, with `at`, `after`, `every` or `rule`")
    if len(given) > 1 and given != ["at", "every"]:
        raise InvalidJobError(f"give `{given[0]}` or `{given[1]}`, not both")
    bounds = [name for name in _BOUNDS if when.get(name) is not None]
    if bounds and given[-1] not in ("every", "rule"):
        raise InvalidJobError(f"`{bounds[0]}` bounds a repeating job: give it with `every` or `rule`")
    zone, after = when.get("zone"), when.get("after")
    if zone is not None:
        rules.zone_named(zone)
    if after is not None:
        return Plan(now + door.delay_us(after, "after", now))
    if given == ["at"]:
        return _at(when["at"], zone)
    return _repeating(_rule(when, zone), now, seed, from_start="at" in given)


def _rule(when: When, zone: str | None) -> Rule:
    rule, every, begin = when.get("rule"), when.get("every"), when.get("start")
    jitter = when.get("jitter")
    jitter_us = 0 if jitter is None else door.span_us(jitter, "jitter")
    if every is not None:
        at = when.get("at")
        if at is not None and begin is not None:
            raise InvalidJobError("`at` and `start` both say when the grid begins: give one of them")
        start = _instant(begin if at is None else at, "start" if at is None else "at", zone)
        until = _instant(when.get("until"), "until", zone)
        interval_us = door.interval_us(every, "every")
        return Every(interval_us=interval_us, start=start, until=until, count=_count(when), jitter_us=jitter_us)
    bounds = [name for name in _BOUNDS if when.get(name) is not None]
    if isinstance(rule, str):
        parsed = rules.parse(
            rule,
            zone=zone,
            start=_bound(begin, "start"),
            until=_bound(when.get("until"), "until"),
            count=_count(when),
            jitter=timedelta(microseconds=jitter_us),
        )
        if isinstance(parsed, Every) and zone is None:
            _refuse_naive(begin, "start")
            _refuse_naive(when.get("until"), "until")
        return parsed
    if not isinstance(rule, Rule):
        raise InvalidJobError(f"rule is {shown(rule)}, but must be a rule, or text such as 'daily 09:00'")
    if bounds:
        raise InvalidJobError(f"`{bounds[0]}` belongs to the rule itself: rules.daily(…, {bounds[0]}=…)")
    return rule if zone is None else rule.in_zone(zone)


def _repeating(rule: Rule, now: int, seed: str, *, from_start: bool) -> Plan:
    if isinstance(rule, At):
        if rule.start is not None or rule.until is not None or rule.count is not None or rule.jitter_us:
            raise InvalidJobError(f"{rule.text} comes once: start, until, count and jitter bound repeating rules")
        return _at(rule.at, rule.zone)
    if rule.is_homeless:
        # What hangs on its zone is fixed where that is known; see `settled`.
        try:
            due_at = rule.starting(now, seed).next(now)
        except InvalidJobError:
            due_at = None
        return Plan(now if due_at is None else due_at, rules.dump(rule))
    started = rule.starting(now, seed)
    due_at = started.next(-1 if from_start else now)
    assert due_at is not None  # `starting` refuses a rule without
    if isinstance(started, Every):
        return Plan(due_at, rules.grid(started.interval_us) if started.is_plain else rules.dump(started))
    return Plan(due_at, rules.dump(started), rule.zone)


def _at(at: object, zone: str | None) -> Plan:
    if isinstance(at, datetime) and at.utcoffset() is None and zone is not None:
        local = rules.local_of(at)
        due_at = door.in_range(rules.zone_named(zone).instant(local), f"at is {at.isoformat()}")
        return Plan(due_at, None, zone, rules.naive(local).isoformat())
    due_at = door.instant(at, "at")
    assert isinstance(at, datetime)
    zone = zone or _zone_of(at)
    if zone is None:
        return Plan(due_at)
    there = rules.zone_named(zone)
    local = there.local(due_at)
    if there.instant(local) != due_at:
        return Plan(due_at)  # the second of two passes, of which the local time alone means the first
    return Plan(due_at, None, zone, rules.naive(local).isoformat())


def _zone_of(at: datetime) -> str | None:
    """The name of the zone that a datetime came in; None where an offset is all there is."""
    name = getattr(at.tzinfo, "key", None)
    return name if isinstance(name, str) and name not in (UTC, "Etc/UTC") and rules.is_zone(name) else None


def _instant(at: object, what: str, zone: str | None) -> datetime | None:
    if at is None:
        return None
    if isinstance(at, datetime) and at.utcoffset() is None and zone is not None:
        there = rules.zone_named(zone)
        return rules.moment(there.instant(rules.local_of(at)))
    return rules.moment(door.instant(at, what))


def _refuse_naive(bound: datetime | None, what: str) -> None:
    if bound is not None:
        door.instant(bound, what)


def _bound(at: object, what: str) -> datetime | None:
    if at is None or (isinstance(at, datetime) and at.utcoffset() is None):
        return at
    return rules.moment(door.instant(at, what))


def _count(when: When) -> int | None:
    count = when.get("count")
    if count is not None and type(count) is not int:
        raise InvalidJobError(f"count is {count!r}, but must be a whole number")
    return count


def needs_zone(spec: JobSpec) -> bool:
    """Whether its local times hold where its chat is."""
    return (
        spec.rule is not None and spec.zone is None and not rules.rests(spec.rule) and rules.load(spec.rule).is_homeless
    )


def settled(spec: JobSpec, zone: str, now: int) -> JobSpec:
    """Such a job, with the zone of its chat."""
    assert spec.rule is not None
    rule = rules.load(spec.rule).in_zone(zone).starting(now, spec.id)
    due_at = rule.next(now)
    assert due_at is not None  # `starting` refuses a rule without
    return spec._replace(rule=rules.dump(rule), zone=zone, due_at=due_at)
