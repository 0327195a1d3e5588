// The dark and the light look: that of the system, until a person chooses one.
import {element, svg} from "./elements.js";

const STORED = "penstock-look", system = matchMedia("(prefers-color-scheme: dark)");

// Adds a button that switches to the tools of the page; changed() is called now and after each change.
export function startLook(changed = () => {}) {
  const stored = localStorage.getItem(STORED);
  if (stored) document.documentElement.dataset.look = stored;
  const choose = () => {
    const look = isDark() ? "light" : "dark";
    localStorage.setItem(STORED, look);
    document.documentElement.dataset.look = look;
    changed();
  };
  const picture = svg("svg", {viewBox: "0 0 24 24", "aria-hidden": "true"}, svg("circle", {cx: 12, cy: 12, r: 7}), svg("path", {class: "filled", d: "M12 5a7 7 0 0 1 0 14z"}));
  document.querySelector(".tools").append(element("button", {class: "quiet", "aria-label": "Dark or light look", title: "Dark or light look", onclick: choose}, picture));
  system.addEventListener("change", changed);
  changed();
}

const isDark = () => document.documentElement.dataset.look ? document.documentElement.dataset.look === "dark" : system.matches;
