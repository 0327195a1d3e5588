// The program's source: lines that have made operations have a dot, which is filled where the program stops.
import {listing, markLine} from "./source.js";

// toggle(line): break there or not; choose(name): show an operation that the line has made.
export function drawSource(panel, source, toggle, choose) {
  const made = line => source.lines[line];
  panel.replaceChildren(listing(source.text, source.file, line => made(line) ? {
    class: "made", tabindex: 0, role: "button", title: `made ${made(line).slice(0, 6).join(", ")}`, "data-line": line,
    onclick: () => { toggle(line); choose(made(line).at(-1)); },
    onkeydown: event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggle(line); choose(made(line).at(-1)); } }} : {"data-line": line}));
}

export function markSource(panel, line, breakpoints, file) {
  const stops = new Set(breakpoints.filter(([kind]) => kind === "line").map(([, where]) => where));
  for (const item of panel.querySelectorAll("li.made")) {
    const isSet = stops.has(`${file}:${item.dataset.line}`);
    item.classList.toggle("stops", isSet);
    item.setAttribute("aria-pressed", isSet);
  }
  for (const item of panel.querySelectorAll("li")) item.classList.toggle("current", Number(item.dataset.line) === line);
  const item = line ? markLine(panel, line) : null;
  if (item) panel.scrollTo({top: item.offsetTop - panel.clientHeight / 2});
}
