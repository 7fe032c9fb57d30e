// Unpacks the sweep in #curves and puts the parts of its page together.
(() => {
  const data = JSON.parse(document.getElementById("curves").textContent);

  const unpack = (text) => {
    const raw = atob(text), bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i += 1) bytes[i] = raw.charCodeAt(i);
    return new Float32Array(bytes.buffer);
  };
  const points = data.positions.length, curves = unpack(data.curves);
  const measures = data.measures.map((each) => ({ ...each, scores: unpack(each.scores) }));
  const values = new Map(data.columns.map((column) => [column.name, column.values]));
  const members = data.groups.map(() => []);
  data.groupOf.forEach((group, cell) => members[group].push(cell));
  const asked = data.runs.reduce((most, runs) => Math.max(most, runs), 0);
  let measure = measures[0];

  const sweep = {
    ...data,
    measure: () => measure,
    score: (cell, part) => measure.scores[3 * cell + part],
    curve: (cell, part) => Array.from(curves.subarray((3 * cell + part) * points, (3 * cell + part + 1) * points)),
    column: (name) => values.get(name),
    groupOfCell: (cell) => data.groups[data.groupOf[cell]],
    // Only finished cells take part in comparisons, as in the tables of the best.
    cellsOf: (group) => members[data.groups.indexOf(group)].filter((cell) => data.runs[cell] === asked),
    show: (value) => {
      if (value === null || value === undefined || Number.isNaN(value)) return "–";
      if (typeof value !== "number") return String(value);
      return String(Number(value.toPrecision(4))).replace(/^-/, "−");
    },
  };

  // ---- the chosen cells, each with a slot that decides its colour
  const chosen = new Map();
  const add = (cell) => {
    const taken = new Set(chosen.values());
    let slot = 0;
    while (taken.has(slot)) slot += 1;
    chosen.set(cell, slot);
  };
  const toggle = (cell) => {
    if (!chosen.delete(cell)) add(cell);
    showChosen();
    table.draw();
  };
  const chip = (cell, slot) => {
    const button = document.createElement("button"), line = document.createElement("span");
    button.type = "button";
    button.className = "legend-entry";
    button.title = "remove this curve";
    line.className = "chip-line";
    line.style.borderTopColor = plots.look(slot).colour;
    button.append(line, `${sweep.ids[cell]} ×`);
    button.addEventListener("click", () => toggle(cell));
    return button;
  };
  const showChosen = () => {
    const chips = [...chosen.entries()].map(([cell, slot]) => chip(cell, slot));
    document.getElementById("chosen").replaceChildren(...chips);
    plots.curves(chosen);
  };

  const select = (id) => document.getElementById(id);
  const problems = [...new Set(data.groups.map((group) => group.problem))];
  const drawSensitivity = () => plots.sensitivity(problems[select("problem").selectedIndex]);
  const heatGroup = () => data.groups[select("heat-group").selectedIndex];
  const drawHeat = () => {
    const { settings } = heatGroup();
    plots.heat(heatGroup(), settings[select("heat-first").selectedIndex], settings[select("heat-second").selectedIndex]);
  };
  const fillHeat = () => {
    const { settings } = heatGroup();
    ["heat-first", "heat-second"].forEach((id, n) => {
      select(id).replaceChildren(...settings.map((name) => new Option(name.replace(/^agent\./, ""))));
      select(id).selectedIndex = Math.min(n, settings.length - 1);
    });
    if (settings.length < 2) select("heat-second").replaceChildren();
    drawHeat();
  };
  const setMeasure = () => {
    measure = measures[select("measure").selectedIndex];
    document.querySelectorAll(".choices").forEach((part) => {
      part.hidden = Number(part.dataset.measure) !== select("measure").selectedIndex;
    });
  };

  const plots = sweepPlots(sweep, toggle);
  setMeasure();
  measure.best.slice(0, 8).forEach(add);
  const table = cellTable(sweep, toggle, (cell) => chosen.has(cell));
  showChosen();
  drawSensitivity();
  // The first group that has two settings is the most telling one.
  select("heat-group").selectedIndex = Math.max(0, data.groups.findIndex((group) => group.settings.length > 1));
  fillHeat();

  select("measure").addEventListener("change", () => { setMeasure(); table.update(); drawSensitivity(); drawHeat(); });
  select("problem").addEventListener("change", drawSensitivity);
  select("heat-group").addEventListener("change", fillHeat);
  select("heat-first").addEventListener("change", drawHeat);
  select("heat-second").addEventListener("change", drawHeat);
  document.querySelectorAll(".to-curve").forEach((button) => button.addEventListener("click", () => {
    const cell = data.ids.indexOf(button.dataset.cell);
    if (!chosen.has(cell)) toggle(cell);
    document.getElementById("curves-of-cells").scrollIntoView();
  }));
})();
