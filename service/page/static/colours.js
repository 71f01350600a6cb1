// The button that changes the colours: as the system has them, light, dark. theme.js sets them first.

const THEMES = { auto: "as the system has them", light: "light", dark: "dark" };

export function offerColours(button) {
  const root = document.documentElement;
  const show = () => button.setAttribute("aria-label", `Colours: ${THEMES[root.dataset.theme] ?? THEMES.auto}`);
  button.addEventListener("click", () => {
    const names = Object.keys(THEMES);
    const next = names[(names.indexOf(root.dataset.theme) + 1) % names.length];
    root.dataset.theme = next;
    try {
      localStorage.setItem("storyqa.theme", next);
    } catch {
      // Storage is switched off: the choice lasts until the page is closed.
    }
    show();
  });
  show();
}
