"""Windows over long sentences: whole cover, no gap, no overlap, context where it can be had."""

import pytest

from tta.scoring.scorers.windows import Window, split_windows


@pytest.mark.parametrize("num_pieces", [0, 1, 7])
def test_what_fits_is_one_window(num_pieces):
    expected = Window(0, num_pieces, 0, num_pieces, is_first=True, is_last=True)
    assert split_windows(num_pieces, 7) == [expected]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("num_pieces", range(1, 60))
def test_parts_that_are_kept_follow_each_other(num_pieces, size):
    windows = split_windows(num_pieces, size)
    kept = [i for window in windows for i in range(window.keep_start, window.keep_stop)]
    assert kept == list(range(num_pieces))
    for window in windows:
        assert window.start <= window.keep_start <= window.keep_stop <= window.stop <= num_pieces
        assert window.stop - window.start <= size
    assert [window.is_first for window in windows] == [True] + [False] * (len(windows) - 1)
    assert [window.is_last for window in windows] == [False] * (len(windows) - 1) + [True]


@pytest.mark.parametrize("num_pieces", [21, 40, 41, 99, 200])
def test_every_piece_sees_a_quarter_of_a_window_on_both_sides(num_pieces):
    size = 20
    for window in split_windows(num_pieces, size):
        if not window.is_first:
            assert window.keep_start - window.start >= size // 4
        if not window.is_last:
            assert window.stop - window.keep_stop >= size // 4
