"""Files that look like lists and are none, and columns that are not what their place says."""

import json
import re

import pytest

from tests.data.nbest.test_files import nbest, written
from tta.data.nbest.files import read_nbest
from tta.errors import InputError

NAMED = "format='kaldi' reads it as lists"

ONE_BEST = [
    ("1089-134686-0000 HE HOPED\n1089-134686-0001 STUFF IT\n", "LibriSpeech"),
    ("AlGore_2009-0001782-0002881 so what\nAlGore_2009-0002912-0004123 i think\n", "TED-LIUM"),
    ("sw02001-A_000098-001156 hi um yeah\nsw02001-A_001980-002131 okay\n", "Switchboard"),
    ("sw_4390-B_104532-104613 uh-huh\nsw_4390-B_104700-104801 okay\n", "eval2000, long calls"),
    ("u1-1 a cat\nu2-1 a hat\nu3-1 a dog\n", "one hypothesis for each id"),
    ("u-1 /data/u-1.wav\nu-2 /data/u-2.wav\n", "wav.scp"),
    ("u-1 sph2pipe -f wav u.sph |\nu-2 sph2pipe -f wav v.sph |\n", "wav.scp with commands"),
    ("u-1 a cat\nu-3 a hat\nv-1 a dog\n", "a gap, as in pruned lists"),
    ("u-01 a cat\nu-02 a hat\n", "leading zeros, as in padded lists"),
    ("u-0 a cat\nu-1 a hat\n", "numbers from 0"),
    ("u-1 yes please\nu-2 no thank you\nu-3 maybe later\n", "utterances from 1, one session"),
    ("s-1 yes please\ns-2 no thank you\nt-1 the door\nt-2 stay here\n", "two sessions"),
    ("s-1 关灯谢谢你们大家\ns-2 今天的天气怎么样啊\n", "without blanks"),
    ("u-1 jo\nu-2 jo\nv-1 al\nv-2 al\n", "utt2spk"),
    ("u-1 rec 0.0 1.5\nu-2 rec 1.5 3.0\n", "segments"),
    ("u-1 1.52\nu-2 3.01\n", "utt2dur, or costs"),
]


@pytest.mark.parametrize(("text", "why"), ONE_BEST)
def test_one_best_texts_are_no_lists(write, text, why):
    path = write(text)
    with pytest.raises(InputError, match=f"one hypothesis|{NAMED}|no known format"):
        read_nbest(path)
    assert read_nbest(path, "kaldi").lists, why


@pytest.mark.parametrize(
    "text",
    [
        "u-1 turn on the light\nu-2 turn the light on\nu-3 burn on the light\n",
        "u-1 甚至出现交易几乎停止\nu-2 甚至出现教易几乎停滞\n",
        "u-1 a\nu-2 b\n",
        "u-1 turn on the light\nu-2\n",
    ],
)
def test_texts_that_are_alike_or_short_are_lists(write, text):
    (one,) = read_nbest(write(text)).lists
    assert len(one.hypotheses) == text.count("\n")


def test_costs_tell_that_texts_are_lists(write, tmp_path):
    (tmp_path / "costs").write_text("u-1 3\nu-2 4\n")
    path = write("u-1 yes please\nu-2 no thank you\n")
    assert len(read_nbest(path, score_file=tmp_path / "costs").lists[0].hypotheses) == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("id,text,hypothesis,score\nu,r,a,-1\nu,r,b,-2\n", "the name says it"),
        ("id,text,pred_text,score\nu,r,a,-1\nu,r,b,-2\n", "NeMo's name"),
        ("id,hyp,score,text\nu,a,-1,r\nu,b,-2,r\n", "in any order"),
        ("id,text,hypothesis,score,ref\nu,x,a,-1,r\nu,y,b,-2,r\n", "a reference of its own"),
        ("id\ttext\thypothesis\tscore\nu\tr\ta\t-1\nu\tr\tb\t-2\n", "tabs"),
        ("id,transcript,hypothesis,score\nu,r,a,-1\nu,r,b,-2\n", "another name"),
        ("id,text,ground_truth,score\nu,a,r,-1\nu,b,r,-2\n", "a name that can mean nothing else"),
        (
            '{"id": "u", "text": "r", "hyp": "a", "score": -1.0}\n'
            '{"id": "u", "text": "r", "hyp": "b", "score": -2.0}\n',
            "rows of JSON",
        ),
    ],
)
def test_text_beside_a_hypothesis_is_the_reference(write, text, why):
    file = read_nbest(write(text))
    assert file.lists == [nbest("u", ("a", -1.0), ("b", -2.0), reference="r")], why
    assert written(file.lists, file.format).splitlines()[0] == text.splitlines()[0]


