// The table of cells: only the rows in sight are in the document, whatever their number.
const cellTable = (sweep, toggle, isChosen) => {
  const ROW = 31, SPARE = 12, WIDEST = 34;  // pixels with the border, rows, letters
  const box = byId("cell-box");
  const table = byId("cell-table");
  const groupOf = (cell) => sweep.groups[sweep.groupOf[cell]];
  const show = (value) => {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    if (typeof value !== "number") return String(value);
    return String(Number(value.toPrecision(4))).replace(/^-/, "−");
  };
  const make = (tag, attributes = {}, text = "") => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.textContent = text;
    return made;
  };

  // ---- columns: a name, the value of a cell, whether it is a number
  const columns = [
    { name: "agent", value: (cell) => palette[groupOf(cell).key].name },
    ...(sweep.groups.some((group) => group.problem)
      ? [{ name: "in", value: (cell) => groupOf(cell).problem }] : []),
    ...sweep.columns.map(({ name, values }) => ({
      name: name.replace(/^agent\./, ""), value: (cell) => values[cell],
    })),
    { name: "runs", value: (cell) => sweep.runs[cell] },
    { name: "diverged", value: (cell) => sweep.diverged[cell] },
    { name: "value", value: (cell) => sweep.score(cell, 0) },
    { name: "low", value: (cell) => sweep.score(cell, 1) },
    { name: "high", value: (cell) => sweep.score(cell, 2) },
  ];
  const cells = sweep.ids.map((_, cell) => cell);
  for (const column of columns) {
    column.numeric = cells.every((cell) => typeof (column.value(cell) ?? 0) === "number");
    column.text = (cell) => show(column.value(cell));
  }

  // ---- what is shown: filters, then order
  let shown = cells, order = { column: null, down: true }, active = 0;
  const filters = columns.map(() => "");
  let wanted = "";

  const numberTest = (text) => {
    const between = text.match(/^(\S+)\s*\.\.\s*(\S+)$/);
    if (between) return (value) => value >= Number(between[1]) && value <= Number(between[2]);
    const [, sign, rest] = text.match(/^(>=|<=|>|<|=)?\s*(.*)$/);
    const limit = Number(rest.replace("−", "-"));
    if (rest === "" || Number.isNaN(limit)) return null;
    return {
      ">": (value) => value > limit, "<": (value) => value < limit,
      ">=": (value) => value >= limit, "<=": (value) => value <= limit,
    }[sign] ?? ((value) => value === limit || show(value) === rest);  // or as it is written
  };
  const test = (column, text) => {
    const asked = text.trim().toLowerCase();
    const byNumber = column.numeric ? numberTest(asked) : null;
    if (byNumber) return (cell) => column.value(cell) !== null && byNumber(column.value(cell));
    return (cell) => column.text(cell).toLowerCase().includes(asked);
  };
  const anywhere = sweep.ids.map(() => null);  // filled when it is first asked for
  const everything = (cell) => anywhere[cell] ??=
    `${sweep.ids[cell]} ${columns.map((column) => column.text(cell)).join(" ")}`.toLowerCase();

  const compare = (column) => (a, b) => {
    const first = column.value(a), second = column.value(b);
    const unknown = (value) => value === null || Number.isNaN(value);
    if (unknown(first) || unknown(second)) return unknown(first) - unknown(second);
    const sign = order.down ? -1 : 1;
    return column.numeric ? sign * (first - second) : sign * String(first).localeCompare(String(second));
  };

  const update = () => {
    const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
    const tests = columns.flatMap((column, n) => (filters[n].trim() ? [test(column, filters[n])] : []));
    shown = cells.filter((cell) => tests.every((fits) => fits(cell))
      && words.every((word) => everything(cell).includes(word)));
    if (order.column) shown.sort(compare(order.column));
    active = 0;
    byId("count").textContent =
      `${shown.length.toLocaleString("en")} of ${cells.length.toLocaleString("en")} cells`;
    table.setAttribute("aria-rowcount", shown.length + 2);
    box.scrollTop = 0;
    draw();
  };

  // ---- drawing
  const spacer = (rows) => {
    const row = make("tr", { class: "spacer", "aria-hidden": "true" });
    const filler = make("td", { colspan: columns.length + 1 });
    filler.style.height = `${rows * ROW}px`;
    row.append(filler);
    return row;
  };
  const rowOf = (place) => {
    const cell = shown[place], chosen = isChosen(cell);
    const row = make("tr", { "data-place": place, "aria-rowindex": place + 3, "aria-selected": chosen });
    const tick = make("input", { type: "checkbox", tabindex: place === active ? 0 : -1,
      "aria-label": `curve of ${sweep.ids[cell]}` });
    tick.checked = chosen;
    const first = make("td");
    first.append(tick);
    row.append(first);
    for (const column of columns) {
      const text = column.text(cell);
      row.append(make("td", { class: column.numeric ? "right" : "", title: text }, text));
    }
    return row;
  };
  const body = make("tbody");
  const draw = () => {
    const focused = body.contains(document.activeElement);
    const start = Math.max(0, Math.floor(box.scrollTop / ROW) - SPARE);
    const end = Math.min(shown.length, start + Math.ceil(box.clientHeight / ROW) + 2 * SPARE);
    const rows = [];
    for (let place = start; place < end; place += 1) rows.push(rowOf(place));
    body.replaceChildren(spacer(start), ...rows, spacer(shown.length - end));
    if (focused) focusActive();
  };
  const focusActive = () =>
    (body.querySelector(`[data-place="${active}"] input`) ?? box).focus({ preventScroll: true });

  // ---- head
  const sortBy = (column) => {
    order = { column, down: order.column === column ? !order.down : column.numeric };
    for (const other of columns) {
      const direction = order.down ? "descending" : "ascending";
      other.head.setAttribute("aria-sort", other === column ? direction : "none");
      other.button.textContent = other.name + (other === column ? (order.down ? " ↓" : " ↑") : "");
    }
    update();
  };
  const head = make("thead"), names = make("tr"), inputs = make("tr"), widths = make("colgroup");
  const width = (letters) => { const column = make("col"); column.style.width = letters; widths.append(column); };
  names.append(make("td"));
  inputs.append(make("td"));
  width("34px");
  columns.forEach((column, n) => {
    const longest = cells.reduce((most, cell) => Math.max(most, column.text(cell).length), column.name.length + 3);
    width(`calc(${Math.min(longest, WIDEST)}ch + 18px)`);
    column.head = make("th", { scope: "col", "aria-sort": "none", class: column.numeric ? "right" : "" });
    column.button = make("button", { type: "button", title: `sort by ${column.name}` }, column.name);
    column.button.addEventListener("click", () => sortBy(column));
    column.head.append(column.button);
    names.append(column.head);
    const place = make("td"), input = make("input", { type: "text", "aria-label": `filter ${column.name}` });
    input.addEventListener("input", () => { filters[n] = input.value; update(); });
    place.append(input);
    inputs.append(place);
  });
  head.append(names, inputs);
  table.append(widths, head, body);

  // ---- events
  let waiting = false;
  box.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  });
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-place]");
    if (!row) return;
    active = Number(row.dataset.place);
    toggle(shown[active]);
    focusActive();
  });
  box.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12 }[event.key];
    if (!step || head.contains(event.target)) return;
    event.preventDefault();
    active = Math.min(shown.length - 1, Math.max(0, body.contains(event.target) ? active + step : active));
    const top = active * ROW, room = box.clientHeight - head.offsetHeight;
    if (top < box.scrollTop) box.scrollTop = top;
    if (top + ROW > box.scrollTop + room) box.scrollTop = top + ROW - room;
    draw();
    focusActive();
  });
  byId("search").addEventListener("input", (event) => { wanted = event.target.value; update(); });
  byId("clear-filters").addEventListener("click", () => {
    filters.fill("");
    wanted = "";
    inputs.querySelectorAll("input").forEach((input) => { input.value = ""; });
    byId("search").value = "";
    update();
  });
  update();
  return { draw, update };
};
