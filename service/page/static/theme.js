// The colours that were chosen last, set before anything is drawn; the rest is in main.js.
try {
  document.documentElement.dataset.theme = localStorage.getItem("storyqa.theme") ?? "auto";
} catch {
  document.documentElement.dataset.theme = "auto"; // storage is switched off
}
