// What is under a board: the graph of its step, the kernels that it becomes, its program, and the operation that was chosen.
import {ask} from "./api.js";
import {byId, element, say, short} from "./elements.js";
import {drawGraph, markOperation} from "./graph.js";

const TABS = ["graph", "kernels", "program"];
let board = null, shown = {}, chosen = null, view = null, onError = () => {};

export function startBelow(fail) {
  onError = fail;
  for (const name of TABS) {
    const tab = byId(`tab-${name}`);
    tab.addEventListener("click", () => open(name));
    tab.addEventListener("keydown", event => {
      const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      if (step) open(TABS[(TABS.indexOf(name) + step + TABS.length) % TABS.length], true);
    });
  }
  byId("operation").append(element("p", {class: "hint"}, "Choose an operation to see its type, shape, device, value and line of Python."));
}

export const openTab = () => TABS.find(name => !byId(name).hidden);

function open(name, focus = false) {
  for (const each of TABS) {
    const tab = byId(`tab-${each}`), isOpen = each === name;
    tab.setAttribute("aria-selected", isOpen);
    tab.tabIndex = isOpen ? 0 : -1;
    byId(each).hidden = !isOpen;
    if (isOpen && focus) tab.focus();
  }
  show(name);
}

// A new board: what is open is asked for again, the rest when it is opened.
export function setBoard(number, text) {
  [board, shown, chosen] = [number, {}, null];
  drawProgram(text);
  byId("operation").replaceChildren(byId("operation").querySelector(".hint") ?? "");
  byId("summary").textContent = "";
  show(openTab());
}

async function show(name) {
  if (shown[name] || name === "program") return;
  if (name === "kernels") byId(name).replaceChildren(element("p", {class: "hint"}, "Measuring …"));
  const number = board;
  try {
    const answer = await ask(name, {board});
    if (number !== board) return;
    if (name === "graph") view = drawGraph(answer, choose);
    else drawKernels(answer);
    shown[name] = true;
  } catch (error) {
    if (number === board) onError(error);
  }
}

// --- one operation ---

export async function choose(name) {
  chosen = name;
  try {
    const operation = await ask("operation", {board, name});
    if (chosen !== name) return;
    drawOperation(operation);
    markOperation(name, [...operation.inputs, ...operation.consumers]);
    view?.reveal(name);
    markLine(operation.line);
    say(`${operation.type} ${operation.name}`);
  } catch (error) {
    onError(error);
  }
}

// After steps: the value of the chosen operation is another.
export const refreshOperation = () => chosen && choose(chosen);

function drawOperation(operation) {
  const links = names => element("span", {class: "names"}, ...names.map(name => element("button", {class: "link", onclick: () => choose(name)}, name)));
  const rows = [["Type", operation.type], ["Output", operation.outputs.join(", ") || "none"], ["Device", operation.device.replace("/job:localhost/replica:0/task:0", "")],
                ["Attributes", Object.entries(operation.attrs).map(([key, value]) => `${key}=${value}`).join(", ")],
                ["Inputs", operation.inputs.length ? links(operation.inputs) : ""], ["Goes to", operation.consumers.length ? links(operation.consumers) : ""]];
  byId("operation").replaceChildren(
    element("h3", {class: operation.phase}, operation.name),
    element("dl", {}, ...rows.filter(([, value]) => value).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
    operation.line ? element("p", {class: "source"}, element("span", {}, `line ${operation.line}`), element("code", {}, operation.code)) : "",
    ...value(operation));
}

function value({note, range, rows, more, shape, broken}) {
  if (!rows) return [element("p", {class: "hint"}, `Value: ${note}`)];
  const ends = range ? `from ${short(range[0])} to ${short(range[2])}, mean ${short(range[1])}` : "";
  return [element("h4", {}, `Value ${note}`), element("p", {class: "hint"}, `[${shape}] ${ends}${broken ? `; ${broken} not finite` : ""}`),
          element("table", {class: "value"}, ...rows.map(row => element("tr", {}, ...row.map(each => element("td", {class: /nan|inf/.test(each) ? "broken" : ""}, each)))),
                  more ? element("tr", {}, element("td", {}, "…")) : "")];
}

// --- kernels ---

function drawKernels({kernels, seconds, arena, runs}) {
  const operations = new Set(kernels.flatMap(kernel => kernel.nodes)).size, longest = Math.max(...kernels.map(kernel => kernel.seconds));
  byId("kernels").replaceChildren(
    element("p", {}, element("strong", {}, `${operations} operations became ${kernels.length} kernels; they take ${micros(seconds)} of a step.`),
            ` The mean of ${runs} steps. ${arena ? `What is between the kernels lies in ${(arena / 1024).toFixed(1)} kB of memory.` : ""}`),
    element("table", {class: "kernels"}, element("thead", {}, element("tr", {}, ...["Kernel", "Time", "Operations in it"].map(name => element("th", {scope: "col"}, name)))),
      element("tbody", {}, ...kernels.map(kernel => kernelRow(kernel, longest)))));
}

function kernelRow(kernel, longest) {
  const bar = element("i", {class: "bar"});
  bar.style.width = `${Math.max(1, 100 * kernel.seconds / longest)}%`;
  return element("tr", {}, element("th", {scope: "row"}, kernel.name), element("td", {class: "time"}, micros(kernel.seconds), bar),
    element("td", {}, element("span", {class: "names"}, ...kernel.nodes.map(name => element("button", {class: "link", onclick: () => choose(name)}, name))),
            kernel.why ? element("span", {class: "why"}, `by NumPy: ${kernel.why}`) : ""));
}

const micros = seconds => seconds < 1e-3 ? `${(seconds * 1e6).toFixed(1)} µs` : `${(seconds * 1e3).toFixed(2)} ms`;

// --- the program ---

const WORDS = /("""[^]*?"""|#.*$|"[^"\n]*"|\b(?:import|as|def|return|with|for|in|while|if|yield|from|True|lambda)\b|\b\d[\d.e-]*\b)/gm;

function drawProgram(text) {
  const lines = text.trimEnd().split("\n").map(line => element("li", {}, ...tinted(line)));
  const copy = element("button", {class: "quiet", onclick: async () => {
    await navigator.clipboard.writeText(text);
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  }}, "Copy");
  byId("program").replaceChildren(element("p", {}, "This program is what trains above. It runs by itself, too, and gives the same numbers as long as nothing is changed on the way: ", element("code", {}, "python playground.py"), " ", copy),
                                  element("ol", {class: "code", "aria-label": "The program"}, ...lines));
}

function* tinted(line) {
  let place = 0;
  for (const match of line.matchAll(WORDS)) {
    yield line.slice(place, match.index);
    const kind = match[0][0] === "#" ? "comment" : match[0][0] === '"' ? "string" : /\d/.test(match[0][0]) ? "number" : "word";
    yield element("span", {class: kind}, match[0]);
    place = match.index + match[0].length;
  }
  yield line.slice(place) || (place ? "" : " ");
}

function markLine(line) {
  document.querySelectorAll("#program li").forEach((item, index) => item.classList.toggle("chosen", index + 1 === line));
}
