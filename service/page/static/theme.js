// The colours that were chosen last, set before anything is drawn; the button that changes them is colours.js's.
{
  const root = document.documentElement;
  const dark = document.getElementById("dark"); // paper is light whatever a screen is
  const media = { auto: dark.media, light: "not all", dark: "screen" };
  const show = () => {
    dark.media = media[root.dataset.theme] ?? media.auto;
  };
  try {
    root.dataset.theme = localStorage.getItem("storyqa.theme") ?? "auto";
  } catch {
    root.dataset.theme = "auto"; // storage is switched off
  }
  show();
  new MutationObserver(show).observe(root, { attributeFilter: ["data-theme"] });
}
