// The cells of a sweep: which are chosen, their curves, sensitivity and heat maps.
const unpack = (text) => {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i += 1) bytes[i] = raw.charCodeAt(i);
  return new Float32Array(bytes.buffer);
};
const MANY_VALUES = 30;  // of a setting, from which on marks and gaps would only clutter
const measureNumber = () => byId("measure")?.selectedIndex ?? 0;

// ---- curves of the chosen cells
// A cell has the colour of its agent; the second cell of the same agent has another shade and dash.
const SHADES = [0, 0.45, -0.35, 0.25, -0.55, 0.6];  // towards white, or black below 0
const DASHES = ["solid", "dot", "dash", "dashdot", "longdash"];
const shaded = (colour, shade) => {
  const towards = (part) => Math.round(shade < 0 ? part * (1 + shade) : part + (255 - part) * shade);
  return `#${channels(colour).map((part) => towards(part).toString(16).padStart(2, "0")).join("")}`;
};
const variant = (style, slot) => (slot === 0 ? style : {
  ...style, colour: shaded(style.colour, SHADES[slot % SHADES.length]), dash: DASHES[slot % DASHES.length],
});

const cellCurves = (section, table) => {
  const curves = unpack(section.curves), points = section.positions.length, plot = byId("curve-plot");
  const chosen = new Map();  // cells, each with a slot among those of its agent
  const key = (cell) => table.groups[table.groupOf[cell]].key;
  const style = (cell) => ({ ...variant(palette[key(cell)], chosen.get(cell)), name: table.ids[cell] });
  const part = (cell, n) => Array.from(curves.subarray((3 * cell + n) * points, (3 * cell + n + 1) * points),
    (value) => (Number.isNaN(value) ? null : value));
  const curve = (cell) => ({ mean: part(cell, 0), low: part(cell, 1), high: part(cell, 2), marks: section.marks[cell] ?? [] });

  // What the chosen cells have above the floor; all, where they have nothing there.
  const covered = () => {
    const [low, high] = section.extents.map((ends) => [...chosen.keys()].map((cell) => ends[cell]).filter((end) => end !== null));
    if (!low.length) return null;
    const bottom = Math.min(...low), top = Math.max(...high), margin = 0.05 * (top - bottom || Math.max(1, Math.abs(top)));
    return [bottom - margin, top + margin];
  };
  const chip = (cell) => {
    const button = document.createElement("button"), line = document.createElement("span");
    const { colour, name, dash } = style(cell);
    button.type = "button";
    button.className = "legend-entry";
    button.title = "remove this curve";
    line.className = "chip-line";
    line.style.borderTop = `3px ${dash === "solid" ? "solid" : "dashed"} ${colour}`;
    button.append(line, `${name} ×`);
    button.addEventListener("click", () => toggle(cell));
    return button;
  };
  const draw = () => {
    const range = covered();
    byId("chosen").replaceChildren(...[...chosen.keys()].map(chip));
    const drawn = [...chosen.keys()].map((cell) => [section.positions, curve(cell), style(cell), { cell }]);
    if (range === null) drawn.forEach((each) => { each[1].marks = []; });
    // Anew, or a double click would go back to the range of the first ones.
    Plotly.newPlot(plot, curveTraces(drawn, range?.[0]), curveLayout(section, {
      xaxis: { rangemode: "tozero" }, yaxis: range === null ? {} : { range: range.slice() },
    }), config);
    plot.on("plotly_relayout", () => hideMarks(plot, range));
  };
  const add = (cell) => {
    const taken = new Set([...chosen.keys()].filter((other) => key(other) === key(cell)).map((other) => chosen.get(other)));
    let slot = 0;
    while (taken.has(slot)) slot += 1;
    chosen.set(cell, slot);
  };
  let changed = () => {};
  const toggle = (cell) => {
    if (!chosen.delete(cell)) add(cell);
    draw();
    changed();
  };
  section.best.slice(0, 8).forEach(add);
  draw();
  return { toggle, has: (cell) => chosen.has(cell), onChange: (then) => { changed = then; } };
};

// ---- the best with every value of a setting
const responseTraces = (line, edge, row) => {
  const { colour, name, dash, symbol } = palette[line.key], { values: x, mean } = line;
  const bars = (ends) => ends.map((end, n) => Math.abs((end ?? mean[n]) - mean[n]));
  const gone = x.filter((_, n) => mean[n] === null);
  return [
    { x, y: mean, type: "scatter", mode: x.length < MANY_VALUES ? "lines+markers" : "lines", name: plain(name), meta: { part: "envelope" },
      error_y: { type: "data", symmetric: false, array: bars(line.high), arrayminus: bars(line.low), thickness: 1, width: 3 },
      line: { color: colour, width: 2, dash }, marker: { color: colour, symbol, size: 7 },
      hovertemplate: "%{x}: %{y:.4g} %{fullData.name}<extra></extra>" },
    { x, y: line.slice ?? [], type: "scatter", mode: "lines", hoverinfo: "skip", meta: { part: "slice" },
      line: { color: colour, width: 1, dash: "dot" } },
    { x: gone, y: gone.map(() => edge), type: "scatter", mode: "markers", hoverinfo: "skip", meta: { part: "gone" },
      cliponaxis: false, marker: { symbol: "x-thin", size: 9, line: { color: colour, width: 2 } } },
    ...(line.marks.length ? [markTrace(x, line.marks, edge, colour, row, {})] : []),
  ];
};
const drawSensitivity = (section) => {
  const rest = byId("sensitivity-plots"), measure = section.measures[measureNumber()];
  const { settings, range } = measure.problems[byId("problem")?.selectedIndex ?? 0];
  rest.querySelectorAll("div.plot").forEach((plot) => Plotly.purge(plot));
  rest.replaceChildren();
  for (const { name, scale, ticks, lines } of settings) {
    const figure = document.createElement("figure"), plot = document.createElement("div");
    const caption = document.createElement("figcaption");
    caption.textContent = name;
    plot.className = "plot";
    figure.append(caption, plot);
    rest.append(figure);
    let row = -1;
    const traces = lines.flatMap((line) => responseTraces(line, range[0], row += line.marks.length > 0));
    const marks = { log: { dtick: 1 }, linear: ticks ? { tickvals: ticks } : {}, category: {} }[scale];
    Plotly.newPlot(plot, traces, layout({
      hovermode: "closest",
      xaxis: axis("", { type: scale, exponentformat: "power", ...marks }),
      yaxis: axis(measure.name, { range: range.slice() }),
    }), config);
    plot.on("plotly_relayout", () => hideMarks(plot, range));
  }
  if (!settings.length) rest.textContent = "Nothing was varied here.";
};

