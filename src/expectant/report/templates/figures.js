// Figures of curves: the switch for the interpretation, the legend, and thumbnails.
const isDrawnIn = (interpretation) => ({ interpretations }) => !interpretations.length || interpretations.includes(interpretation);
const columnsFor = (count) => (count === 4 ? 2 : Math.min(count, 3));

// A grid of plots whose legend shows the values under the pointer, so that nothing covers the curves.
const chartIn = (box, chart, interpretationOf) => {
  const legend = html("div", { class: "legend", role: "group", "aria-label": "curves" });
  const grid = html("div", { class: "plots" });
  const hidden = new Set();
  box.replaceChildren(grid, legend);
  const draw = () => {
    const plots = chart.plots.filter(isDrawnIn(interpretationOf()));
    const curves = plots.flatMap((plot) => plot.curves);
    const keys = chart.keys.filter((key) => curves.some((curve) => curve.key === key));
    const place = html("span", { class: "place" });
    const values = Object.fromEntries(keys.map((key) => [key, html("output")]));
    legend.replaceChildren(...keys.map((key) => {
      const lost = curves.filter((curve) => curve.key === key && curve.diverged);
      const lowest = chart.lowest[key];
      const notes = [
        ...(isKnown(lowest) && curves.some((curve) => curve.key === key && curve.mean.some((value) => isKnown(value) && value < chart.range[0])) ? [`down to ${format(lowest)}`] : []),
        ...(lost.length ? [`${lost.map(({ diverged, runs }) => `${diverged} of ${runs}`).join(", ")} runs diverged`] : []),
      ];
      const chip = html("button", { type: "button", class: "chip", "aria-pressed": String(!hidden.has(key)), title: "click to hide or show" },
        swatch(palette[key]), html("span", {}, palette[key].name), ...(notes.length ? [html("span", { class: "quiet" }, `(${notes.join("; ")})`)] : []), values[key]);
      chip.addEventListener("click", () => {
        if (!hidden.delete(key)) hidden.add(key);
        draw();
      });
      return chip;
    }), place);
    grid.className = `plots columns-${columnsFor(plots.length)}`;
    const boxes = plots.map((plot) => {
      const inner = html("div", { class: "plot" });
      return [plot, inner, html("figure", {}, ...(plot.heading ? [html("figcaption", {}, plot.heading)] : []), inner)];
    });
    grid.replaceChildren(...boxes.map(([, , figure]) => figure));
    boxes.forEach(([plot, inner]) => {
      const shown = plot.curves.filter(({ key }) => !hidden.has(key));
      drawPlot(inner, plot, {
        range: plot.range, yName: chart.yName, curves: shown, height: plots.length > 1 ? 230 : 300,
        tell: (at, found) => {
          place.textContent = at === null ? "" : `${plot.xName.replace(/ \(.*/, "")} ${format(at)}`;
          Object.values(values).forEach((value) => { value.textContent = ""; });
          if (at !== null) shown.forEach(({ key }, n) => { values[key].textContent = format(found[n].mean ?? null); });
        },
      });
    });
  };
  onWidth(box, draw);
  return draw;
};

const drawThumbnail = (image, figure) => {
  const plot = figure.plots.find(isDrawnIn(figure.default)), [width, height] = [240, 120];
  const x = scaleOf(...spanOf(plot), 4, width - 4), y = scaleOf(...plot.range, height - 4, 4);
  plot.breaks.forEach((at) => image.append(svg("path", { d: `M${x(at)} 4V${height - 4}`, class: "break" })));
  plot.levels.filter(({ last }) => last >= plot.range[0]).forEach(({ from, to, height: start, last }) => image.append(svg("path", { d: `M${x(from)} ${y(start)}L${x(to)} ${y(last)}`, class: "level", "stroke-dasharray": "4 3" })));
  plot.curves.forEach((curve) => image.append(svg("path", { d: outline(plot.x, curve, x, y), fill: palette[curve.key].colour, "fill-opacity": 0.15 })));
  plot.curves.forEach((curve) => image.append(svg("path", { d: points(plot.x, curve.mean, x, y), fill: "none", stroke: palette[curve.key].colour, "stroke-width": 1.6, "stroke-linejoin": "round" })));
};

const redraws = [];
for (const figure of page.figures) {
  const section = byId(figure.id);
  let interpretation = figure.default;
  const draws = [chartIn(section.querySelector(".chart"), figure, () => interpretation)];
  const more = section.querySelector(".close-up");
  if (more) draws.push(chartIn(more, figure.closeUp, () => interpretation));
  redraws.push(...draws);
  const buttons = [...section.querySelectorAll(".switch button")];
  const show = () => buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.value === interpretation)));
  buttons.forEach((button) => button.addEventListener("click", () => {
    interpretation = button.value;
    show();
    draws.forEach((draw) => draw());
  }));
  document.querySelectorAll(`svg[data-figure="${figure.id}"]`).forEach((image) => drawThumbnail(image, figure));
}

// A link into something folded opens it; on paper everything is open.
const open = (element) => {
  for (let part = element; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
};
const follow = () => {
  const target = location.hash && byId(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  open(target);
  target.scrollIntoView();
};
addEventListener("hashchange", follow);
if (location.hash) follow();
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  opened.forEach((part) => { part.open = true; });
  redraws.forEach((draw) => draw());
});
addEventListener("afterprint", () => opened.forEach((part) => { part.open = false; }));

// The navigation marks the section in view.
const links = [...document.querySelectorAll("nav a:not(.brand)")];
const marked = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => {
  links.filter((link) => link.hash === `#${target.id}`).forEach((link) => link.classList.toggle("here", isIntersecting));
}), { rootMargin: "-45% 0px -50% 0px" });
links.map((link) => byId(link.hash.slice(1))).filter(Boolean).forEach((target) => marked.observe(target));
