// What pages do by themselves: search key, drawers, copies, times, favourites, refresh, live figures.
(() => {
  const REFRESH_MS = 5000;
  const words = JSON.parse(document.querySelector("meta[name=braid-words]")?.content || "{}");
  const say = (text) => words[text] ?? text;
  const drawer = document.getElementById("drawer");
  const language = document.documentElement.lang;

  // Keys: / finds, Escape closes (dialogs do that themselves).
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.closest("input, textarea, select, [contenteditable]")) return;
    const box = document.querySelector("[data-search]") ?? document.querySelector(".search-top input");
    if (box) { event.preventDefault(); box.focus(); box.select(); }
  });

  document.addEventListener("click", (event) => {
    const copy = event.target.closest("[data-copy]");
    if (copy) navigator.clipboard?.writeText(copy.dataset.copy).then(() => { copy.setAttribute("aria-label", say("copied")); copy.classList.add("good"); });
    if (event.target.closest("[data-close-drawer]") || event.target === drawer) drawer.close();
    const toggle = event.target.closest("[data-toggle-side]");
    const side = document.getElementById("side");
    if (toggle) { const open = side.classList.toggle("open"); toggle.setAttribute("aria-expanded", String(open)); }
    else if (side && !event.target.closest("#side")) side.classList.remove("open");
    for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
    const star = event.target.closest("[data-favourite]");
    if (star) favour(star.dataset.favourite, star.dataset.title);
  });

  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-submit-on-change]")) event.target.form.requestSubmit();
    if (event.target.matches("[data-select-all]")) for (const box of document.querySelectorAll(event.target.dataset.selectAll)) box.checked = event.target.checked;
  });

  document.addEventListener("submit", (event) => {
    const question = event.target.dataset.confirm;
    if (question && !window.confirm(question)) event.preventDefault();
  });

  // Parts that htmx brought.
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id === "drawer-body" && !drawer.open) drawer.showModal();
    const shown = document.getElementById(event.detail.target.id) ?? event.detail.target;
    settle(shown);
    shown.querySelector("[data-notice], .notice")?.scrollIntoView({ block: "nearest" });
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    const parsed = event.detail.serverResponse ?? "";
    if (parsed.includes("data-notice")) { for (const old of document.querySelectorAll("[data-notice]")) old.remove(); event.detail.target = document.getElementById(drawer?.open ? "drawer-body" : "notices"); event.detail.swapOverride = "afterbegin"; event.detail.selectOverride = "unset"; }
  });

  function settle(root) {
    window.braidCharts?.beginAll(root);
    times(root);
    stars(root);
  }

  // Times: the reader's own zone; "5 minutes ago" where asked.
  const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "long" });
  const steps = [[60, "second", 1], [3600, "minute", 60], [86400, "hour", 3600], [Infinity, "day", 86400]];
  function ago(at) {
    const seconds = (at - Date.now()) / 1000;
    if (Math.abs(seconds) < 5) return say("just now");
    const [, unit, size] = steps.find(([limit]) => Math.abs(seconds) < limit);
    return relative.format(Math.round(seconds / size), unit);
  }
  function times(root) {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      time.title = `${at.toLocaleString(language)} · ${time.dateTime}`;
      time.textContent = "relative" in time.dataset ? ago(at) : at.toLocaleString(language, { hour12: false });
    }
  }
  setInterval(() => times(document), 15000);

  // Favourites live in this browser.
  const KEY = "braid-favourites";
  const kept = () => { try { return JSON.parse(localStorage.getItem(KEY)) ?? []; } catch { return []; } };
  function favour(path, title) {
    const all = kept();
    const rest = all.filter((each) => each.path !== path);
    localStorage.setItem(KEY, JSON.stringify(rest.length === all.length ? [...all, { path, title }].slice(-30) : rest));
    stars(document);
    favourites();
  }
  function stars(root) {
    const paths = new Set(kept().map((each) => each.path));
    for (const star of root.querySelectorAll("[data-favourite]")) star.setAttribute("aria-pressed", String(paths.has(star.dataset.favourite)));
  }
  function favourites() {
    const place = document.getElementById("favourites");
    if (!place) return;
    place.querySelectorAll("a").forEach((link) => link.remove());
    for (const { path, title } of kept()) {
      if (!path.startsWith("/console/")) continue;
      const link = Object.assign(document.createElement("a"), { className: "side-link", href: path });
      const instance = new URL(path, location.href).searchParams.get("instance");
      link.append(Object.assign(document.createElement("span"), { textContent: instance ? `${title} · ${instance}` : title }));
      place.append(link);
    }
    place.hidden = !place.querySelector("a");
  }

  // The switch for pages that refresh by themselves; parts with hx-trigger="braid:refresh from:body" hear it.
  const LIVE = "braid-live";
  const isLive = () => localStorage.getItem(LIVE) !== "off";
  const box = document.querySelector("[data-auto-refresh]");
  if (box) {
    box.checked = isLive();
    box.addEventListener("change", () => { localStorage.setItem(LIVE, box.checked ? "on" : "off"); hear(); });
  }
  setInterval(() => { if (isLive() && !document.hidden && !drawer?.open) document.body.dispatchEvent(new Event("braid:refresh")); }, REFRESH_MS);

  // Live figures.
  let source = null;
  function hear() {
    const wanted = isLive() && !document.hidden && document.querySelector("[data-live], [data-live-chart]:not([data-live-chart=''])");
    if (!wanted) { source?.close(); source = null; return; }
    if (source) return;
    source = new EventSource("/console/events");
    source.onmessage = (event) => told(JSON.parse(event.data));
  }
  function told(event) {
    window.braidCharts?.live(event);
    for (const place of document.querySelectorAll("[data-live]")) {
      const value = event.figures?.[place.dataset.live];
      if (value == null) continue;
      place.textContent = window.braidCharts.shown(value, place.dataset.unit ?? "");
      if (place.classList.contains("side-count")) place.hidden = !value;
    }
  }

  // A browser opens few connections to one host: pages that nobody looks at give theirs back.
  document.addEventListener("visibilitychange", hear);

  // Moments that somebody chooses in their own time: the form sends milliseconds.
  document.addEventListener("input", (event) => {
    if (event.target.matches("[data-moment-for]")) document.getElementById(event.target.dataset.momentFor).value = event.target.value ? String(new Date(event.target.value).getTime()) : "";
  });

  document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  settle(document);
  favourites();
  hear();
})();
