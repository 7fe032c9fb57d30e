"""The page in a real browser, from a file and without a network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browsing import Visit, needs_browser, opened_browser

from expectant.show import (
    Claims,
    Curves,
    Environment,
    Glance,
    Header,
    Palette,
    Parameters,
    chart_of,
    palette_of,
    write_page,
)
from expectant.show.wording import shown_number
from show.conftest import Report

NOBODY = Palette({})
EVIL = "<script>alert(1)</script><b>bold</b> %{x} <img src=x onerror=alert(2)>"

pytestmark = needs_browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as found:
        yield found


class ReportVisit(Visit):
    """The page of the paper, with all its plots drawn."""

    def __init__(self, browser: Any, path: Path, width: int) -> None:
        super().__init__(browser, path, width)
        self.page.wait_for_function(
            "[...document.querySelectorAll('div.plot')].every(plot => plot.querySelector('.js-line'))"
        )

    def shown(self, plot: str) -> dict[tuple[int, str], bool]:
        """Which parts of a plot are drawn, by agent and part (line or band)."""
        parts = self.page.evaluate(
            """id => {
                const { data, _fullData } = document.getElementById(id);
                return data.map(({ meta }, place) =>
                    [meta.agent, meta.part, _fullData[place].visible === true]);
            }""",
            plot,
        )
        return {(agent, part): visible for agent, part, visible in parts}

    def drawn(self, plot: str) -> int:
        """How many traces have something on the screen."""
        return self.page.locator(f"#{plot} .scatterlayer .trace").count()

    def entry(self, figure: str, agent: int) -> Any:
        return self.page.locator(f'[data-figure="{figure}"][data-key="{agent}"]')


@pytest.fixture(scope="module")
def written(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    return write_page(path, report.sections, report.palette)


@pytest.fixture(scope="module", params=[1200, 400], ids=["wide", "narrow"])
def visit(request: pytest.FixtureRequest, browser: Any, written: Path) -> Iterator[ReportVisit]:
    visit = ReportVisit(browser, written, request.param)
    yield visit
    visit.page.close()


def open_all(visit: ReportVisit) -> None:
    """Unfold all that is folded."""
    for part in visit.page.locator("details").all():
        part.evaluate("part => { part.open = true; }")


def test_nothing_goes_wrong_and_nothing_is_asked_for(visit: ReportVisit, written: Path) -> None:
    assert visit.problems == []
    assert visit.requests == [written.as_uri()]


def test_the_page_does_not_scroll_sideways(visit: ReportVisit) -> None:
    open_all(visit)
    width, window = visit.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width <= window


def test_sentences_about_a_claim_take_the_whole_width(visit: ReportVisit) -> None:
    open_all(visit)
    shares = visit.page.evaluate(
        """[...document.querySelectorAll(".how li")].map(
            part => part.clientWidth / part.closest("article").clientWidth)"""
    )
    assert shares and min(shares) > 0.8


def test_every_plot_has_its_curves(visit: ReportVisit, report: Report) -> None:
    for figure, panels in report.panels.items():
        for place, panel in enumerate(panels, start=1):
            plot = f"#figure-{figure}-plot-{place}"
            lines = visit.page.locator(f"{plot} .js-line").all()
            drawn = [line.get_attribute("d") or "" for line in lines]
            assert sum(len(path) > 100 for path in drawn) >= len(panel.curves)
            assert visit.page.locator(f"{plot} .js-fill").count() == len(panel.curves)
            lines = len(panel.switches) + 1
            assert visit.page.locator(f"{plot} .shapelayer path").count() == lines
            label = visit.page.locator(f"{plot} .annotation-text").text_content()
            assert label == shown_number(panel.optimum)


def test_plots_are_as_wide_as_their_place(visit: ReportVisit) -> None:
    sizes = visit.page.evaluate(
        """[...document.querySelectorAll("div.plot")].map(plot => [
            plot.clientWidth, plot.querySelector(".main-svg").clientWidth])"""
    )
    assert all(abs(place - drawn) <= 1 for place, drawn in sizes)


def test_a_click_in_the_legend_hides_curve_and_band_in_all_panels(visit: ReportVisit) -> None:
    plots = ("figure-5a-plot-1", "figure-5a-plot-2")
    before = [visit.drawn(plot) for plot in plots]
    visit.entry("figure-5a", 1).click()
    for plot, count in zip(plots, before, strict=True):
        shown = visit.shown(plot)
        assert not shown[1, "line"]
        assert not shown[1, "band"]
        assert shown[0, "line"]
        assert shown[0, "band"]
        assert visit.drawn(plot) == count - 2
    assert all(visit.shown("figure-5b-plot-1").values())
    assert visit.entry("figure-5a", 1).get_attribute("aria-pressed") == "false"
    visit.entry("figure-5a", 1).click()
    assert [visit.drawn(plot) for plot in plots] == before


def test_a_double_click_shows_a_curve_alone_and_again_all(visit: ReportVisit) -> None:
    visit.entry("figure-4b", 3).dblclick()
    shown = visit.shown("figure-4b-plot-1")
    assert {agent for (agent, _), visible in shown.items() if visible} == {3}
    visit.entry("figure-4b", 3).dblclick()
    assert all(visit.shown("figure-4b-plot-1").values())


def test_a_diverged_curve_ends_with_a_cross(visit: ReportVisit) -> None:
    assert (3, "end") not in visit.shown("figure-5b-plot-1")
    assert visit.shown("figure-5b-plot-2")[3, "end"]
    assert "(runs diverged, by panel: 0/30, 2/30)" in visit.entry("figure-5b", 3).inner_text()


def test_verdicts_at_a_glance(visit: ReportVisit, report: Report) -> None:
    cells = visit.page.locator(".matrix .badge")
    assert cells.count() == len(report.verdicts) == 36
    assert set(cells.all_inner_texts()) == {"✓\nholds", "✗\ndoes not hold", "?\nunclear"}
    visit.page.locator(".claim-link", has_text="Algorithm 2 recovers later").click()
    assert visit.page.evaluate("location.hash") == "#figure-5b"
    top = visit.page.evaluate("document.getElementById('figure-5b').getBoundingClientRect().top")
    assert -5 < top < 100


def test_hovering_tells_numbers(visit: ReportVisit) -> None:
    plot = visit.page.locator("#figure-5a-plot-1 .nsewdrag")
    plot.scroll_into_view_if_needed()
    plot.hover()
    label = visit.page.locator("#figure-5a-plot-1 .hoverlayer")
    label.locator("text", has_text="Q-learning").first.wait_for()
    assert "around episode" in (label.text_content() or "")


def test_no_button_sends_anything_anywhere(visit: ReportVisit) -> None:
    titles = visit.page.evaluate(
        """[...new Set([...document.querySelectorAll(".modebar-btn")].map(
            button => button.dataset.title))]"""
    )
    assert titles == ["Download plot as a PNG", "Zoom", "Pan", "Autoscale", "Reset axes"]


def test_a_plot_can_be_saved_as_a_picture(visit: ReportVisit, tmp_path: Path) -> None:
    button = visit.page.locator('#figure-1-plot-1 [data-title="Download plot as a PNG"]')
    with visit.page.expect_download() as saved:
        button.dispatch_event("click")
    saved.value.save_as(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert visit.problems == []


def test_on_paper_everything_is_open_and_fits(browser: Any, written: Path) -> None:
    visit = ReportVisit(browser, written, 1200)
    visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    drawn = visit.page.evaluate(
        """[...document.querySelectorAll("div.plot")].map(plot => [
            plot.clientWidth, plot.querySelector(".main-svg").clientWidth])"""
    )
    assert all(place == width <= 680 for place, width in drawn)
    assert visit.page.locator("details:not([open])").count() == 0
    visit.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert visit.page.locator("details[open]").count() == 0
    visit.page.wait_for_function(
        "document.querySelector('#figure-1-plot-1 .main-svg').clientWidth > 1000"
    )
    assert visit.problems == []
    visit.page.close()


@pytest.mark.parametrize("width", [1200, 400])
def test_long_words_do_not_widen_the_page(
    browser: Any, tmp_path: Path, make_panel: Any, width: int
) -> None:
    long = "a_very_long_word_" * 20
    panels = [make_panel(panel=long, reading=reading) for reading in ("text", long)]
    for panel in panels:
        panel.labels["lookahead"] = long
    keys = ("id", "reading", "claim", "verdict", "effect", "low", "high", "rule", "detail")
    verdict = dict.fromkeys(keys, long) | {"figure": "5a"}
    sections = [
        Header(long, long, [long]),
        Glance([verdict]),
        Curves("5a", long, chart_of(panels)),
        Claims([verdict]),
        Parameters([(long, [(long, long)])], [long], long),
        Environment([(long, long)]),
    ]
    path = write_page(tmp_path / "long.html", sections, palette_of(panels))
    visit = ReportVisit(browser, path, width)
    open_all(visit)
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    visit.page.close()


def test_names_are_only_names(browser: Any, tmp_path: Path, make_panel: Any) -> None:
    panel = make_panel(panel=EVIL)
    for agent in panel.curves:
        panel.labels[agent] = EVIL
    sections = [
        Header(EVIL, EVIL),
        Curves("5a", EVIL, replace(chart_of([panel]), x_name=EVIL, y_name=EVIL)),
        Parameters([(EVIL, [(EVIL, EVIL)])], [EVIL], EVIL),
        Environment([(EVIL, EVIL)]),
    ]
    path = write_page(tmp_path / "evil.html", sections, palette_of([panel]))
    visit = ReportVisit(browser, path, 1200)
    plot = visit.page.locator("#figure-5a-plot-1 .nsewdrag")
    plot.scroll_into_view_if_needed()
    plot.hover()
    label = visit.page.locator("#figure-5a-plot-1 .hoverlayer")
    label.locator("text", has_text=EVIL).first.wait_for()
    assert visit.page.locator("h1").inner_text() == EVIL
    assert visit.page.locator("b, img").count() == 0
    assert visit.problems == []
    visit.page.close()


def test_a_curve_that_leaves_the_axis_is_marked_until_one_zooms(
    browser: Any, tmp_path: Path, make_panel: Any
) -> None:
    panel = make_panel()
    panel.curves["q_learning"][:, 20:] = -200.0
    chart = chart_of([panel])
    path = write_page(
        tmp_path / "falls.html", [Header("t"), Curves("1", "", chart)], palette_of([panel])
    )
    visit = ReportVisit(browser, path, 1200)
    mark = visit.page.evaluate(
        """(({x, y, text}) => [x, y, text])(
            document.getElementById("figure-1-plot-1").data.find(t => t.meta.part === "mark"))"""
    )
    # The same as in the static figure: the same axis, the same place, the same number.
    (expected,) = chart.marks(chart.plots[0].curves[0])
    data: Any = chart.data("")
    low = data["range"][0]
    assert mark == [[chart.plots[0].x[expected.place]], [low], ["−200"]]
    label = visit.page.locator("#figure-1-plot-1 .textpoint text")
    assert label.text_content() == "−200"
    visit.page.locator("#figure-1-plot-1 .nsewdrag").dblclick()
    label.wait_for(state="detached")
    axis = "document.getElementById('figure-1-plot-1').layout.yaxis.range[0]"
    assert visit.page.evaluate(axis) < -200
    visit.page.locator('#figure-1-plot-1 [data-title="Reset axes"]').dispatch_event("click")
    label.wait_for()
    assert visit.page.evaluate(axis) == low
    visit.entry("figure-1", 0).click()
    label.wait_for(state="detached")
    visit.entry("figure-1", 1).click()  # another one
    assert label.count() == 0
    visit.entry("figure-1", 0).click()
    label.wait_for()
    assert visit.problems == []
    visit.page.close()


def test_a_script_that_got_in_would_not_run(browser: Any, tmp_path: Path) -> None:
    path = write_page(tmp_path / "page.html", [Header("t"), Environment([("seed", 0)])], NOBODY)
    text = path.read_text()
    path.write_text(text.replace("</main>", "<script>document.title = 'evil'</script></main>"))
    visit = Visit(browser, path, 800)
    assert visit.page.title() == "t"
    assert "Content Security Policy" in visit.problems[0]
    visit.page.close()
