// Charts: uPlot on samples of the node, going on by themselves with the events that console.js hears.
window.braidCharts = (() => {
  const POINTS_MAX = 720;
  const charts = [];
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const words = JSON.parse(document.querySelector("meta[name=braid-words]")?.content || "{}");
  const doubled = Array.from({ length: 50 }, (_, nth) => 2 ** nth);
  const units = { bytes: ["B", "KiB", "MiB", "GiB", "TiB"] };

  function shown(value, unit) {
    if (value == null) return "–";
    if (unit === "bytes" || unit === "bytes/s") {
      let nth = 0;
      while (Math.abs(value) >= 1024 && nth < 4) { value /= 1024; nth += 1; }
      return `${value.toFixed(nth ? 1 : 0)} ${units.bytes[nth]}${unit.endsWith("/s") ? "/s" : ""}`;
    }
    const text = Math.abs(value) >= 1e6 ? `${(value / 1e6).toFixed(1)}M` : Math.abs(value) >= 1e4 ? `${(value / 1e3).toFixed(1)}k`
      : Number.isInteger(value) ? String(value).replace(/(?<=\d)(?=(\d{3})+$)/, "\u202f") : value.toFixed(Math.abs(value) < 1 ? 2 : 1);
    return unit && unit !== "messages" ? `${text} ${unit}` : text;
  }

  function clock(at, step) {
    const day = step >= 86400 ? { month: "2-digit", day: "2-digit" } : { hour: "2-digit", minute: "2-digit", ...(step < 60 ? { second: "2-digit" } : {}) };
    return new Date(at * 1000).toLocaleString(document.documentElement.lang, { ...day, hour12: false });
  }

  function options(place, series) {
    const unit = place.dataset.unit;
    const axis = { stroke: css("--chart-text"), grid: { stroke: css("--chart-grid"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    return {
      width: place.clientWidth || 600, height: Number(place.dataset.height) || 220,
      cursor: { points: { size: 7 } }, legend: { live: true },
      scales: { y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high ?? 0) > 0 ? high * 1.1 : 1] } },
      axes: [{ ...axis, size: 34, space: (_, __, from, until) => until - from < 300 ? 84 : 54, values: (_, ticks, __, ___, step) => ticks.map((tick) => clock(tick, step)) }, { ...axis, size: 74, ...(unit?.startsWith("bytes") ? { incrs: doubled } : {}), values: (_, ticks) => ticks.map((tick) => shown(tick, unit)) }],
      series: [{ label: words.Time ?? "Time", value: (_, at) => at == null ? "–" : new Date(at * 1000).toLocaleTimeString() },
        ...series.map((name, nth) => ({ label: name, stroke: css(`--chart-${nth % 5 + 1}`), width: 2, spanGaps: false, points: { show: false },
          fill: series.length === 1 ? `${css("--chart-1")}1f` : undefined, value: (_, value) => shown(value, unit) }))],
    };
  }

  function draw(entry) {
    entry.plot?.destroy();
    entry.place.replaceChildren();
    entry.plot = new uPlot(options(entry.place, entry.names), entry.data, entry.place);
  }

  async function asked(place) {
    const answer = await fetch(place.dataset.chart, { headers: { accept: "application/json" } });
    if (!answer.ok) return null;
    const { times, series } = await answer.json();
    place.dataset.points = String(times.length);
    return { names: series.map((each) => each.label), keys: series.map((each) => each.name), data: [times, ...series.map((each) => each.values)] };
  }

  async function begin(place) {
    const found = await asked(place);
    if (!found) return;
    const entry = { place, ...found, plot: null };
    charts.push(entry);
    draw(entry);
  }

  // Charts without live figures ask again when the page refreshes.
  document.body.addEventListener("braid:refresh", async () => {
    for (const entry of charts.filter((each) => each.place.isConnected && !each.place.dataset.liveChart)) {
      const found = await asked(entry.place);
      if (!found) continue;
      const same = found.names.join() === entry.names.join();
      Object.assign(entry, found);
      if (same) entry.plot.setData(entry.data); else draw(entry);
    }
  });

  function live(event) {
    for (const entry of charts) {
      if (!entry.place.isConnected || !entry.place.dataset.liveChart) continue;
      const values = entry.keys.map((key) => event.figures?.[key] ?? null);
      if (values.every((value) => value === null)) continue;
      entry.data[0].push(event.at_ms / 1000);
      values.forEach((value, nth) => entry.data[nth + 1].push(value));
      if (entry.data[0].length > POINTS_MAX) entry.data.forEach((column) => column.shift());
      entry.place.dataset.points = String(entry.data[0].length);
      entry.plot.setData(entry.data);
    }
  }

  function beginAll(root) {
    for (const place of root.querySelectorAll("[data-chart]")) {
      if (!place.dataset.begun) { place.dataset.begun = "1"; begin(place); }
    }
  }

  const again = () => charts.filter((entry) => entry.place.isConnected).forEach(draw);
  window.addEventListener("resize", () => { clearTimeout(again.timer); again.timer = setTimeout(again, 150); });
  document.documentElement.addEventListener("braid:theme", again);
  return { beginAll, live, shown };
})();
