// What all plots share, and the figures of curves.
const page = JSON.parse(document.getElementById("data").textContent);
const { style: shared, palette } = page;
const sectionsOf = (kind) => page.sections.filter((section) => section.kind === kind);
const byId = (id) => document.getElementById(id);

// Plotly reads some HTML in names; here a name is only ever a name.
const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

const channels = (colour) => [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
const translucent = (colour) => `rgba(${channels(colour).join(",")},${shared.band})`;

const axis = (title, more = {}) => ({
  title: { text: plain(title), standoff: 6 }, automargin: true, gridcolor: "#eef0f2", zeroline: false,
  showline: true, linecolor: "#8a8f94", ticks: "outside", ticklen: 4, tickcolor: "#8a8f94", ...more,
});
const layout = (more) => ({
  autosize: true, showlegend: false, paper_bgcolor: "#fff", plot_bgcolor: "#fff",
  // A finger that drags means to scroll the page.
  dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
  margin: { l: 48, r: 22, t: 8, b: 40 },
  font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: "#1b1f24" },
  hoverlabel: { font: { size: 11 }, namelength: -1, bgcolor: "rgba(255,255,255,0.92)" }, ...more,
});
// Only these buttons: by default there is one that sends the chart to a server.
const config = {
  responsive: true, displaylogo: false, plotlyServerURL: "",
  displayModeBar: matchMedia("(hover: none)").matches ? false : "hover",  // else it would hide curves
  modeBarButtons: [["toImage", "zoom2d", "pan2d", "autoScale2d", "resetScale2d"]],
};

// ---- curves
// The outline of a band: there along the top, back along the bottom, once per unbroken stretch.
const outline = (places, { low, high }) => {
  const x = [], y = [];
  let start = 0;
  while (start < places.length) {
    if (low[start] === null) { start += 1; continue; }
    let end = start;
    while (end < places.length && low[end] !== null) end += 1;
    if (x.length) { x.push(null); y.push(null); }
    for (let i = start; i < end; i += 1) { x.push(places[i]); y.push(high[i]); }
    for (let i = end - 1; i >= start; i -= 1) { x.push(places[i]); y.push(low[i]); }
    start = end;
  }
  return { x, y };
};

const bandTrace = (x, curve, style, meta) => ({
  ...outline(x, curve), meta: { ...meta, part: "band" }, type: "scatter", mode: "lines", fill: "toself",
  fillcolor: translucent(style.colour), line: { width: 0 }, hoverinfo: "skip",
});

const MANY_POINTS = 300;  // from here on lines are thin, or noise would smear them into a band
const lineTrace = (x, curve, style, meta) => ({
  x, y: curve.mean, customdata: curve.low.map((low, i) => [low, curve.high[i]]),
  meta: { ...meta, part: "line" }, name: plain(style.name), type: "scatter", mode: "lines+markers", connectgaps: false,
  line: { color: style.colour, width: x.length > MANY_POINTS ? shared.line / 2 : shared.line, dash: style.dash },
  marker: { color: style.colour, symbol: style.symbol, size: 8, maxdisplayed: 9, line: { color: "#fff", width: 0.8 } },
  hovertemplate: "%{y:.4g} [%{customdata[0]:.4g}, %{customdata[1]:.4g}] %{fullData.name}<extra></extra>",
});

// A cross where a curve ends early because a run diverged.
const endTraces = (x, { mean }, style, meta) => {
  const last = mean.findLastIndex((value) => value !== null);
  if (last < 0 || !mean.includes(null)) return [];
  return [{
    x: [x[last]], y: [mean[last]], meta: { ...meta, part: "end" }, type: "scatter", mode: "markers", hoverinfo: "skip",
    marker: { symbol: "x-thin", size: 11, line: { color: style.colour, width: 2.5 } },
  }];
};

// All bands lie below all lines; `drawn` has x, curve, style and meta of every curve.
const curveTraces = (drawn) => [
  ...drawn.map((each) => bandTrace(...each)), ...drawn.map((each) => lineTrace(...each)),
  ...drawn.flatMap((each) => endTraces(...each)),
];

