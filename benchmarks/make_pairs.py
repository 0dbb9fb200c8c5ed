"""Writes minimal pairs for `tta score --pairs`: 22 phenomena of English, 100 pairs each.

    python -m benchmarks.make_pairs > pairs.jsonl
    tta score --model=small --pairs=pairs.jsonl --output_file=scores.jsonl

They serve to choose between models during development. Words and patterns were written for this
purpose and come from no published set, so that such a set can still be used as a test. The output
is always the same.
"""

import json
import random

PAIRS = 100


def words(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


def rows(text: str) -> list[list[str]]:
    """The words of each part of a text; "|" stands between the parts."""
    return [part.split() for part in text.split("|")]


PEOPLE = words("""
    teacher farmer doctor sister brother lawyer soldier singer painter student baker nurse driver
    writer guest neighbour pilot king queen sailor clerk artist priest actor worker
""")
THINGS = words("""
    letter book house river garden window road ship table picture bridge tower horse tree song
    story field wall village boat coat door island forest engine
""")
ADJECTIVES = words("old young small tall quiet famous strange new large beautiful heavy dark")
PLACES = [
    " ".join(row)
    for row in rows("""
    in the village | near the river | behind the church | on the hill | from the city |
    at the station | in the garden | by the sea | beside the road | under the bridge
""")
]
# Forms of verbs: base, third person, past, participle, -ing.
ACTS = rows("""
    see sees saw seen seeing | know knows knew known knowing | take takes took taken taking |
    draw draws drew drawn drawing | choose chooses chose chosen choosing |
    hide hides hid hidden hiding | forget forgets forgot forgotten forgetting |
    steal steals stole stolen stealing | break breaks broke broken breaking |
    give gives gave given giving | write writes wrote written writing |
    begin begins began begun beginning
""")
GOES = rows("""
    sleep sleeps | work works | live lives | wait waits | sing sings | speak speaks | run runs |
    stand stands | sit sits | walk walks
""")
MEN = words("John Peter Henry George William Robert Thomas Charles Edward Arthur")
WOMEN = words("Mary Anna Helen Alice Margaret Jane Emma Susan Lucy Catherine")
COUNTED = words("books houses horses letters children trees songs questions")
MASS = words("water money bread music time sand milk information")


def plural(noun: str) -> str:
    """The plural of a regular noun."""
    return f"{noun}es" if noun.endswith(("s", "x", "sh", "ch")) else f"{noun}s"


class Maker:
    """Draws the words of a pattern. Each method below is a phenomenon: (good, bad)."""

    def __init__(self, seed: str):
        self.pick = random.Random(seed).choice

    def noun(self, number: int, words=PEOPLE):
        """A noun, singular (0) or plural (1)."""
        word = self.pick(words)
        return plural(word) if number else word

    def agreement_simple(self):
        n, go, place = self.pick((0, 1)), self.pick(GOES), self.pick(PLACES)
        subject = f"the {self.pick(ADJECTIVES)} {self.noun(n)}"
        return f"{subject} {go[1 - n]} {place}", f"{subject} {go[n]} {place}"

    def agreement_across_phrase(self):
        n, go = self.pick((0, 1)), self.pick(GOES)
        subject = f"the {self.noun(n)} of the {self.noun(1 - n)}"
        return f"{subject} {go[1 - n]} here", f"{subject} {go[n]} here"

    def agreement_across_clause(self):
        n, act, place = self.pick((0, 1)), self.pick(ACTS), self.pick(PLACES)
        verbs = ("is", "are")
        subject = f"the {self.noun(n)} that the {self.noun(1 - n)} {act[2]}"
        return f"{subject} {verbs[n]} {place}", f"{subject} {verbs[1 - n]} {place}"

    def agreement_there(self):
        n, place = self.pick((0, 1)), self.pick(PLACES)
        word, be = self.noun(n, THINGS), ("was", "were")
        number = ("one", "two")[n]
        rest = f"{number} {self.pick(ADJECTIVES)} {word} {place}"
        return f"there {be[n]} {rest}", f"there {be[1 - n]} {rest}"

    def determiner_noun(self):
        n, who, act = self.pick((0, 1)), self.noun(0), self.pick(ACTS)
        word = self.pick(THINGS)
        one, other = (word, plural(word))[n], (word, plural(word))[1 - n]
        this = self.pick((("this", "these"), ("that", "those")))[n]
        return f"the {who} {act[2]} {this} {one}", f"the {who} {act[2]} {this} {other}"

    def determiner_adjective_noun(self):
        n, place = self.pick((0, 1)), self.pick(PLACES)
        this = self.pick((("this", "these"), ("that", "those")))
        rest = f"{self.pick(ADJECTIVES)} {self.noun(n, THINGS)} {place}"
        return f"we looked at {this[n]} {rest}", f"we looked at {this[1 - n]} {rest}"

    def much_many(self):
        name, counts = self.pick(MEN + WOMEN), self.pick((0, 1))
        word, place = self.pick(COUNTED if counts else MASS), self.pick(PLACES)
        much = ("much", "many")
        end = f"{word} {place}"
        return (
            f"{name} did not find {much[counts]} {end}",
            f"{name} did not find {much[1 - counts]} {end}",
        )

    def reflexive_number(self):
        n, act = self.pick((0, 1)), self.pick(("blamed", "hurt", "saw", "helped", "hid", "washed"))
        self_ = (self.pick(("himself", "herself")), "themselves")
        start = f"the {self.noun(n)} {self.pick(PLACES)} {act}"
        return f"{start} {self_[n]}", f"{start} {self_[1 - n]}"

    def reflexive_gender(self):
        is_man = self.pick((0, 1))
        name = self.pick(MEN if is_man else WOMEN)
        act, place = self.pick(("blamed", "hurt", "saw", "helped")), self.pick(PLACES)
        forms = ("herself", "himself")
        good, bad = forms[is_man], forms[1 - is_man]
        return f"{name} {act} {good} {place}", f"{name} {act} {bad} {place}"

    def pronoun_case(self):
        pair = self.pick((("he", "him"), ("she", "her"), ("they", "them"), ("we", "us")))
        act, who, is_subject = self.pick(ACTS), self.noun(0), self.pick((0, 1))
        place = self.pick(PLACES)
        if is_subject:
            return tuple(f"{p} {act[2]} the {who} {place}" for p in pair)
        return tuple(f"the {who} {act[2]} {p} {place}" for p in pair[::-1])

    def participle(self):
        name, act, thing = self.pick(MEN + WOMEN), self.pick(ACTS), self.noun(0, THINGS)
        has, form, other = self.pick((("has", 3, 1), ("had", 3, 0), ("has never", 3, 0)))
        return f"{name} {has} {act[form]} the {thing}", f"{name} {has} {act[other]} the {thing}"

    def past_form(self):
        who, act, thing = self.noun(0), self.pick(ACTS), self.noun(0, THINGS)
        end = f"the {thing} last year"
        return f"the {who} {act[2]} {end}", f"the {who} {act[3]} {end}"

    def after_did(self):
        name, act, thing = self.pick(MEN + WOMEN), self.pick(ACTS), self.noun(0, THINGS)
        did = self.pick(("did not", "could not", "will not"))
        return f"{name} {did} {act[0]} the {thing}", f"{name} {did} {act[2]} the {thing}"

    def negative_polarity(self):
        act, thing = self.pick(ACTS), self.noun(0, THINGS)
        good, bad = self.pick((("nobody", "somebody"), ("no one", "everyone")))
        end = f"{self.pick(PLACES)} has ever {act[3]} the {thing}"
        return f"{good} {end}", f"{bad} {end}"

    def article(self):
        vowel = self.pick((0, 1))
        first = words(("large long new quiet heavy", "old empty open honest ugly")[vowel])
        rest = f"{self.pick(first)} {self.noun(0, THINGS)} {self.pick(PLACES)}"
        articles = ("a", "an")
        return f"he saw {articles[vowel]} {rest}", f"he saw {articles[1 - vowel]} {rest}"

    def comparative(self):
        one, other, place = self.noun(0, THINGS), self.noun(0, THINGS), self.pick(PLACES)
        word, more = self.pick(
            (("old", "older"), ("large", "larger"), ("small", "smaller"), ("dark", "darker"))
        )
        end = f"than the {other} {place}"
        return f"the {one} is {more} {end}", f"the {one} is {word} {end}"

    def relative_pronoun(self):
        is_person, act = self.pick((0, 1)), self.pick(ACTS)
        word = self.noun(0, PEOPLE if is_person else ("storm", "fire", "ship", "war", "letter"))
        good, bad = ("who", "which") if is_person else ("which", "who")
        verb = f"{act[2]} the {self.noun(0)}" if is_person else f"reached the {self.noun(0)}"
        start, place = f"I remember the {word}", self.pick(PLACES)
        return f"{start} {good} {verb} {place}", f"{start} {bad} {verb} {place}"

    def verb_complement(self):
        act, thing, name = self.pick(ACTS), self.noun(0, THINGS), self.pick(MEN + WOMEN)
        to, ing = f"to {act[0]} the {thing}", f"{act[4]} the {thing}"
        if self.pick((0, 1)):
            verb = self.pick(("wanted", "decided", "promised", "refused", "agreed", "hoped"))
            return f"{name} {verb} {to}", f"{name} {verb} {ing}"
        verb = self.pick(("enjoyed", "finished", "avoided", "suggested", "denied"))
        return f"{name} {verb} {ing}", f"{name} {verb} {to}"

    def missing_object(self):
        verb = self.pick(("destroyed", "built", "found", "brought", "carried", "owned"))
        other = self.pick(("arrived", "slept", "laughed", "waited", "died", "disappeared"))
        place = self.pick(PLACES)
        start = f"the {self.pick(ADJECTIVES)} {self.noun(0)}"
        return f"{start} {other} {place}", f"{start} {verb} {place}"

    def question_order(self):
        act, who, thing = self.pick(ACTS), self.noun(0), self.noun(0, THINGS)
        word = self.pick(("why", "when", "where", "how"))
        end = f"{act[0]} the {thing}"
        return f"{word} did the {who} {end}", f"{word} the {who} did {end}"

    def preposition(self):
        name, who = self.pick(MEN + WOMEN), self.noun(self.pick((0, 1)))
        verb, bad = self.pick(
            (
                ("depended on", "depended at"),
                ("listened to", "listened of"),
                ("belonged to", "belonged with"),
                ("was married to", "was married at"),
                ("was afraid of", "was afraid to"),
                ("waited for", "waited of"),
                ("laughed at", "laughed of"),
            )
        )
        end = f"the {who} {self.pick(PLACES)}"
        return f"{name} {verb} {end}", f"{name} {bad} {end}"

    def word_order(self):
        act, who, thing = self.pick(ACTS), self.noun(0), self.noun(0, THINGS)
        adverb, adjective = self.pick(("always", "never", "often")), self.pick(ADJECTIVES)
        if self.pick((0, 1)):
            return (
                f"the {who} {adverb} {act[2]} the {thing}",
                f"the {who} {act[2]} {adverb} the {thing}",
            )
        end = self.pick(PLACES)
        return (
            f"the {who} {act[2]} the {adjective} {thing} {end}",
            f"the {who} {act[2]} the {thing} {adjective} {end}",
        )


# The term of each phenomenon, by the method that makes it.
TERMS = {
    "agreement": "agreement_simple agreement_across_phrase agreement_across_clause agreement_there",
    "noun_phrase": "determiner_noun determiner_adjective_noun much_many article comparative",
    "pronouns": "reflexive_number reflexive_gender pronoun_case relative_pronoun",
    "verb_forms": "participle past_form after_did verb_complement",
    "structure": "negative_polarity missing_object question_order preposition word_order",
}


def pairs():
    """Yields the pairs as dicts in the layout of BLiMP."""
    for term, names in TERMS.items():
        for name in words(names):
            maker, made = Maker(name), {}
            while len(made) < PAIRS:
                good, bad = (f"{text[0].upper()}{text[1:]}" for text in getattr(maker, name)())
                mark = "?" if name == "question_order" else "."
                made[f"{good}{mark}"] = f"{bad}{mark}"
            for good, bad in made.items():
                assert good != bad
                values = {"sentence_good": good, "sentence_bad": bad}
                yield values | {"linguistics_term": term, "UID": name}


if __name__ == "__main__":
    for pair in pairs():
        print(json.dumps(pair))
