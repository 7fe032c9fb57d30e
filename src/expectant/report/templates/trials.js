// The page of a sweep: curves of chosen trials, sensitivity and a table of all trials.
const MOST_ROWS = 300;  // of the table that are in the document
const DASHES = [[], [1.5, 1.5], [4, 2], [4, 1.5, 1, 1.5], [8, 2]];
const unpack = (text) => new Float32Array(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
const settingName = (column) => column.replace(/^agent\./, "").replace(/[._]/g, " ");

for (const sweep of sectionsOf("sweepsection")) {
  const scores = unpack(sweep.scores), numbers = unpack(sweep.curves), count = sweep.positions.length;
  const group = (trial) => sweep.groups[sweep.groupOf[trial]];
  const chosen = new Set(sweep.best.slice(0, 8));
  const several = sweep.groups.some(({ problem }) => problem);
  // An agent's trials differ in the settings that its own trials vary in.
  const settings = sweep.columns.filter(({ name }) => name.startsWith("agent."));
  const nameOf = (trial) => [
    palette[group(trial).key].name, ...(several ? [group(trial).problem] : []),
    ...settings.filter(({ values }) => values[trial] !== null).map(({ name, values }) => `${settingName(name)} ${format(values[trial])}`),
  ].join(", ");

  // ---- curves: a trial has the colour of its agent, further ones of the same agent other dashes
  const part = (trial, n) => Array.from(numbers.subarray((3 * trial + n) * count, (3 * trial + n + 1) * count), (value) => (Number.isNaN(value) ? null : value));
  const box = byId("curve-plot"), legend = byId("curve-legend");
  const drawChosen = () => {
    const seen = {};
    const curves = [...chosen].map((trial) => {
      const { key } = group(trial), nth = seen[key] = (seen[key] ?? -1) + 1;
      const style = { ...palette[key], name: nameOf(trial), ...(nth ? { dash: DASHES[nth % DASHES.length] } : {}) };
      return { style, trial, mean: part(trial, 0), low: part(trial, 1), high: part(trial, 2) };
    });
    const values = curves.map(() => html("output")), place = html("span", { class: "place" });
    legend.replaceChildren(...curves.map(({ style, trial }, n) => {
      const chip = html("button", { type: "button", class: "chip", "aria-pressed": "true", title: "click to remove" }, swatch(style), html("span", {}, style.name), values[n]);
      chip.addEventListener("click", () => toggle(trial));
      return chip;
    }), place);
    const plot = { x: sweep.positions, begin: 0, end: sweep.positions[count - 1], xName: sweep.xName, heading: "", scale: "", ticks: [], breaks: [], levels: [], curves };
    drawPlot(box, plot, { range: sweep.range, yName: sweep.yName, height: 340, tell: (at, found) => {
      place.textContent = at === null ? "" : `${sweep.xName} ${format(Math.round(at))}`;
      values.forEach((value, n) => { value.textContent = at === null ? "" : format(found[n].mean ?? null); });
    } });
  };
  const toggle = (trial) => {
    if (!chosen.delete(trial)) chosen.add(trial);
    drawChosen();
    drawRows();
  };

  // ---- table
  const columns = [
    ["agent", (trial) => palette[group(trial).key].name],
    ...(several ? [["in", (trial) => group(trial).problem]] : []),
    ...sweep.columns.map(({ name, values }) => [settingName(name), (trial) => values[trial]]),
    ...["value", "low", "high"].map((name, n) => [name, (trial) => scores[3 * trial + n]]),
  ];
  const texts = sweep.ids.map((id, trial) => [id, ...columns.map(([, value]) => format(value(trial)))].join(" ").toLowerCase());
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
      const row = html("tr", { "aria-selected": String(chosen.has(trial)) });
      for (const [, value] of columns) {
        const isNumber = value(trial) === null || typeof value(trial) === "number";
        row.append(html("td", isNumber ? { class: "right" } : {}, format(value(trial))));
      }
      row.addEventListener("click", () => toggle(trial));
      return row;
    }));
  };
  byId("trial-table").createTHead().append(html("tr", {}, ...columns.map(([name, value]) => {
    const button = html("button", { type: "button" }, name);
    button.addEventListener("click", () => {
      [order, down] = [value, order === value ? !down : true];
      drawRows();
    });
    return html("th", { scope: "col" }, button);
  })));
  byId("search").addEventListener("input", drawRows);

  // ---- together
  const problem = byId("problem"), lines = byId("sensitivity-plots");
  const drawLines = () => chartIn(lines, sweep.lines[problem?.selectedIndex ?? 0], () => "")();
  onWidth(box, drawChosen);
  drawRows();
  if (lines) drawLines();
  problem?.addEventListener("change", drawLines);
}
