"""The page in a real browser, from a file and without a network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browsing import Visit, needs_browser, opened_browser
from report.conftest import Report

from expectant.report import (
    Curves,
    Environment,
    Header,
    Palette,
    Parameters,
    chart_of,
    palette_of,
    write_page,
)
from expectant.report.formatting import format_number

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


def test_every_plot_has_its_curves(visit: ReportVisit, report: Report) -> None:
    for figure, panels in report.panels.items():
        for place, panel in enumerate(panels, start=1):
            plot = f"#figure-{figure}-plot-{place}"
            assert visit.page.locator(f"{plot} .js-fill").count() == len(panel.curves)
            lines = len(panel.switches) + 1
            assert visit.page.locator(f"{plot} .shapelayer path").count() == lines
            label = visit.page.locator(f"{plot} .annotation-text").text_content()
            assert label == format_number(panel.optimum)


def test_a_click_in_the_legend_hides_curve_and_band_in_all_panels(visit: ReportVisit) -> None:
    plots = ("figure-5a-plot-1", "figure-5a-plot-2")
    before = [visit.drawn(plot) for plot in plots]
    visit.entry("figure-5a", 1).click()
    for plot, count in zip(plots, before, strict=True):
        shown = visit.shown(plot)
        assert not (shown[1, "line"] or shown[1, "band"])
        assert shown[0, "line"] and shown[0, "band"]
        assert visit.drawn(plot) == count - 2
    assert all(visit.shown("figure-5b-plot-1").values())
    assert visit.entry("figure-5a", 1).get_attribute("aria-pressed") == "false"
    visit.entry("figure-5a", 1).click()
    assert [visit.drawn(plot) for plot in plots] == before


def test_a_double_click_shows_a_curve_alone_and_again_all(visit: ReportVisit) -> None:
    visit.entry("figure-5b", 3).dblclick()
    shown = visit.shown("figure-5b-plot-1")
    assert {agent for (agent, _), visible in shown.items() if visible} == {3}
    visit.entry("figure-5b", 3).dblclick()
    assert all(visit.shown("figure-5b-plot-1").values())


def test_a_diverged_curve_ends_with_a_cross(visit: ReportVisit) -> None:
    assert (3, "end") not in visit.shown("figure-5b-plot-1")
    assert visit.shown("figure-5b-plot-2")[3, "end"]
    assert "(runs diverged, by panel: 0/30, 2/30)" in visit.entry("figure-5b", 3).inner_text()


def test_on_paper_everything_is_open(browser: Any, written: Path) -> None:
    visit = ReportVisit(browser, written, 1200)
    visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert visit.page.locator("details:not([open])").count() == 0
    visit.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert visit.page.locator("details[open]").count() == 0
    assert visit.problems == []
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


def test_a_script_that_got_in_would_not_run(browser: Any, tmp_path: Path) -> None:
    path = write_page(tmp_path / "page.html", [Header("t"), Environment([("seed", 0)])], NOBODY)
    text = path.read_text()
    path.write_text(text.replace("</main>", "<script>document.title = 'evil'</script></main>"))
    visit = Visit(browser, path, 800)
    assert visit.page.title() == "t"
    assert "Content Security Policy" in visit.problems[0]
    visit.page.close()
