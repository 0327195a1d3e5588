// Elements from a few words.

// element("button", {class: "round", onclick: run}, "Run"): properties that begin with "on" are listeners, null ones are left out.
export function element(name, properties = {}, ...children) {
  return fill(document.createElement(name), properties, children);
}

export function svg(name, properties = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), properties, children);
}

function fill(node, properties, children) {
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}

export const byId = id => document.getElementById(id);

// "− 4 neurons +": two buttons around a text.
export function stepper(text, what, value, least, most, change) {
  const button = (sign, step, word) => element("button", {class: "sign", "aria-label": `${word} ${what}`, disabled: value + step < least || value + step > most,
                                                         "data-step": step, onclick: () => change(value + step)}, sign);
  return [button("−", -1, "Fewer"), element("span", {}, text), button("+", 1, "More")];
}

// A slider, with its label and its value as text(value) above it; change(value) is called when it is let go.
export function slider(label, text, change, properties) {
  const shown = element("b", {}, text(properties.value));
  const tell = event => {
    shown.textContent = text(Number(event.target.value));
    event.target.setAttribute("aria-valuetext", shown.textContent);
  };
  const input = element("input", {type: "range", "aria-label": label, "aria-valuetext": shown.textContent, ...properties, oninput: tell,
                                  onchange: event => change(Number(event.target.value))});
  return element("label", {class: "slider"}, element("span", {}, label, shown), input);
}

// Draws controls anew, and gives the focus back to the control that had it; if that is disabled now, to the one beside it.
export function keepFocus(draw) {
  const held = document.activeElement, label = held?.getAttribute("aria-label");
  const selector = held?.name ? `[name="${held.name}"]${held.type === "radio" ? `[value="${held.value}"]` : ""}` : label ? `[aria-label=${JSON.stringify(label)}]` : null;
  draw();
  if (!selector || held.isConnected) return;
  const next = document.querySelector(selector);
  (next?.disabled ? next.parentElement.querySelector("button:enabled") : next)?.focus({preventScroll: true});
}

// Says something to screen readers.
export function say(text) {
  byId("said").textContent = text;
}

export const short = value => value === null ? "not a number" : Math.abs(value) >= 1000 ? value.toExponential(1) : Number(value.toFixed(Math.abs(value) < 10 ? 3 : 1)).toString();

export const micros = seconds => seconds < 1e-3 ? `${Number((seconds * 1e6).toFixed(1))} µs` : seconds < 1 ? `${Number((seconds * 1e3).toFixed(2))} ms` : `${Number(seconds.toFixed(2))} s`;

export function bytes(count) {
  let unit = 0;
  for (; count >= 1024 && unit < 4; unit++) count /= 1024;
  return `${unit ? count.toFixed(1) : count} ${["B", "KiB", "MiB", "GiB", "TiB"][unit]}`;
}

// A table: names of columns, rows of texts or elements. Columns whose name ends with a space are numbers.
export function table(columns, rows) {
  const kind = index => columns[index].endsWith(" ") ? {class: "amount"} : {};
  return element("table", {class: "table"}, element("thead", {}, element("tr", {}, ...columns.map(name => element("th", {scope: "col"}, name.trim())))),
                 element("tbody", {}, ...rows.map(row => element("tr", {}, ...row.map((cell, index) => element("td", kind(index), cell))))));
}
