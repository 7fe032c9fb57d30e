// The plots of a sweep: curves of chosen cells, sensitivity to every setting, two settings at once.
function sweepPlots(sweep, toggle) {
  const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9", "#882255", "#999933", "#332288"];
  const DASHES = ["solid", "dash", "dot", "dashdot"];
  const FEW = 5;  // values of a setting, up to which each has a tick
  const MANY = 30;  // values of a setting, from which on marks and gaps would only clutter
  // Plotly reads some HTML in names; here a name is only ever a name.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const translucent = (colour) => {
    const part = (start) => parseInt(colour.slice(start, start + 2), 16);
    return `rgba(${part(1)},${part(3)},${part(5)},${sweep.band})`;
  };
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
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "autoScale2d", "resetScale2d"]],
  };
  const known = (value) => (Number.isNaN(value) ? null : value);
  const look = (slot) => ({
    colour: COLOURS[slot % COLOURS.length],
    dash: DASHES[Math.floor(slot / COLOURS.length) % DASHES.length],
  });

  // ---- curves
  const curve = (cell, slot) => {
    const { colour, dash } = look(slot);
    const [mean, low, high] = [0, 1, 2].map((part) => sweep.curve(cell, part).map(known));
    const last = mean.findIndex((value) => value === null);
    const end = last < 0 ? mean.length : last;
    const x = sweep.positions;
    const there = x.slice(0, end), back = there.slice().reverse();
    const banded = low.slice(0, end).every((value) => value !== null);
    return [
      ...(banded ? [{
        x: [...there, ...back], y: [...high.slice(0, end), ...low.slice(0, end).reverse()], meta: { cell, part: "band" },
        type: "scatter", mode: "lines", fill: "toself", fillcolor: translucent(colour), line: { width: 0 }, hoverinfo: "skip",
      }] : []),
      { x, y: mean, meta: { cell, part: "line" }, name: plain(sweep.ids[cell]), type: "scatter", mode: "lines",
        line: { color: colour, width: 2, dash }, hovertemplate: "%{y:.4g} %{fullData.name}<extra></extra>" },
    ];
  };
  const curves = (chosen) => {
    const traces = [...chosen.entries()].flatMap(([cell, slot]) => curve(cell, slot));
    Plotly.react("curve-plot", traces, layout({
      hovermode: "x unified",
      xaxis: axis(sweep.counted, { showgrid: false, tickformat: ",d", rangemode: "tozero" }),
      yaxis: axis(`${sweep.quantity} per ${sweep.counted}`),
    }), config);
  };

  // ---- the best with every value of a setting
  const better = (a, b) => (b === undefined || Number.isNaN(sweep.score(b, 0))
    || sweep.score(a, 0) > sweep.score(b, 0) ? a : b);
  const bestOf = (cells) => cells.reduce((best, cell) => better(cell, best), undefined);
  const key = (value) => JSON.stringify(value ?? null);
  const byValue = (cells, values) => {
    const found = new Map();
    for (const cell of cells) {
      if (!found.has(key(values[cell]))) found.set(key(values[cell]), []);
      found.get(key(values[cell])).push(cell);
    }
    const rank = (value) => (value === null ? 2 : typeof value === "string" ? 1 : 0);
    return [...found.values()].map((some) => ({ value: values[some[0]] ?? null, cells: some })).sort((a, b) =>
      rank(a.value) - rank(b.value) || (a.value < b.value ? -1 : a.value > b.value ? 1 : 0));
  };
  const scale = (values) => {
    if (!values.every((value) => typeof value === "number")) return "category";
    const low = Math.min(...values), high = Math.max(...values);
    return low > 0 && high >= 10 * low ? "log" : "linear";
  };
  const place = (value, kind) => (kind === "category" ? plain(sweep.show(value)) : value);

  // Where an axis of means ends below, so that a few disasters do not flatten all the rest.
  const lowest = (means) => {
    const sorted = means.filter((mean) => !Number.isNaN(mean)).sort((a, b) => a - b);
    if (!sorted.length) return 0;
    const top = sorted.at(-1), room = 4 * (top - sorted[Math.floor(sorted.length / 2)]);
    return room ? Math.max(sorted[0], top - room) : sorted[0];
  };

  const responses = (group, name) => {
    const cells = sweep.cellsOf(group), values = sweep.column(name), best = bestOf(cells);
    const others = group.settings.filter((other) => other !== name).map(sweep.column);
    const alike = (cell) => others.every((column) => key(column[cell]) === key(column[best]));
    return byValue(cells, values).map(({ value, cells: some }) => (
      { value, envelope: bestOf(some), slice: others.length ? some.find(alike) : undefined }));
  };

  const lines = (group, found, kind, ground) => {
    const x = found.map(({ value }) => place(value, kind));
    const score = (cell, part) => (cell === undefined ? null : known(sweep.score(cell, part)));
    const y = found.map(({ envelope }) => score(envelope, 0));
    const bars = (part) => found.map(({ envelope }, n) => Math.abs((score(envelope, part) ?? y[n]) - y[n]));
    const gone = x.filter((_, n) => y[n] === null);
    return [
      { x, y, type: "scatter", mode: x.length < MANY ? "lines+markers" : "lines", name: plain(group.agent), meta: { part: "envelope" },
        error_y: { type: "data", symmetric: false, array: bars(2), arrayminus: bars(1), thickness: 1, width: 3 },
        line: { color: group.colour, width: 2 }, marker: { color: group.colour, symbol: group.symbol, size: 7 },
        hovertemplate: "%{x}: %{y:.4g} %{fullData.name}<extra></extra>" },
      { x, y: found.map(({ slice }) => score(slice, 0)), type: "scatter", mode: "lines", hoverinfo: "skip",
        meta: { part: "slice" }, line: { color: group.colour, width: 1, dash: "dot" } },
      { x: gone, y: gone.map(() => ground), type: "scatter", mode: "markers", hoverinfo: "skip", meta: { part: "gone" },
        cliponaxis: false, marker: { symbol: "x-thin", size: 9, line: { color: group.colour, width: 2 } } },
    ];
  };

  const legend = (groups) => groups.map(({ agent, colour }) => {
    const entry = document.createElement("span"), line = document.createElement("span");
    entry.className = "legend-key";
    line.className = "chip-line";
    line.style.borderTopColor = colour;
    entry.append(line, agent);
    return entry;
  });

  const sensitivity = (problem) => {
    const groups = sweep.groups.filter((group) => group.problem === problem);
    document.getElementById("sensitivity-legend").replaceChildren(...legend(groups));
    const names = [...new Set(groups.flatMap((group) => group.settings))];
    const rest = document.getElementById("sensitivity-plots");
    rest.querySelectorAll(".plot").forEach((plot) => Plotly.purge(plot));
    rest.replaceChildren();
    const found = names.map((name) => groups.filter((group) => group.settings.includes(name))
      .map((group) => ({ group, points: responses(group, name) })));
    const points = found.flat().flatMap((each) => each.points);
    const means = points.map(({ envelope }) => sweep.score(envelope, 0));
    const tops = points.flatMap(({ envelope }) => [sweep.score(envelope, 0), sweep.score(envelope, 2)]);
    const low = lowest(means), high = Math.max(low, ...tops.filter((top) => !Number.isNaN(top)));
    const room = 0.08 * (high - low || 1), range = [low - room, high + room];
    names.forEach((name, n) => {
      const figure = document.createElement("figure"), plot = document.createElement("div");
      const caption = document.createElement("figcaption");
      caption.textContent = name.replace(/^agent\./, "");
      plot.className = "plot";
      figure.append(caption, plot);
      rest.append(figure);
      const values = [...new Set(found[n].flatMap(({ points: some }) => some.map(({ value }) => value)))];
      const kind = scale(values);
      const ticks = { log: { dtick: 1 }, linear: values.length <= FEW ? { tickvals: values } : {} }[kind] ?? {};
      const traces = found[n].flatMap(({ group, points: some }) => lines(group, some, kind, range[0]));
      Plotly.newPlot(plot, traces, layout({
        hovermode: "closest",
        xaxis: axis("", { type: kind, exponentformat: "power", ...ticks }),
        yaxis: axis(sweep.measure().name, { range: range.slice() }),
      }), config);
    });
    if (!names.length) rest.textContent = "Nothing was varied here.";
  };

  // ---- two settings
  const ordered = (names) => ({
    type: "category", showgrid: false, categoryorder: "array", categoryarray: names, nticks: 12, range: [-0.5, names.length - 0.5],
  });
  const heat = (group, first, second) => {
    const plot = document.getElementById("heat-plot");
    if (first === undefined || second === undefined) {
      Plotly.purge(plot);
      plot.textContent = "Needs two settings that were varied.";
      return;
    }
    if (!plot.classList.contains("js-plotly-plot")) plot.textContent = "";
    const cells = sweep.cellsOf(group);
    const across = byValue(cells, sweep.column(first)), up = byValue(cells, sweep.column(second));
    const members = new Map();
    up.forEach((row, n) => row.cells.forEach((cell) => members.set(cell, n)));
    const grid = up.map(() => across.map(() => undefined));
    across.forEach((column, n) => column.cells.forEach((cell) => {
      grid[members.get(cell)][n] = better(cell, grid[members.get(cell)][n]);
    }));
    const x = across.map(({ value }) => plain(sweep.show(value))), y = up.map(({ value }) => plain(sweep.show(value)));
    const z = grid.map((row) => row.map((cell) => (cell === undefined ? null : known(sweep.score(cell, 0)))));
    const flat = z.flat().filter((value) => value !== null);
    const gone = grid.flatMap((row, j) => row.flatMap((cell, i) => (cell !== undefined && z[j][i] === null ? [[i, j, cell]] : [])));
    const best = bestOf(grid.flat().filter((cell) => cell !== undefined));
    const at = grid.flatMap((row, j) => row.flatMap((cell, i) => (cell === best && z[j][i] !== null ? [[i, j, cell]] : [])));
    const marks = (some, marker) => ({ x: some.map(([i]) => x[i]), y: some.map(([, j]) => y[j]),
      customdata: some.map(([, , cell]) => cell), type: "scatter", mode: "markers", hoverinfo: "skip", cliponaxis: false, marker });
    Plotly.react(plot, [
      { type: "heatmap", x, y, z, customdata: grid.map((row) => row.map((cell) => cell ?? null)), colorscale: "Viridis",
        zmin: lowest(flat), zmax: Math.max(...flat), colorbar: { thickness: 14, outlinewidth: 0 }, xgap: x.length < MANY ? 1 : 0, ygap: y.length < MANY ? 1 : 0,
        hovertemplate: "%{x}, %{y}: %{z:.4g}<extra></extra>" },
      marks(gone, { symbol: "x-thin", size: 9, line: { color: "#8a2f00", width: 2 } }),
      marks(at, { symbol: "circle-open", size: 16, color: "#D55E00", line: { width: 2.5 } }),
    ], layout({
      hovermode: "closest", plot_bgcolor: "#eee",
      xaxis: axis(first.replace(/^agent\./, ""), ordered(x)),
      yaxis: axis(second.replace(/^agent\./, ""), ordered(y)),
    }), config);
    plot.removeAllListeners("plotly_click");
    plot.on("plotly_click", ({ points }) => {
      const cell = points[0].customdata;
      if (Number.isInteger(cell)) toggle(cell);
    });
  };

  return { curves, sensitivity, heat, look };
}
