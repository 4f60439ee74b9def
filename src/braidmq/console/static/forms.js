// What forms do by themselves: local times as milliseconds, fields that follow a choice, tabs, copies of what is shown.
(() => {
  const pad = (number) => String(number).padStart(2, "0");
  const local = (at) => `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}T${pad(at.getHours())}:${pad(at.getMinutes())}`;

  function settle(root) {
    for (const field of root.querySelectorAll("[data-moment]")) {
      const kept = field.form.elements[field.dataset.moment];
      if (kept.value && !field.value) field.value = local(new Date(Number(kept.value)));
    }
    for (const choice of root.querySelectorAll("[data-shows]")) follow(choice);
  }

  // Parts with data-when="name=value other" are there while the field `name` has one of the values.
  function follow(choice) {
    if (choice.type === "radio" && !choice.checked) return;
    for (const part of choice.form.querySelectorAll(`[data-when^="${choice.name}="]`)) {
      part.hidden = !part.dataset.when.split("=")[1].split(" ").includes(choice.value);
      for (const field of part.querySelectorAll("input, select, textarea")) field.disabled = part.hidden;
    }
  }

  document.addEventListener("change", (event) => {
    const field = event.target;
    if (field.matches("[data-moment]")) field.form.elements[field.dataset.moment].value = field.value ? String(new Date(field.value).getTime()) : "";
    if (field.matches("[data-shows]")) follow(field);
  });

  document.addEventListener("click", (event) => {
    const tab = event.target.closest("[data-tab]");
    if (tab) {
      const list = tab.closest("[role=tablist]");
      for (const each of list.querySelectorAll("[data-tab]")) {
        each.setAttribute("aria-selected", String(each === tab));
        document.getElementById(each.dataset.tab).hidden = each !== tab;
      }
    }
    const copy = event.target.closest("[data-copy-from]");
    const source = copy && [...document.querySelectorAll(copy.dataset.copyFrom)].find((each) => !each.hidden);
    if (source) navigator.clipboard?.writeText(source.textContent).then(() => copy.classList.add("good"));
  });

  // A list does not look again under the hands of somebody who has chosen something in it, or is typing.
  document.addEventListener("htmx:beforeRequest", (event) => {
    const list = event.detail.elt;
    if (event.detail.requestConfig.triggeringEvent?.type !== "braid:refresh") return;
    const isTyping = list.contains(document.activeElement) && document.activeElement.matches("input:not([type=checkbox]), select, textarea");
    if (isTyping || list.querySelector("[type=checkbox]:checked, details.menu[open]")) event.preventDefault();
  });

  document.addEventListener("htmx:afterSwap", (event) => settle(document.getElementById(event.detail.target.id) ?? event.detail.target));
  settle(document);
})();
