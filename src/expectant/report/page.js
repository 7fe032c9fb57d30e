"use strict";
// Draws the figures from the numbers in #curves and switches curves on and off.
(() => {
  const { look, figures } = JSON.parse(document.getElementById("curves").textContent);

  // Plotly reads some HTML in names; here a name is only ever a name.
  const plain = (text) =>
    text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  const translucent = (colour) => {
    const part = (start) => parseInt(colour.slice(start, start + 2), 16);
    return `rgba(${part(1)},${part(3)},${part(5)},${look.band})`;
  };

  // The outline of a band: there along the top, back along the bottom, once per unbroken stretch.
  const outline = (episodes, curve) => {
    const x = [], y = [];
    let start = 0;
    while (start < episodes.length) {
      if (curve.low[start] === null) { start += 1; continue; }
      let end = start;
      while (end < episodes.length && curve.low[end] !== null) end += 1;
      if (x.length) { x.push(null); y.push(null); }
      for (let i = start; i < end; i += 1) { x.push(episodes[i]); y.push(curve.high[i]); }
      for (let i = end - 1; i >= start; i -= 1) { x.push(episodes[i]); y.push(curve.low[i]); }
      start = end;
    }
    return { x, y };
  };

  const bandTrace = (episodes, curve, agent) => ({
    ...outline(episodes, curve),
    meta: { agent: curve.agent, part: "band" }, type: "scatter", mode: "lines", fill: "toself",
    fillcolor: translucent(agent.colour), line: { width: 0 }, hoverinfo: "skip",
  });

  const lineTrace = (episodes, curve, agent) => ({
    x: episodes, y: curve.mean, customdata: curve.low.map((low, i) => [low, curve.high[i]]),
    meta: { agent: curve.agent, part: "line" }, name: plain(agent.label),
    type: "scatter", mode: "lines+markers", connectgaps: false,
    line: { color: agent.colour, width: episodes.length > look.manyBins ? look.line / 2 : look.line, dash: agent.dash },
    marker: {
      color: agent.colour, symbol: agent.symbol, size: 8, maxdisplayed: 9,
      line: { color: "#fff", width: 0.8 },
    },
    hovertemplate: "%{y:.2f} [%{customdata[0]:.2f}, %{customdata[1]:.2f}] %{fullData.name}<extra></extra>",
  });

  // A cross where a curve ends early because a run diverged.
  const endTraces = (episodes, curve, agent) => {
    const last = curve.mean.findLastIndex((value) => value !== null);
    if (last < 0 || !curve.mean.includes(null)) return [];
    return [{
      x: [episodes[last]], y: [curve.mean[last]],
      meta: { agent: curve.agent, part: "end" }, type: "scatter", mode: "markers",
      marker: { symbol: "x-thin", size: 11, line: { color: agent.colour, width: 2.5 } },
      hoverinfo: "skip",
    }];
  };

  const tracesOf = (panel, agents) => {
    const episodes = Array.from({ length: panel.bins }, (_, i) => (i + 0.5) * panel.bin);
    const each = (make) => panel.curves.flatMap((c) => make(episodes, c, agents[c.agent]));
    // All bands lie below all lines.
    return [...each(bandTrace), ...each(lineTrace), ...each(endTraces)];
  };

  const switchLine = (episode) => ({
    type: "line", layer: "below", x0: episode, x1: episode, yref: "paper", y0: 0, y1: 1,
    line: { color: look.switch, width: 1 },
  });

  const optimumLine = (panel) => ({
    type: "line", layer: "below", xref: "paper", x0: 0, x1: 1, y0: panel.optimum, y1: panel.optimum,
    line: { color: look.optimum, width: 1.2, dash: look.optimumDash },
  });

  const optimumLabel = (panel) => ({
    text: plain(panel.optimumText), xref: "paper", x: 0.01, xanchor: "left", y: panel.optimum,
    yanchor: "bottom", showarrow: false, borderpad: 1, bgcolor: "#fff", font: { size: 11, color: "#444" },
  });

  const axis = (title) => ({
    title: { text: title, standoff: 6 }, automargin: true, gridcolor: "#eef0f2", zeroline: false,
    showline: true, linecolor: "#8a8f94", ticks: "outside", ticklen: 4, tickcolor: "#8a8f94",
  });

  const layoutOf = (figure, panel) => {
    const known = panel.optimum !== null;
    return {
      autosize: true, showlegend: false, hovermode: "x unified",
      // A finger that drags means to scroll the page.
      dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
      margin: { l: 48, r: 22, t: 6, b: 40 }, paper_bgcolor: "#fff", plot_bgcolor: "#fff",
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: "#1b1f24" },
      hoverlabel: { font: { size: 11 }, namelength: -1, bgcolor: "rgba(255,255,255,0.92)" },
      xaxis: {
        ...axis("episode"), range: [0, panel.bins * panel.bin], nticks: 6, tickformat: ",d",
        showgrid: false, ticklabeloverflow: "allow",
        unifiedhovertitle: { text: "around episode %{x:,.0f}" },
      },
      yaxis: { ...axis("return per episode"), range: figure.range.slice() },
      shapes: [...panel.switches.map(switchLine), ...(known ? [optimumLine(panel)] : [])],
      annotations: known ? [optimumLabel(panel)] : [],
    };
  };

  // Only these buttons: by default there is one that sends the chart to a server.
  const config = {
    responsive: true, displaylogo: false, plotlyServerURL: "",
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "autoScale2d", "resetScale2d"]],
  };

  const entriesOf = (figure) =>
    [...document.querySelectorAll(`.legend-entry[data-figure="${figure.id}"]`)];

  const isPressed = (entry) => entry.getAttribute("aria-pressed") === "true";
  const press = (entry, pressed) => entry.setAttribute("aria-pressed", String(pressed));

  // Show exactly the curves whose entries are pressed, in every panel of the figure.
  const applyLegend = (figure) => {
    const shown = entriesOf(figure).map(isPressed);
    for (const panel of figure.panels) {
      const plot = document.getElementById(panel.id);
      Plotly.restyle(plot, { visible: plot.data.map((trace) => shown[trace.meta.agent]) });
    }
  };

  const listen = (figure) => {
    const entries = entriesOf(figure);
    for (const entry of entries) {
      entry.addEventListener("click", () => {
        press(entry, !isPressed(entry));
        applyLegend(figure);
      });
      entry.addEventListener("dblclick", () => {
        const alone = entries.every((other) => isPressed(other) === (other === entry));
        entries.forEach((other) => press(other, alone || other === entry));
        applyLegend(figure);
      });
    }
  };

  for (const figure of figures) {
    for (const panel of figure.panels) {
      Plotly.newPlot(panel.id, tracesOf(panel, figure.agents), layoutOf(figure, panel), config);
    }
    listen(figure);
  }

  // On paper everything is open and the page has the width of the paper. Plotly's own resizing
  // waits a moment, and the printer does not.
  let opened = [];
  const fit = (size) => document.querySelectorAll(".plot").forEach((plot) => {
    Plotly.relayout(plot, size(plot));
  });
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
})();
