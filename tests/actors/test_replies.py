"""The answers to a batch as text, so that a repeated batch gets what the first one got."""

import pytest

from bellringer.actors import replies
from bellringer.actors.messages import (
    Accepted,
    Adjusted,
    Cancelled,
    JobExplained,
    JobsListed,
    PausesListed,
    Refused,
    Reply,
    Scheduled,
)


@pytest.mark.parametrize(
    "reply",
    [
        Scheduled(),
        Scheduled(replaced=(0, 3)),
        Cancelled(),
        Cancelled(unknown=(1,)),
        Scheduled(replaced=(1,), due_at=((0, 1_782_907_200_000_000), (2, 0))),
        Accepted(),
        Adjusted(count=0),
        Adjusted(count=501, after=77),
        Refused(code="not_found", sentence="job 'a' is not there: é 🎂"),
    ],
)
def test_an_answer_to_a_change_is_the_same_after_it_was_stored(reply: Reply) -> None:
    assert replies.from_text(replies.to_text([reply])) == [reply]


@pytest.mark.parametrize("told", [JobsListed(jobs=()), PausesListed(pauses=()), JobExplained(job=None)])
def test_an_answer_to_a_question_is_left_out_and_its_place_kept(told: Reply) -> None:
    text = replies.to_text([Accepted(), told, Cancelled(unknown=(2,))])
    assert replies.from_text(text) == [Accepted(), None, Cancelled(unknown=(2,))]


def test_an_answer_that_was_stored_before_due_times_were_told_is_still_read() -> None:
    assert replies.from_text('[["scheduled",[3]]]') == [Scheduled(replaced=(3,))]


@pytest.mark.parametrize("told", ['["scheduled"]', '["mended",[1]]', "[]", '["refused",1,2]'])
def test_a_stored_answer_of_another_version_is_asked_anew(told: str) -> None:
    assert replies.from_text(f"[{told}]") == [None]
