// What is under a board: the graph of its step, the kernels that it becomes, its program, and the operation that was chosen.
import {ask} from "./api.js";
import {byId, element, micros, say} from "./elements.js";
import {drawGraph} from "./graph.js";
import {listing, markLine} from "./source.js";
import {inTurn} from "./turns.js";
import {valueTable} from "./value.js";

const TABS = ["graph", "kernels", "program"], PHASES = {forward: "Forward", gradient: "Gradients", update: "Updates"};
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

const openTab = () => TABS.find(name => !byId(name).hidden);

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

// Undefined where another board has come before it was this question's turn, or is about to be shown.
function askAboutBoard(name, body = {}) {
  const number = board;
  return inTurn(() => number !== null && number === board ? ask(name, {board, ...body}) : undefined);
}

// The board that is shown ends with this answer.
export function replaceBoard(body) {
  return inTurn(async () => {
    const answer = await ask("build", body);
    board = null;
    return answer;
  });
}

// A new board: what is open is asked for again, the rest when it is opened.
export function setBoard(number, text) {
  [board, shown, chosen] = [number, {}, null];
  drawProgram(text);
  byId("operation").replaceChildren(byId("operation").querySelector(".hint") ?? "");
  show(openTab());
}

async function show(name) {
  if (shown[name] || name === "program") return;
  if (name === "kernels") byId(name).replaceChildren(element("p", {class: "hint"}, "Measuring …"));
  const number = board;
  try {
    const answer = await askAboutBoard(name);
    if (!answer || number !== board) return;
    if (name === "graph") view = drawGraph(byId(name), answer, choose, PHASES);
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
    const operation = await askAboutBoard("operation", {name});
    if (!operation || chosen !== name) return;
    drawOperation(operation);
    view?.mark(name, [...operation.inputs, ...operation.consumers]);
    view?.reveal(name);
    markLine(byId("program"), operation.line);
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

function value({note, ...told}) {
  return told.rows ? [element("h4", {}, `Value ${note}`), ...valueTable(told)] : [element("p", {class: "hint"}, `Value: ${note}`)];
}

// --- kernels ---

function drawKernels({kernels, seconds, arena, runs}) {
  const operations = new Set(kernels.flatMap(kernel => kernel.nodes)).size, longest = Math.max(...kernels.map(kernel => kernel.seconds));
  byId("kernels").replaceChildren(
    element("p", {}, element("strong", {}, `${operations} operations became ${kernels.length} kernels; they take ${micros(seconds)} of a step.`),
            ` The mean of ${runs} steps. ${arena ? `What is between the kernels lies in ${(arena / 1024).toFixed(1)} kB of memory.` : ""}`),
    element("table", {class: "table"}, element("thead", {}, element("tr", {}, ...["Kernel", "Time", "Operations in it"].map(name => element("th", {scope: "col"}, name)))),
      element("tbody", {}, ...kernels.map(kernel => kernelRow(kernel, longest)))));
}

function kernelRow(kernel, longest) {
  const bar = element("i", {class: "bar"});
  bar.style.width = `${Math.max(1, 100 * kernel.seconds / longest)}%`;
  return element("tr", {}, element("th", {scope: "row"}, kernel.name), element("td", {class: "time"}, micros(kernel.seconds), bar),
    element("td", {}, element("span", {class: "names"}, ...kernel.nodes.map(name => element("button", {class: "link", onclick: () => choose(name)}, name))),
            kernel.why ? element("span", {class: "why"}, `by NumPy: ${kernel.why}`) : ""));
}

// --- the program ---

function drawProgram(text) {
  const copy = element("button", {class: "quiet", onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      return onError(new Error("The browser does not let this page copy. Select the lines, and copy those."));
    }
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  }}, "Copy");
  byId("program").replaceChildren(element("p", {}, "This program is what trains above. It runs by itself, too, and gives the same numbers as long as nothing is changed on the way: ", element("code", {}, "python playground.py"), " ", copy),
                                  listing(text, "The program"));
}
