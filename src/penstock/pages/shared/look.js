// The dark and the light look: that of the system, until a person chooses one.
import {byId} from "./elements.js";

const STORED = "penstock-look", system = matchMedia("(prefers-color-scheme: dark)");

// The button with the id "theme" switches; changed() is called now and after each change.
export function startLook(changed = () => {}) {
  const stored = localStorage.getItem(STORED);
  if (stored) document.documentElement.dataset.look = stored;
  byId("theme").addEventListener("click", () => {
    const look = isDark() ? "light" : "dark";
    localStorage.setItem(STORED, look);
    document.documentElement.dataset.look = look;
    changed();
  });
  system.addEventListener("change", changed);
  changed();
}

const isDark = () => document.documentElement.dataset.look ? document.documentElement.dataset.look === "dark" : system.matches;