@pytest.mark.parametrize(
    ("text", "other", "why"),
    [
        ("id,text,transcription,score\nu,a,r,-1\nu,b,r,-2\n", "transcription", "by the name"),
        ("id,text,asr,score\nu,r,a,-1\nu,r,b,-2\n", "asr", "the same text for all hypotheses"),
        ("id\tout\ttext\nu\ta\tr\nu\tb\tr\nv\tc\ts\n", "out", "with tabs, and a list of one"),
    ],
)
def test_a_text_that_may_be_the_reference_is_refused(write, text, other, why):
    with pytest.raises(
        InputError, match=f"text may be the hypothesis, or the reference of '{other}'"
    ):
        read_nbest(write(text))


def test_equal_texts_beside_numbers_are_hypotheses(write):
    assert read_nbest(write("id,text,score,rank\nu,a,-1,1\nu,a,-2,2\n")).lists


def test_a_word_without_times_among_others_is_refused(write):
    timed = "NBestList2.0\n(-120) turn ( st: 0 et: 1 g: -1 a: -2 )"
    assert read_nbest(write(f"{timed}\n")).lists[0].hypotheses[0].text == "turn"
    with pytest.raises(InputError, match=r":2: expected word \( st: .* got 'on'"):
        read_nbest(write(f"{timed} on\n"))
    assert (
        read_nbest(write("NBestList2.0\n(-120) turn on\n")).lists[0].hypotheses[0].text == "turn on"
    )


def test_text_beside_a_hypothesis_in_json_is_refused(write):
    with pytest.raises(InputError, match='"text" may be the hypothesis, or the reference of "hyp"'):
        read_nbest(write('{"hyps": [{"text": "r", "hyp": "a"}]}'))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a cat\t-3.2\t-1.2\na hat\t-3.9\t-1.1\n", "a text and two scores"),
        ("u\t-3.2\t-1.2\nu\t-3.9\t-1.1\n", "an id and two scores"),
        ("-3.2\t-1.2\n-3.9\t-1.1\n", "two scores"),
    ],
)
def test_scores_are_no_texts(write, text, why):
    with pytest.raises(InputError, match=r"columns are numbers: .* may be .*two scores; .*header"):
        read_nbest(write(text), beam_size=2 if text.startswith("-") else None)


def test_a_text_before_the_id_is_refused(write):
    rule = ":? ?the columns may be text, id and score, as 'the cat', 'u'"
    with pytest.raises(InputError, match=rule):
        read_nbest(write("the cat\tu\t-1\nthe hat\tu\t-2\na dog\tv\t-1\n"))
    file = read_nbest(write("call 1\tyes\t-1\ncall 1\tno\t-2\ncall 2\tyes\t-1\n"))
    assert [one.utterance_id for one in file.lists] == ["call 1", "call 2"], "ids with blanks"


def test_spoken_digits_are_texts(write):
    file = read_nbest(write("u\t5\t-1\nu\t9\t-2\n"))
    assert file.lists == [nbest("u", ("5", -1.0), ("9", -2.0))]


MOSES = [
    ("0 ||| the |0-0| big cat |1-2| ||| lm= -3 ||| -1", "segments"),
    ("0 ||| the |0-0,wa=0-0,total=-1,lm= -2| big cat |1-2,,| ||| lm= -3 ||| -1", "more of them"),
    ("0 ||| the|DT big|JJ cat|NN ||| lm= -3 ||| -1", "factors"),
    ("0 ||| the|DT|d big|UNK|UNK cat|NN|n ||| lm= -3 ||| -1", "three factors, one unknown"),
    ("0 ||| the big cat|UNK|UNK|UNK ||| lm= -3 ||| -1", "an unknown word"),
    ("0 ||| the big cat ||| lm= -3 ||| -1 ||| 0=0 1-2=1-2", "segments in a column"),
    ("0 ||| the big cat ||| lm= -3 ||| -1 ||| 0=0 1=1-2 ||| 0-0 1-1", "and words"),
    ("0 ||| the big cat ||| lm= -3 ||| -1 ||| 0=0 ||| ", "no word is aligned"),
    ("0 ||| the big cat ||| lm= -3 ||| -1 ||| die Katze", "words of the source"),
    ("0 ||| the big cat ||| 0-0 1-2 ||| lm= -3 ||| -1", "Marian: words"),
    ("0 ||| the big cat ||| 0.9,0.1 0.2,0.8 ||| lm= -3 ||| -1", "Marian: probabilities"),
    ("0 ||| the big cat ||| WordScores= -1 -2 -3 ||| lm= -3 ||| -1", "Marian: scores of words"),
    ("0 ||| the big cat ||| 0-0 ||| WordScores= -1 -2 ||| lm= -3 ||| -1", "Marian: both"),
]