// ---- two settings
const drawHeat = (found, toggle) => {
  const plot = byId("heat-plot");
  Plotly.purge(plot);
  plot.textContent = found ? "" : "Needs two settings that were varied.";
  if (!found) return;
  const { firstValues: x, secondValues: y, means: z, cells } = found;
  const ordered = (names) => ({
    type: "category", showgrid: false, categoryorder: "array", categoryarray: names, nticks: 12, range: [-0.5, names.length - 0.5],
  });
  const highest = z.flat().reduce((most, value) => (value === null ? most : Math.max(most, value)), -Infinity);
  const fields = z.flatMap((row, j) => row.map((value, i) => ({ i, j, value, cell: cells ? cells[j][i] : -1 })));
  const marks = (some, marker) => ({ x: some.map(({ i }) => x[i]), y: some.map(({ j }) => y[j]), customdata: some.map(({ cell }) => cell),
    type: "scatter", mode: "markers", hoverinfo: "skip", cliponaxis: false, marker });
  Plotly.newPlot(plot, [
    { type: "heatmap", x, y, z, customdata: cells, colorscale: "Viridis", zmin: found.lowest, zmax: highest,
      colorbar: { thickness: 14, outlinewidth: 0 }, xgap: x.length < MANY_VALUES ? 1 : 0, ygap: y.length < MANY_VALUES ? 1 : 0,
      hovertemplate: "%{x}, %{y}: %{z:.4g}<extra></extra>" },
    marks(fields.filter(({ value, cell }) => value === null && cell >= 0), { symbol: "x-thin", size: 9, line: { color: "#8a2f00", width: 2 } }),
    marks(fields.filter(({ value }) => value === found.best).slice(0, 1), { symbol: "circle-open", size: 16, color: "#D55E00", line: { width: 2.5 } }),
  ], layout({
    hovermode: "closest", plot_bgcolor: "#eee", xaxis: axis(found.first, ordered(x)), yaxis: axis(found.second, ordered(y)),
  }), config);
  plot.on("plotly_click", ({ points }) => {
    const cell = points[0].customdata;
    if (Number.isInteger(cell) && cell >= 0) toggle(cell);
  });
};
const turned = (rows) => rows && rows[0].map((_, n) => rows.map((row) => row[n]));
const heatMaps = (section, toggle) => {
  const [group, first, second] = ["heat-group", "heat-first", "heat-second"].map(byId);
  const maps = () => section.measures[measureNumber()][group.selectedIndex];
  const draw = () => {
    const [across, up] = [first.value, second.value];
    const found = maps().find((map) => map.first === across && map.second === up);
    const other = maps().find((map) => map.first === up && map.second === across);
    drawHeat(found ?? (other && { ...other, first: other.second, second: other.first, firstValues: other.secondValues,
      secondValues: other.firstValues, means: turned(other.means), cells: turned(other.cells) }), toggle);
  };
  const fill = () => {
    const names = [...new Set(maps().flatMap((map) => [map.first, map.second]))];
    [first, second].forEach((choice, n) => {
      choice.replaceChildren(...names.map((name) => new Option(name)));
      choice.selectedIndex = Math.min(n, names.length - 1);
    });
    draw();
  };
  // The first group that has two settings is the most telling one.
  group.selectedIndex = Math.max(0, section.measures[0].findIndex((some) => some.length > 0));
  fill();
  group.addEventListener("change", fill);
  first.addEventListener("change", draw);
  second.addEventListener("change", draw);
  return draw;
};

// ---- together
const showChoices = () => document.querySelectorAll(".choices").forEach((part) => {
  part.hidden = Number(part.dataset.measure) !== measureNumber();
});
for (const section of sectionsOf("cell_table")) {
  showChoices();
  const scores = section.scores.map(unpack);
  const curves = cellCurves(sectionsOf("cell_curves")[0], section);
  const table = cellTable({ ...section, score: (cell, part) => scores[measureNumber()][3 * cell + part] }, curves.toggle, curves.has);
  curves.onChange(table.draw);
  const redraw = [showChoices, table.update];
  for (const lines of sectionsOf("sensitivity")) {
    const draw = () => drawSensitivity(lines);
    draw();
    byId("problem")?.addEventListener("change", draw);
    redraw.push(draw);
  }
  redraw.push(...sectionsOf("heat").map((maps) => heatMaps(maps, curves.toggle)));
  byId("measure").addEventListener("change", () => redraw.forEach((draw) => draw()));
  document.querySelectorAll(".to-curve").forEach((button) => button.addEventListener("click", () => {
    const cell = section.ids.indexOf(button.dataset.cell);
    if (!curves.has(cell)) curves.toggle(cell);
    byId("curves-of-cells").scrollIntoView();
  }));
}
