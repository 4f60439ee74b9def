// New messages of a topic as they come, the newest on top. What a message says is only ever put in as text.
(() => {
  const ROWS_MAX = 200;
  const HELD_MAX = 200;
  const BODY_MAX = 600;
  const place = document.getElementById("tail");
  if (!place) return;
  const words = JSON.parse(document.querySelector("meta[name=braid-words]")?.content || "{}");
  const say = (text) => words[text] ?? text;
  const rows = document.getElementById("tail-rows");
  const state = document.getElementById("tail-state");
  const pause = document.getElementById("tail-pause");
  let held = [];
  let paused = false;
  let skipped = 0;

  function cell(text, className = "") {
    return Object.assign(document.createElement("td"), { textContent: text ?? "–", className });
  }

  function row(message) {
    const made = document.createElement("tr");
    const at = document.createElement("td");
    at.className = "nowrap";
    at.textContent = new Date(message.born_ms).toLocaleTimeString(document.documentElement.lang, { hour12: false });
    const where = document.createElement("td");
    const address = new URL(place.dataset.leads, location.href);
    for (const [name, value] of Object.entries({ by: "offset", topic: place.dataset.topic, partition: message.partition, offset: message.offset })) address.searchParams.set(name, value);
    where.append(Object.assign(document.createElement("a"), { href: address.href, textContent: `${message.partition} / ${message.offset}` }));
    where.className = "nowrap";
    const body = message.body ?? (message.body_base64 ? `base64: ${message.body_base64}` : null);
    made.append(at, where, cell(message.key ?? message.key_base64, "nowrap"), cell(message.tag), cell(body?.slice(0, BODY_MAX), "mono body"));
    return made;
  }

  function show(messages) {
    for (const message of messages) rows.prepend(row(message));
    while (rows.rows.length > ROWS_MAX) rows.lastElementChild.remove();
    document.getElementById("tail-empty").hidden = rows.rows.length > 0;
  }

  function tell() {
    const parts = [say(paused ? "paused" : "live")];
    if (skipped) parts.push(say("{count} passed over").replace("{count}", skipped));
    state.textContent = parts.join(" · ");
  }

  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? pause.dataset.resume : pause.dataset.pause;
    pause.setAttribute("aria-pressed", String(paused));
    if (!paused) { show(held); held = []; }
    tell();
  });

  const source = new EventSource(place.dataset.tail);
  source.onopen = tell;
  source.onerror = () => { state.textContent = say("connection lost, trying again"); };
  source.onmessage = (event) => {
    const round = JSON.parse(event.data);
    skipped += round.skipped;
    if (paused) { held.push(...round.items); skipped += Math.max(0, held.length - HELD_MAX); held = held.slice(-HELD_MAX); } else show(round.items);
    tell();
  };
})();
