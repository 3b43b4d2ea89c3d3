"""The answers to a batch as text, so that a repeated batch gets what the first one got."""

import pytest

from bellringer.actors import replies
from bellringer.actors.messages import Accepted, Cancelled, JobsListed, Refused, Reply, Scheduled


@pytest.mark.parametrize(
    "reply",
    [
        Scheduled(),
        Scheduled(replaced=(0, 3)),
        Cancelled(),
        Cancelled(unknown=(1,)),
        Accepted(),
        Refused(code="not_found", sentence="job 'a' is not there: é 🎂"),
    ],
)
def test_an_answer_to_a_change_is_the_same_after_it_was_stored(reply: Reply) -> None:
    assert replies.from_text(replies.to_text([reply])) == [reply]


def test_an_answer_to_a_question_is_left_out_and_its_place_kept() -> None:
    text = replies.to_text([Accepted(), JobsListed(jobs=()), Cancelled(unknown=(2,))])
    assert replies.from_text(text) == [Accepted(), None, Cancelled(unknown=(2,))]


@pytest.mark.parametrize("told", ['["scheduled"]', '["mended",[1]]', "[]", '["refused",1,2]'])
def test_a_stored_answer_of_another_version_is_asked_anew(told: str) -> None:
    assert replies.from_text(f"[{told}]") == [None]