const breakLine = (x) => ({
  type: "line", layer: "below", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line: { color: shared.break, width: 1 },
});
const LEVEL_DASHES = ["6px,4px", "1.5px,2.5px"];
const levelLine = ({ from, to, height, last, kind }) => ({
  type: "line", layer: "below", x0: from, x1: to, y0: height, y1: last,
  line: { color: shared.optimum, width: 1.2, dash: LEVEL_DASHES[kind % 2] },
});
// The number of a level that reaches the end of the axis stands beside it.
const levelLabel = ({ last, text }) => ({
  text: plain(text), xref: "paper", x: 1, xanchor: "left", y: last, yanchor: "middle",
  xshift: 3, showarrow: false, borderpad: 1, font: { size: 10, color: shared.optimum },
});

const curveLayout = (names, more) => layout({
  hovermode: "x unified",
  xaxis: axis(names.xName, {
    nticks: 6, tickformat: ",d", showgrid: false, ticklabeloverflow: "allow",
    unifiedhovertitle: { text: `around ${plain(names.xName)} %{x:,.0f}` }, ...more.xaxis,
  }),
  yaxis: axis(names.yName, more.yaxis),
  ...more.rest,
});

// The axis of a setting's values, which may be names.
const settingAxis = ({ scale, ticks, xName }) => ({
  type: scale, tickformat: "", exponentformat: "power", ...(scale === "log" ? { dtick: 1 } : {}),
  ...(ticks.length ? { tickvals: [...ticks.keys()], ticktext: ticks } : {}),
  unifiedhovertitle: { text: `${plain(xName)} %{x}` },
});

const drawPlot = (figure, plot) => {
  const drawn = plot.curves.map((curve) => [curve.x || plot.x, curve, palette[curve.key], { agent: figure.keys.indexOf(curve.key) }]);
  const ended = plot.levels.filter(({ to }) => !plot.scale && to >= plot.end);
  Plotly.newPlot(plot.element ?? plot.id, curveTraces(drawn), curveLayout({ xName: plot.xName, yName: figure.yName }, {
    xaxis: plot.scale ? settingAxis(plot) : { range: [plot.begin, plot.end] },
    yaxis: { range: figure.range.slice() },
    rest: {
      margin: { l: 48, r: ended.length ? 52 : 22, t: 8, b: 40 },
      shapes: [...plot.breaks.map(breakLine), ...plot.levels.map(levelLine)],
      annotations: ended.map(levelLabel),
    },
  }), config);
};

// ---- the legend of a figure shows exactly the curves whose entries are pressed, in all its plots
const isPressed = (entry) => entry.getAttribute("aria-pressed") === "true";
const press = (entry, pressed) => entry.setAttribute("aria-pressed", String(pressed));

const listen = (figure) => {
  const entries = [...document.querySelectorAll(`.legend-entry[data-figure="${figure.id}"]`)];
  const isShown = ({ meta }) => isPressed(entries[meta.agent]);
  const apply = () => figure.plots.forEach(({ id }) => Plotly.restyle(id, { visible: byId(id).data.map(isShown) }));
  for (const entry of entries) {
    entry.addEventListener("click", () => { press(entry, !isPressed(entry)); apply(); });
    entry.addEventListener("dblclick", () => {
      const alone = entries.every((other) => isPressed(other) === (other === entry));
      entries.forEach((other) => press(other, alone || other === entry));
      apply();
    });
  }
};

for (const figure of sectionsOf("curves")) {
  figure.plots.forEach((plot) => drawPlot(figure, plot));
  listen(figure);
}

// On paper everything is open and the page has the width of the paper. Plotly's own resizing
// waits a moment, and the printer does not.
let opened = [];
const fit = (size) => document.querySelectorAll(".js-plotly-plot").forEach((plot) => Plotly.relayout(plot, size(plot)));
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  opened.forEach((part) => { part.open = true; });
  document.body.classList.add("printing");
  fit((plot) => ({ width: plot.clientWidth, height: plot.clientHeight }));
});
addEventListener("afterprint", () => {
  opened.forEach((part) => { part.open = false; });
  document.body.classList.remove("printing");
  fit(() => ({ width: null, height: null, autosize: true }));
});
