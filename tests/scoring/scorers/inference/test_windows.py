"""Windows over long sentences: they cover all pieces once and give context on both sides."""

import pytest

from tta.scoring.scorers.inference.windows import Window, split_windows


@pytest.mark.parametrize("num_pieces", [0, 1, 7])
def test_a_sentence_that_fits_is_one_window(num_pieces):
    assert split_windows(num_pieces, 7) == [Window(0, num_pieces, 0, num_pieces)]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13])
def test_the_kept_parts_cover_every_piece_once(size):
    for pieces in range(1, 60):
        windows = split_windows(pieces, size)
        kept = [i for window in windows for i in range(window.keep_start, window.keep_stop)]
        assert kept == list(range(pieces))
        for window in windows:
            assert window.start <= window.keep_start <= window.keep_stop <= window.stop <= pieces
            assert window.stop - window.start <= size
        assert [window.start == 0 for window in windows] == [True] + [False] * (len(windows) - 1)
        last = [window.stop == pieces for window in windows]
        assert last == [False] * (len(windows) - 1) + [True]


@pytest.mark.parametrize("num_pieces", [21, 40, 41, 99, 200])
def test_every_piece_has_a_quarter_of_a_window_on_both_sides(num_pieces):
    size = 20
    for window in split_windows(num_pieces, size):
        if window.start > 0:
            assert window.keep_start - window.start >= size // 4
        if window.stop < num_pieces:
            assert window.stop - window.keep_stop >= size // 4
