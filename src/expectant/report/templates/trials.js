// The page of a sweep: curves of chosen trials, sensitivity and a table of all trials.
const MOST_ROWS = 300;   // of the table that are in the document
const DASHES = ["solid", "dot", "dash", "dashdot", "longdash"];
const unpack = (text) => new Float32Array(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);

// ---- the best with every value of a setting
const drawSensitivity = (chart) => {
  const rest = byId("sensitivity-plots");
  rest.querySelectorAll("div.plot").forEach((plot) => Plotly.purge(plot));
  rest.replaceChildren();
  for (const plot of chart.plots) {
    const element = document.createElement("div");
    element.className = "plot";
    rest.append(element);
    drawPlot(chart, { ...plot, element });
  }
};

for (const sweep of sectionsOf("sweepsection")) {
  const scores = unpack(sweep.scores), curves = unpack(sweep.curves), points = sweep.positions.length;
  const group = (trial) => sweep.groups[sweep.groupOf[trial]];
  const chosen = new Set(sweep.best.slice(0, 8));

  // ---- curves: a trial has the colour of its agent, further ones of the same agent other dashes
  const part = (trial, n) => Array.from(curves.subarray((3 * trial + n) * points, (3 * trial + n + 1) * points),
    (value) => (Number.isNaN(value) ? null : value));
  const drawCurves = () => {
    const count = {};
    const drawn = [...chosen].map((trial) => {
      const { key } = group(trial), nth = count[key] = (count[key] ?? -1) + 1;
      const style = { ...palette[key], name: sweep.ids[trial], ...(nth ? { dash: DASHES[nth % DASHES.length] } : {}) };
      return [sweep.positions, { mean: part(trial, 0), low: part(trial, 1), high: part(trial, 2) }, style, { trial }];
    });
    const traces = curveTraces(drawn).map((trace) => ({ ...trace, showlegend: trace.meta.part === "line" }));
    Plotly.newPlot(byId("curve-plot"), traces, curveLayout(sweep, {
      xaxis: { rangemode: "tozero" }, yaxis: { range: sweep.range.slice() },
      rest: { showlegend: true, legend: { orientation: "h", y: -0.18 } },
    }), config);
  };
  const toggle = (trial) => {
    if (!chosen.delete(trial)) chosen.add(trial);
    drawCurves();
    drawRows();
  };

  // ---- table
  const show = (value) => {
    if (value === null || Number.isNaN(value)) return "–";
    return typeof value === "number" ? String(Number(value.toPrecision(4))).replace(/^-/, "−") : String(value);
  };
  const columns = [
    ["agent", (trial) => palette[group(trial).key].name],
    ...(sweep.groups.some(({ problem }) => problem) ? [["in", (trial) => group(trial).problem]] : []),
    ...sweep.columns.map(({ name, values }) => [name.replace(/^agent\./, ""), (trial) => values[trial]]),
    ...["value", "low", "high"].map((name, n) => [name, (trial) => scores[3 * trial + n]]),
  ];
  const texts = sweep.ids.map((id, trial) => [id, ...columns.map(([, value]) => show(value(trial)))].join(" ").toLowerCase());
  const body = byId("trial-table").createTBody();
  let order = null, down = true;
  const compare = (a, b) => {
    const [first, second] = [order(a), order(b)], unknown = (value) => value === null || Number.isNaN(value);
    if (unknown(first) || unknown(second)) return unknown(first) - unknown(second);
    const sign = typeof first === "number" && typeof second === "number" ? first - second : String(first).localeCompare(String(second));
    return down ? -sign : sign;
  };
  const drawRows = () => {
    const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = [...sweep.ids.keys()].filter((trial) => words.every((word) => texts[trial].includes(word)));
    if (order) found.sort(compare);
    byId("count").textContent = `${found.length.toLocaleString("en")} of ${sweep.ids.length.toLocaleString("en")} trials`
      + (found.length > MOST_ROWS ? `, the first ${MOST_ROWS} are shown` : "");
    body.replaceChildren(...found.slice(0, MOST_ROWS).map((trial) => {
      const row = document.createElement("tr");
      row.setAttribute("aria-selected", chosen.has(trial));
      for (const [, value] of columns) {
        const field = row.insertCell();
        field.textContent = show(value(trial));
        if (value(trial) === null || typeof value(trial) === "number") field.className = "right";
      }
      row.addEventListener("click", () => toggle(trial));
      return row;
    }));
  };
  const head = byId("trial-table").createTHead().insertRow();
  for (const [name, value] of columns) {
    const field = document.createElement("th"), button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.addEventListener("click", () => {
      [order, down] = [value, order === value ? !down : true];
      drawRows();
    });
    field.append(button);
    head.append(field);
  }
  byId("search").addEventListener("input", drawRows);

  // ---- together
  const problem = byId("problem");
  const drawLines = () => drawSensitivity(sweep.lines[problem?.selectedIndex ?? 0]);
  drawCurves();
  drawRows();
  if (byId("sensitivity-plots")) drawLines();
  problem?.addEventListener("change", drawLines);
}
