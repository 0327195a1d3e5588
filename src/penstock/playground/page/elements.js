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

// Says something to screen readers.
export function say(text) {
  byId("said").textContent = text;
}

export const short = value => value === null ? "not a number" : Math.abs(value) >= 1000 ? value.toExponential(1) : Number(value.toFixed(Math.abs(value) < 10 ? 3 : 1)).toString();
