"""What one request computes is its own: requests run in several threads at once."""

import threading

from tests.fake_model import FakeModel
from tta.scoring.server.forms import OneList
from tta.scoring.server.models import ServedModels
from tta.scoring.server.service import ListsToRerank, Service

WAIT = 20.0  # seconds, so that a broken test ends


class Paused(FakeModel):
    """The first scoring of a text with a word of `WORDS` waits until it is told to go on."""

    WORDS = "secret", "cat"

    def __init__(self):
        super().__init__()
        self.reached = {word: threading.Event() for word in self.WORDS}
        self.go_on = {word: threading.Event() for word in self.WORDS}

    def score_tokens(self, texts, progress=False):
        for word in self.WORDS:
            if any(word in text for text in texts) and not self.reached[word].is_set():
                self.reached[word].set()
                assert self.go_on[word].wait(WAIT)
        return super().score_tokens(texts, progress)


def request(*hypotheses):
    lists = [OneList(hypotheses=list(hypotheses), scores=[-1.0, -1.5])]
    return ListsToRerank(lists, {})


LONG = request("[noise] the secret", "[noise] a secret")
SHORT = request("[cough] the cat", "[cough] a cat")


def test_two_requests_that_overlap_have_the_notes_that_each_has_alone():
    alone = [Service(ServedModels.of(FakeModel())).rerank([one])[0] for one in (LONG, SHORT)]
    assert ["[noise]" in str(one["notes"]) for one in alone] == [True, False]
    assert ["[cough]" in str(one["notes"]) for one in alone] == [False, True]

    lm = Paused()
    service, answers = Service(ServedModels.of(lm)), {}

    def start(word, given):
        answer = threading.Thread(target=lambda: answers.update({word: service.rerank([given])[0]}))
        answer.start()
        assert lm.reached[word].wait(WAIT)
        return answer

    long, short = start("secret", LONG), start("cat", SHORT)
    for word, thread in ("secret", long), ("cat", short):  # both are in the middle; the first ends
        lm.go_on[word].set()
        thread.join(WAIT)
    assert [answers["secret"], answers["cat"]] == alone