@pytest.mark.parametrize(("row", "why"), MOSES)
def test_marks_and_columns_of_moses_and_marian(write, row, why):
    file = read_nbest(write(row + "\n"))
    assert file.lists == [nbest("0", ("the big cat", -1.0, {"lm": -3.0}))], why
    assert written(file.lists, "moses") == row.replace("||| -1", "||| -1.0") + "\n"


def test_a_bar_in_some_words_is_text(write):
    (one,) = read_nbest(write("0 ||| a|b cat ||| -1\n0 ||| |x| ||| -2\n")).lists
    assert [h.text for h in one.hypotheses] == ["a|b cat", "|x|"]


def test_word_pieces_of_espnet1(write):
    text = (
        '{"utts": {"u": {"output": [{"rec_text": "▁THE▁CAT<eos>", "text": "R", "score": -1,'
        '"rec_tokenid": "1 2"}, {"rec_text": "<sos>▁A▁CAT <eos>", "text": "R", "score": -2}]}}}'
    )
    (one,) = read_nbest(write(text)).lists
    assert [h.text for h in one.hypotheses] == ["THE CAT", "A CAT"]
    assert '"rec_text": "▁THE▁CAT<eos>"' in written([one], "espnet1")


def test_formats_of_decipher(write):
    text = "NBestList1.0\n(-9765.625) <s> the cat </s>\n(-19531.25) a hat\n"
    (one,) = read_nbest(write({"u1": text})).lists
    assert [(h.text, round(h.score, 3)) for h in one.hypotheses] == [
        ("the cat", -999.95),
        ("a hat", -1999.9),
    ]
    assert written([one], "srilm") == {"u1": text}
    text = (
        "NBestList2.0\n(-100) <s> ( st: 0 et: 0.1 g: 0 a: 0 ) the ( st: 0.11 et: 0.3 g: -1 a: -2 )"
        " dh ( st: 0.11 et: 0.2 g: 0 a: -1 ) ax ( st: 0.21 et: 0.3 g: 0 a: -1 )"
        " cat ( st: 0.31 et: 0.6 g: -1 a: -2 )\n"
    )
    (one,) = read_nbest(write(text)).lists
    assert [h.text for h in one.hypotheses] == ["the cat"], "phones are inside words"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[{"input": ["a", "b"], "output": "r"}]', "HyPoradise"),
        ('{"input": ["a", "b"], "output": "r"}\n', "a list per line"),
        ('{\n"input": ["a", "b"],\n"output": "r"\n}\n', "on several lines"),
        ('[{"nhyps_base": ["a", "b"], "Caption": "r", "Uid": "0"}]', "LipGER"),
        ('{"hypothesis": ["a", "b"], "transcription": "r"}\n', "other names"),
        ('[{"input1": "a", "input2": ["b"], "output": "r"}]', "the best and the others"),
    ],
)
def test_spellings_of_hyporadise(write, text, why):
    path = write(text)
    file = read_nbest(path)
    assert file.format == "hyporadise"
    assert file.lists == [nbest("0", ("a", None), ("b", None), reference="r")], why
    again = written(file.lists, "hyporadise")
    assert json.loads(again) == json.loads(text), "all keys are kept"
    assert re.findall(r'"(\w+)":', again) == re.findall(r'"(\w+)":', text), "in their order"
    assert read_nbest(write(again)).lists == file.lists


def test_hypotheses_in_one_text_are_refused(write):
    with pytest.raises(InputError, match='"input2" as an array of hypotheses, got one text'):
        read_nbest(write('[{"input1": "a", "input2": "b. c", "output": "r"}]'))


@pytest.mark.parametrize("name", ["texts", "generated_text", "translations", "my texts", "hyps"])
def test_texts_beside_sequences_scores(write, name):
    file = read_nbest(write(f'{{"{name}": ["a", "b"], "sequences_scores": [-0.3, -0.5]}}\n'))
    assert (file.format, file.lists) == ("jsonl", [nbest("0", ("a", -0.3), ("b", -0.5))])
    assert f'"{name}": ["a", "b"]' in written(file.lists, "jsonl")


def test_two_arrays_of_texts_beside_sequences_scores_are_refused(write):
    with pytest.raises(InputError, match="the hypotheses may be texts or sources: call them hyp"):
        read_nbest(write('{"texts": ["a"], "sources": ["b"], "sequences_scores": [-0.3]}\n'))
