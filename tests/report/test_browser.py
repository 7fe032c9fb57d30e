"""The page in a real browser, from a file and without a network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browsing import Visit, needs_browser, opened_browser
from report.conftest import Report

from expectant.report import Curves, Environment, Header, Palette, chart_of, palette_of, write_page
from expectant.report.formatting import format_number

EVIL = "<script>alert(1)</script><b>bold</b> %{x} <img src=x onerror=alert(2)>"

pytestmark = needs_browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as found:
        yield found


class ReportVisit(Visit):
    """The page of the paper."""

    def __init__(self, browser: Any, path: Path, width: int) -> None:
        super().__init__(browser, path, width)
        self.page.wait_for_selector("#figure-5a .plot svg")

    def count(self, selector: str) -> int:
        return self.page.locator(selector).count()


@pytest.fixture(scope="module")
def written(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    return write_page(path, report.sections, report.palette)


@pytest.fixture(scope="module", params=[1200, 400], ids=["wide", "narrow"])
def visit(request: pytest.FixtureRequest, browser: Any, written: Path) -> Iterator[ReportVisit]:
    visit = ReportVisit(browser, written, request.param)
    yield visit
    visit.page.close()


def test_nothing_goes_wrong_and_nothing_is_asked_for(visit: ReportVisit, written: Path) -> None:
    assert visit.problems == []
    assert visit.requests == [written.as_uri()]


def test_every_figure_has_its_curves_and_a_thumbnail(visit: ReportVisit, report: Report) -> None:
    for figure in ("1", "5a"):
        panel = report.panels[figure][0]
        plot = f"#figure-{figure} .plot svg"
        assert visit.count(plot) == 1
        assert visit.count(f"{plot} .line") == visit.count(f"{plot} .band") == len(panel.curves)
        assert visit.count(f"{plot} .break") == len(panel.switches)
        assert visit.page.locator(f"{plot} .level-name").text_content() == format_number(
            panel.optimum
        )
        assert visit.count(f"svg[data-figure=figure-{figure}] path") > len(panel.curves)


def test_the_legend_hides_a_curve_and_shows_values(visit: ReportVisit) -> None:
    chip = visit.page.locator("#figure-5a .chip").nth(1)
    chip.click()
    assert visit.count("#figure-5a .plot .line") == visit.count("#figure-5a .plot .band") == 2
    visit.page.locator("#figure-5a .chip").nth(1).click()
    assert visit.count("#figure-5a .plot .line") == 3
    visit.page.locator("#figure-5a .plot svg").hover()
    values = visit.page.locator("#figure-5a .chip output").all_inner_texts()
    assert all(re.fullmatch(r"−?\d+(\.\d+)?", value) for value in values)


def test_the_switch_shows_another_interpretation(visit: ReportVisit) -> None:
    visit.page.locator("#ablations summary h2").click()
    assert visit.count("#figure-5b .plot .cross") == 0
    visit.page.locator("#figure-5b .switch button[value=authors]").click()
    assert visit.count("#figure-5b .plot .cross") == 1
    assert "(2 of 30 runs diverged)" in visit.page.locator("#figure-5b .chip").nth(3).inner_text()


def test_a_link_opens_what_is_folded(browser: Any, written: Path) -> None:
    visit = ReportVisit(browser, written, 1200)
    visit.page.locator(".grid a[href='#claim-5b-4']").first.click()
    visit.page.wait_for_selector("#claim-5b-4", state="visible")
    visit.page.close()


@pytest.mark.parametrize("wide", [1200, 400])
def test_everything_fits_open_and_on_paper(browser: Any, written: Path, wide: int) -> None:
    visit = ReportVisit(browser, written, wide)
    visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert visit.count("details:not([open])") == 0
    width, window = visit.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width <= window
    visit.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert visit.count("details[open]") == 0 and visit.problems == []
    visit.page.close()


def test_names_are_only_names(browser: Any, tmp_path: Path, make_panel: Any) -> None:
    panel = make_panel(panel=EVIL)
    for agent in panel.curves:
        panel.labels[agent] = EVIL
    chart = replace(chart_of([panel]), x_name=EVIL, y_name=EVIL)
    sections = [Header(EVIL, EVIL), Curves("5a", EVIL, chart), Environment({EVIL: EVIL})]
    path = write_page(tmp_path / "evil.html", sections, palette_of([panel]))
    visit = ReportVisit(browser, path, 1200)
    visit.page.locator("#figure-5a .plot svg").hover()
    assert visit.page.locator("h1").inner_text() == EVIL
    assert visit.count("b, img") == 0 and visit.problems == []
    visit.page.close()


def test_a_script_that_got_in_would_not_run(browser: Any, tmp_path: Path) -> None:
    sections = [Header("t"), Environment({"seed": 0})]
    path = write_page(tmp_path / "page.html", sections, Palette({}))
    text = path.read_text()
    path.write_text(text.replace("</main>", "<script>document.title = 'evil'</script></main>"))
    visit = Visit(browser, path, 800)
    assert visit.page.title() == "t"
    assert "Content Security Policy" in visit.problems[0]
    visit.page.close()
