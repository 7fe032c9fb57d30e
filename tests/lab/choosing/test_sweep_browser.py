"""The page of a sweep in a real browser, from a file and without a network."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import Visit, needs_browser, opened_browser

from expectant.lab.choosing.choice_figures import sensitivities
from expectant.lab.choosing.choice_page import cells_of, report_sweep
from expectant.lab.choosing.sweep_folder import read_folder
from expectant.show import Header, write_page
from expectant.show.sensitivity import HeatMap, Sensitivity
from expectant.show.sweep_sections import BestSettings, Cells, ShownGroup, ShownMeasure
from lab.choosing.conftest import EVIL

pytestmark = needs_browser
MANY = 10_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as found:
        yield found


class SweepVisit(Visit):
    """The page of a sweep, with its plots drawn; ``seconds`` is how long it took to open."""

    def __init__(self, browser: Any, path: Path, width: int) -> None:
        start = time.perf_counter()
        super().__init__(browser, path, width)
        self.page.wait_for_selector("#heat-plot .heatmaplayer image", state="attached")
        self.seconds = time.perf_counter() - start

    def count(self) -> str:
        return self.page.inner_text("#count")

    def column(self, number: int) -> list[str]:
        """The texts of one column in the rows that are in the document."""
        cells = self.page.locator(f"#cell-table tbody tr[data-place] td:nth-child({number})")
        return cells.all_inner_texts()

    def lines(self) -> list[int]:
        """The cells whose curves are drawn."""
        return self.page.evaluate(
            "document.getElementById('curve-plot').data.filter(t => t.meta.part === 'line').map(t => t.meta.cell)"
        )

    def clear(self) -> None:
        self.page.click("#clear-filters")


@pytest.fixture(scope="module")
def written(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = shutil.copytree(place, tmp_path_factory.mktemp("page") / "sweep")
    return report_sweep(folder)


@pytest.fixture(scope="module")
def visit(browser: Any, written: Path) -> Iterator[Visit]:
    visit = SweepVisit(browser, written, 1200)
    yield visit
    assert visit.problems == [] and visit.requests == [written.as_uri()]
    visit.page.close()


def test_nothing_goes_wrong_and_nothing_is_asked_for(visit, written):
    assert visit.problems == [] and visit.requests == [written.as_uri()]
    assert visit.page.inner_text("h1") == EVIL
    assert visit.page.locator("img").count() == 0
    assert visit.count() == "60 of 60 cells"
    assert len(visit.lines()) == 4  # the best of every agent in every domain


def test_filters(visit):
    visit.page.fill("#search", "AHEAD domain.slip=0.1")
    assert visit.count() == "25 of 60 cells"
    visit.page.fill('[aria-label="filter value_step"]', "<= 0.03")
    assert visit.count() == "10 of 60 cells"
    visit.page.fill('[aria-label="filter model_step"]', "0.03..0.3")
    assert visit.count() == "6 of 60 cells"
    assert set(visit.column(7)) == {"0.03", "0.1", "0.3"}
    visit.page.fill('[aria-label="filter in"]', "no such thing")
    assert visit.count() == "0 of 60 cells"
    visit.clear()
    assert visit.count() == "60 of 60 cells"
    visit.page.fill('[aria-label="filter diverged"]', "2")
    assert visit.count() == "10 of 60 cells"
    visit.clear()


def test_sorting(visit):
    button = visit.page.locator('[title="sort by value"]')
    head = visit.page.locator("#cell-table th", has=button)
    for direction, sign in (("descending", -1), ("ascending", 1)):
        button.click()
        assert head.get_attribute("aria-sort") == direction
        shown = [text.replace("−", "-") for text in visit.column(10)]
        known = [sign * float(text) for text in shown if text != "–"]
        assert known == sorted(known)
    visit.page.locator("#cell-box").evaluate("box => { box.scrollTop = 1e6; }")
    visit.page.wait_for_timeout(100)
    assert visit.column(10)[-10:] == ["–"] * 10  # what diverged has no value, and comes last
    visit.page.click('[title="sort by value_step"]')  # which the first ten rows have not
    assert "–" not in visit.column(6)[:30]
    visit.page.click('[title="sort by agent"]')


def test_rows_and_chips_add_and_remove_curves(visit):
    before = visit.lines()
    visit.page.fill("#search", "plain action_step=0.01 ")
    visit.page.locator("#cell-table tbody tr[data-place]").first.click()
    assert len(visit.lines()) == len(before) + 1
    row = visit.page.locator('#cell-table tbody tr[data-place="0"]')
    assert row.get_attribute("aria-selected") == "true"
    visit.page.locator("#chosen button").last.click()
    assert visit.lines() == before
    assert row.get_attribute("aria-selected") == "false"
    visit.clear()


def test_a_curve_ends_where_a_run_diverged(visit):
    visit.page.fill('[aria-label="filter diverged"]', "> 0")
    visit.page.locator("#cell-table tbody tr[data-place]").first.click()
    ends = visit.page.evaluate(
        "document.getElementById('curve-plot').data.filter(t => t.meta.part === 'line').at(-1).y"
    )
    assert ends[0] is not None and ends[-1] is None
    visit.page.locator("#chosen button").last.click()
    visit.clear()


def test_the_keyboard_is_enough(visit):
    before = visit.lines()
    visit.page.locator("#cell-box").evaluate("box => { box.scrollTop = 0; }")
    visit.page.focus("#cell-box")
    for _ in range(31):
        visit.page.keyboard.press("ArrowDown")
    place = "document.activeElement.closest('tr').dataset.place"
    assert visit.page.evaluate(place) == "30"
    visit.page.keyboard.press("Space")
    assert len(visit.lines()) == len(before) + 1
    assert visit.page.evaluate(place) == "30"  # the row keeps the focus
    visit.page.keyboard.press("Space")
    assert visit.lines() == before


def test_sensitivity_has_the_numbers_of_the_static_figure(visit, place):
    plots = visit.page.locator("#sensitivity-plots figcaption").all_inner_texts()
    assert plots == ["action_step", "value_step", "model_step"]
    traces = visit.page.evaluate(
        "[...document.querySelectorAll('#sensitivity-plots div.plot')].map(plot => plot.data)"
    )
    assert traces[0][0]["name"] == "Plain " + EVIL.replace("<", "&lt;").replace(">", "&gt;")
    folder = read_folder(place)
    for drawn, found in zip(
        traces[1:], sensitivities(folder.groups[2], folder.values), strict=True
    ):
        parts = {trace["meta"]["part"]: trace for trace in drawn}
        assert parts["envelope"]["x"] == list(found.values)
        for part, expected in (("envelope", found.envelope[:, 0]), ("slice", found.slice)):
            shown = np.array(parts[part]["y"], float)  # None becomes NaN
            np.testing.assert_allclose(shown, np.asarray(expected, float), rtol=1e-5)
        gone = np.array(found.values)[np.isnan(found.envelope[:, 0])]
        assert parts["gone"]["x"] == gone.tolist()
    assert gone.size == 0 and traces[1][2]["x"] == [1]


def test_the_heat_map_shows_two_settings_and_adds_curves(visit):
    heat = visit.page.evaluate(
        "(({x, y, z}) => [x, y, z])(document.getElementById('heat-plot').data[0])"
    )
    assert heat[0] == ["0.01", "0.03", "0.1", "0.3", "1"]
    assert all(row[4] is None for row in heat[2])
    assert max(
        (z, i, j) for j, row in enumerate(heat[2]) for i, z in enumerate(row) if z is not None
    )[1:] == (2, 2)
    visit.page.select_option("#heat-first", label="model_step")
    visit.page.select_option("#heat-second", label="value_step")
    turned = visit.page.evaluate("document.getElementById('heat-plot').data[0].z")
    assert turned == [list(column) for column in zip(*heat[2], strict=True)]
    visit.page.select_option("#heat-group", "0")  # one setting only
    assert "Needs two settings" in visit.page.inner_text("#heat-plot")
    visit.page.select_option("#heat-group", "3")
    before = len(visit.lines())
    visit.page.locator("#heat-plot .nsewdrag").click()
    assert len(visit.lines()) == before + 1 or len(visit.lines()) == before - 1


def test_the_measure_goes_everywhere(visit):
    visit.clear()  # which scrolls to the top, as another measure does
    before = visit.column(10)[0]
    visit.page.select_option("#measure", "1")
    assert visit.column(10)[0] != before
    assert visit.page.locator(".choices:visible").get_attribute("data-measure") == "1"
    visit.page.select_option("#measure", "0")
    assert visit.column(10)[0] == before


def test_a_narrow_page_does_not_scroll_sideways(browser, written):
    visit = SweepVisit(browser, written, 380)
    width, window = visit.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width <= window and visit.problems == []
    visit.page.close()


def test_an_agent_has_one_colour_in_all_plots(browser, written):
    visit = SweepVisit(browser, written, 1200)
    drawn = visit.page.evaluate(
        """document.getElementById("curve-plot").data.filter(t => t.meta.part === "line")
            .map(t => [t.name.split("/")[1].split(" ")[0], t.line.color, t.line.dash])"""
    )
    lines = visit.page.evaluate(
        """[...document.querySelectorAll("#sensitivity-plots div.plot")].flatMap(plot => plot.data)
            .filter(t => t.meta.part === "envelope").map(t => [t.name.split(" ")[0], t.line.color])"""
    )
    colours = {name.lower(): colour for name, colour in lines}
    assert set(colours) == {"plain", "ahead"} and len(set(colours.values())) == 2
    first = {name: colour for name, colour, _ in reversed(drawn)}
    assert first == colours
    assert len({(colour, dash) for _, colour, dash in drawn}) == len(drawn)  # still told apart
    visit.page.close()


def test_a_cell_far_below_is_marked_and_does_not_flatten_the_rest(browser, place, tmp_path):
    cells = cells_of(read_folder(place))
    cells.curves[8, :, 5:] = -500.0
    sections = [Header("t"), BestSettings(cells, []), *cells.sections]
    visit = SweepVisit(browser, write_page(tmp_path / "far.html", sections, cells.palette), 1200)
    axis = "document.getElementById('curve-plot').layout.yaxis.range"
    before = visit.page.evaluate(axis)
    visit.page.fill("#search", cells.ids[8])
    visit.page.locator("#cell-table tbody tr[data-place]").first.click()
    assert 8 in visit.lines()
    low, high = visit.page.evaluate(axis)
    assert before[0] - 10 < low <= before[0] and before[1] <= high < before[1] + 1
    label = visit.page.locator("#curve-plot .textpoint text")
    assert label.all_text_contents() == ["−500"]
    visit.page.locator("#curve-plot .nsewdrag").dblclick()
    label.wait_for(state="detached")
    assert visit.page.evaluate(axis)[0] < -500  # all of it
    visit.page.locator('#curve-plot [data-title="Reset axes"]').dispatch_event("click")
    label.wait_for()
    assert visit.page.evaluate(axis) == [low, high]
    for chip in reversed(visit.page.locator("#chosen button").all()[:-1]):
        chip.click()
    assert visit.page.evaluate(axis)[0] > -20  # what it has above the floor
    visit.page.close()


def many() -> Cells:
    rng = np.random.default_rng(0)
    first, second = np.divmod(np.arange(MANY), 100)
    means = rng.normal(size=MANY)
    scores = np.column_stack([means, means - 1, means + 1])
    points = 150
    curves = rng.normal(size=(MANY, 3, points)).astype(np.float32)
    ids = [f"agent first={a} second={b}" for a, b in zip(first, second, strict=True)]
    names, values = ("agent.first", "agent.second"), list(range(100))
    grid = means.reshape(100, 100)
    lines = [Sensitivity("agent", name, values, scores[:100]) for name in names]
    heat = HeatMap(
        "Agent", *names, values, values, grid, grid > 99, np.arange(MANY).reshape(100, 100)
    )
    measure = ShownMeasure("mean", "mean", scores, [], [], {"": lines}, [[heat]])
    columns = {"agent.first": first.tolist(), "agent.second": second.tolist()}
    return Cells(
        ids, columns, [ShownGroup("agent", "Agent", "")], [0] * MANY, [10] * MANY, [0] * MANY, [measure],
        curves, np.arange(points), "episode", "return", "return per episode",
    )  # fmt: skip


def test_ten_thousand_cells_stay_smooth(browser, tmp_path):
    cells = many()
    sections = [Header("Many"), BestSettings(cells, []), *cells.sections]
    path = write_page(tmp_path / "many.html", sections, cells.palette)
    assert path.stat().st_size < 40e6
    visit = SweepVisit(browser, path, 1200)
    assert visit.seconds < 20.0  # three or so on an idle machine
    assert visit.count() == "10,000 of 10,000 cells"
    rows = visit.page.locator("#cell-table tbody tr")
    assert rows.count() < 80
    milliseconds = visit.page.evaluate(
        """async () => {
            const box = document.getElementById("cell-box"), start = performance.now();
            for (let i = 1; i <= 50; i += 1) {
                box.scrollTop = i * 6000;
                await new Promise(requestAnimationFrame);
            }
            return (performance.now() - start) / 50;
        }"""
    )
    assert milliseconds < 200
    assert rows.count() < 80
    last = visit.page.locator("#cell-box").evaluate(
        "box => { box.scrollTop = 1e7; return box.scrollTop; }"
    )
    assert last > 300_000
    visit.page.wait_for_selector('#cell-table tbody tr[data-place="9999"]')
    visit.page.fill("#search", "first=7")
    assert visit.count() == "1,100 of 10,000 cells"
    visit.page.fill('[aria-label="filter first"]', "7")
    visit.page.fill('[aria-label="filter second"]', "9")
    assert visit.count() == "1 of 10,000 cells"
    visit.page.locator("#cell-table tbody tr[data-place]").first.click()
    assert visit.lines() == [709] and visit.problems == []
    visit.page.close()
