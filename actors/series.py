"""The due times of a repeating job that do not run: counted by arithmetic, and a row for each reason."""

from dataclasses import dataclass, field

from ..storage.rules import Rule
from ..storage.values import Ending, Outcome


@dataclass(slots=True)
class Series:
    """The due times of a job from `first` on, of which the earliest are dropped one stretch after the other."""

    rule: Rule
    first: int | None
    now: int
    dropped: list[Ending] = field(default_factory=list)

    @property
    def latest(self) -> int:
        """The last due time up to now."""
        assert self.first is not None
        return self._last(self.first, self.now)

    @property
    def is_due(self) -> bool:
        return self.first is not None and self.first <= self.now

    def count(self, last: int) -> int:
        assert self.first is not None
        return 1 + (self.rule.total(self.first + 1, last) if last > self.first else 0)

    def drop_up_to(self, until: int, reason: str) -> None:
        """Record the due times up to and with an instant as skipped."""
        if self.first is None or self.first > until:
            return
        last = self._last(self.first, until)
        count = self.count(last)
        ending = Ending(Outcome.SKIPPED, self.first, self.now, reason=reason, count=count, last_due_at=last)
        self.dropped.append(ending)
        self.first = self.rule.next(last)

    def drop_all_but(self, number: int, reason: str) -> None:
        """Keep the latest so many of those that are due."""
        latest = self.latest
        if self.count(latest) <= number:
            return
        kept = latest
        for _ in range(number - 1):
            earlier = self.rule.previous(kept - 1)
            if earlier is None:
                return
            kept = earlier
        self.drop_up_to(kept - 1, reason)

    def _last(self, first: int, until: int) -> int:
        """A first one that lies beside the rule (its zone has moved) stands for itself."""
        found = self.rule.previous(until)
        return first if found is None or found < first else found
