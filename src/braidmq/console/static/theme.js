// Before anything is painted: the theme that the reader, or the system, prefers.
(() => {
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const chosen = root.dataset.theme;
    root.dataset.bsTheme = chosen === "auto" ? (dark.matches ? "dark" : "light") : chosen;
    root.dispatchEvent(new Event("braid:theme"));
  };
  dark.addEventListener("change", apply);
  apply();
})();
