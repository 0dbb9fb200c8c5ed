"""The page of tta demo in a real browser: Chromium, by Playwright (CONTRIBUTING.md)."""

import re

import pytest

from tests.accessibility import serious
from tests.fake_model import FakeModel
from tests.scoring.server.serving import serving

pytestmark = pytest.mark.large


def expect(locator):
    """Playwright's assertions of what a page shows."""
    from playwright.sync_api import expect

    return expect(locator)


@pytest.fixture
def page(browser):
    with serving(FakeModel()) as port:
        page = browser.new_page()
        page.set_default_timeout(20_000)  # milliseconds
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda one: errors.append(one.text) if one.type == "error" else None)
        page.goto(f"http://127.0.0.1:{port}/")
        page.wait_for_selector("#list tr")
        yield page
        page.close()
    assert [str(one) for one in errors if "400" not in str(one)] == []


def score(page, text):
    page.fill("#text", text)
    page.click("#score")


def lines(page):
    """The lines of the input in the order of the table."""
    return page.locator("#list tr > :first-child")


def move(page, slider, value):
    page.locator(f"#{slider}").evaluate(
        "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }",
        value,
    )


def test_a_range_of_a_legend_stays_on_one_line_of_a_phone(page):
    page.set_viewport_size({"width": 375, "height": 800})
    page.wait_for_selector("#sure_legend .t")
    for legend in ("#legend", "#sure_legend"):
        ranges = page.locator(f"{legend} .t")
        lines = ranges.evaluate_all("all => all.map(one => one.getClientRects().length)")
        assert lines == [1] * 6, legend


def test_the_ranking_follows_the_weight(page):
    score(page, "-1.0 | the kat sat\n-1.5 | the cat sat")
    page.wait_for_selector("#list >> text=kat")
    page.check("#max")
    move(page, "length_bonus", 0)
    move(page, "lm_weight", 0)
    expect(lines(page)).to_have_text(["1", "2"])
    move(page, "lm_weight", 1)
    expect(lines(page)).to_have_text(["2", "1"])
    assert page.locator("#lm_weight + output").inner_text() == "1.00"
    cells = page.locator("#list tr.pick td").all_inner_texts()
    terms = ["0.00\n-1.50", "-3.00\n-3.00", "0.00\n3", "0.00\n-0.50"]
    assert cells == ["2", "the cat sat", *terms, "-3.00", "", ""]
    page.uncheck("#max")
    expect(page.locator("#list tr.pick td").last).to_have_text(re.compile(r"0\.\d\d"))


def check_formula(page):
    """The columns of each row add up to its combined score, as the formula says."""
    page.wait_for_selector("#list tr")
    _, _, *headings, combined, _, _ = page.locator("#headings th").all_inner_texts()
    assert combined == "combined"
    formula = page.locator("#formula").inner_text()
    weights = dict.fromkeys(headings, 0.0) | {
        heading: float(weight)
        for weight, heading in re.findall(r"(-?[\d.]+) \u00d7 (first pass|\w+)", formula)
    }
    assert weights.keys() == set(headings)
    for row in page.locator("#list tr").all():
        _, _, *terms, score, _, _ = row.locator("td").all_inner_texts()
        shown = [tuple(map(float, term.split())) for term in terms]
        assert sum(term for term, _ in shown) == pytest.approx(float(score), abs=0.03)
        for (term, value), heading in zip(shown, headings, strict=True):
            assert term == pytest.approx(weights[heading] * value, rel=0.01, abs=0.02)


def test_the_formula_gives_the_scores(page):
    check_formula(page)
    assert "distance" in page.locator("#formula").inner_text()
    move(page, "lm_weight", 0.5)
    expect(page.locator("#formula")).to_have_text(re.compile("= 0.500 "))
    check_formula(page)


def test_tokens_have_the_colour_of_their_log_probability(page):
    score(page, "the kat")
    kat = page.locator("#list .t", has_text="kat")
    kat.wait_for()
    assert (kat.get_attribute("class"), kat.get_attribute("title")) == ("t l3", "-5.00")
    colours = {
        name: page.locator("#list .t", has_text=name).first.evaluate(
            "e => getComputedStyle(e).background"
        )
        for name in ("the", "kat")
    }
    assert colours["the"] != colours["kat"]


def test_a_text_is_never_html(page):
    score(page, "<img/src=x/onerror=alert(1)>")
    page.wait_for_selector("#list >> text=<img/src=x/onerror=alert(1)>")
    assert page.locator("img").count() == 0


def test_an_error_is_one_line_and_the_old_list_goes(page):
    score(page, "-1 | a\nb")
    page.wait_for_selector("text=line 2: expected")
    expect(lines(page)).to_have_count(0)
    expect(page.locator("#sure")).to_be_empty()
    score(page, "a")
    expect(page.locator("#error")).to_be_empty()
    expect(lines(page)).to_have_text(["1"])


def test_a_narrow_page_does_not_scroll_sideways(page):
    page.set_viewport_size({"width": 360, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_the_values_of_tokens_show_by_keyboard(page):
    score(page, "the kat")
    row = page.locator("#list .values", has_text="kat")
    row.wait_for()
    content = "kat => getComputedStyle(kat, '::after').content"
    assert row.locator(".t").nth(1).evaluate(content) == "none"
    row.focus()
    assert "-5.00" in row.locator(".t").nth(1).evaluate(content)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(page, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 375, "height": 700})
    assert serious(page) == {}
