// The debugger: follows the program, and tells it how to go on.
import {ask} from "./api.js";
import {byId, element, say} from "./elements.js";
import {drawGraph} from "./graph.js";
import {startLook} from "./look.js";
import {drawSource, markSource} from "./lines.js";
import {drawValue} from "./inspect.js";

const PHASES = {forward: "Forward", gradient: "Gradients", update: "Updates"};
const NAN = "has_inf_or_nan", MOST_LISTED = 400;
let state = {version: null, breakpoints: []}, view = null, drawn = null, values = [], chosen = null, file = null, owner = {};

// --- following the program ---

async function follow() {
  for (;;) {
    try {
      state = await ask("state", {seen: state.version});
    } catch (error) {
      if (state.status !== "ended") showStatus("The program is gone", error.message);
      return;
    }
    await show();
    if (state.status === "ended") return;
  }
}

async function show() {
  const {stop, status} = state, broken = stop?.kind === "error" || (status === "ended" && state.trouble);
  document.body.classList.toggle("stopped", status === "stopped");
  document.body.classList.toggle("failed", Boolean(broken));
  for (const name of ["go", "step", "finish"]) byId(name).disabled = status !== "stopped";
  byId("pause").disabled = status !== "running" || state.paused;
  byId("nan").checked = state.breakpoints.some(([kind, where]) => kind === "filter" && where === NAN);
  const run = state.run ? `Run ${state.run.number}: ${state.run.fetches.slice(0, 3).join(", ")}${state.run.fetches.length > 3 ? " …" : ""}${state.run.feeds.length ? `, fed ${state.run.feeds.join(", ")}` : ""}` : state.program;
  showStatus(headline(), run);
  showFailure();
  showBreakpoints();
  if (status === "stopped") await showStop();
  else byId("inside").textContent = "";
  if (!file && state.run) await openFile(state.program);
}

function headline() {
  const {stop, status} = state;
  if (status === "ended") return state.trouble ? "The program has failed" : `The program has ended with code ${state.code}`;
  if (!stop) return "Running …";
  if (stop.kind === "run") return "Stopped before the run";
  if (stop.kind === "end") return "The run has ended; these are its values";
  if (stop.kind === "error") return `The run has failed${stop.node ? ` at ${stop.node}` : ""}`;
  return `Stopped after ${stop.node}${iteration(stop)}`;
}

const frameName = name => name.replace(/^while_(body|cond)(_\d+)?$/, "the loop");
const iteration = stop => stop.frames?.length ? ` (${stop.frames.map(([name, count]) => `${frameName(name)}, iteration ${count}`).join("; ")})` : "";

function showStatus(text, run) {
  if (byId("status").textContent !== text) say(text);
  byId("status").textContent = text;
  byId("run").textContent = run;
}

function showFailure() {
  const {stop} = state, filter = stop?.kind === "node" && stop.why.startsWith("filter");
  byId("failure").hidden = !(filter || stop?.kind === "error" || state.trouble);
  byId("trouble").textContent = stop?.error ?? (filter ? "" : state.trouble);
  byId("trouble").hidden = !byId("trouble").textContent;
  const place = stop?.line ? `, made at line ${stop.line} of ${stop.file.split("/").at(-1)}: ${stop.code}` : "";
  byId("found").textContent = filter ? `${stop.why === `filter ${NAN}` ? "NaN or infinity" : stop.why} first in ${stop.node}, a ${stop.type}${place}` : stop?.node ? `${stop.node}${place}` : "";
}

// --- the stop ---

async function showStop() {
  const {stop, run} = state, inner = stop.frames?.length ? stop.frames.map(([name]) => name).join() : null, key = `${run.number} ${run.fetches} ${inner}`;
  byId("inside").textContent = stop.frames?.length ? stop.frames.map(([name, count]) => `inside ${frameName(name)}, iteration ${count}`).join(" · ") : "";
  try {
    if (drawn !== key) {
      const graph = await ask("graph", {inside: inner !== null});
      owner = graph.owner;
      view = drawGraph(byId("graph"), graph, name => choose(name), PHASES);
      view.boxes = graph.nodes;
      drawn = key;
    }
    values = (await ask("values")).values;
    showValues();
    markGraph();
    const source = stop.file || file || state.program;
    if (stop.file && source !== file) await openFile(source);
    else if (!file) await openFile(state.program);
    markSource(byId("source"), stop.file === file ? stop.line : 0, state.breakpoints, file);
    if (stop.node) await choose(stop.node);
    else if (chosen) await choose(chosen);
  } catch (error) {
    showStatus("The page could not show it", error.message);
  }
}

function markGraph() {
  if (!view) return;
  const boxOf = name => view.boxes[owner[name]]?.name, broken = new Set(values.filter(([, , bad]) => bad).map(([name]) => boxOf(name.replace(/:\d+$/, ""))));
  const computed = new Set(values.map(([name]) => boxOf(name.replace(/:\d+$/, "")))), stops = new Set(state.breakpoints.filter(([kind]) => kind === "node").map(([, name]) => boxOf(name)));
  for (const {name} of view.boxes) {
    const list = view.node(name).classList;
    list.toggle("bad", broken.has(name));
    list.toggle("computed", computed.has(name));
    list.toggle("stops", stops.has(name));
    list.toggle("current", name === boxOf(state.stop?.node));
  }
}

function showValues() {
  const words = byId("search").value.toLowerCase(), shown = values.filter(([name]) => name.toLowerCase().includes(words)).reverse();
  byId("values").replaceChildren(...(shown.length ? shown.slice(0, MOST_LISTED).map(([name, type, bad]) => element("button", {
    class: `${bad ? "bad" : ""}${name.replace(/:\d+$/, "") === chosen ? " chosen" : ""}`, onclick: () => choose(name.replace(/:\d+$/, ""))}, element("span", {}, name), element("code", {}, type)))
    : [element("p", {class: "hint told"}, values.length ? "There is no such value." : "Nothing has been computed yet: step, or go on to the end of this run.")]));
}

// --- one operation ---

async function choose(name, notes = {}) {
  chosen = name;
  let told = {name, outputs: [`${name}:0`], shapes: [], inputs: [], consumers: [], attrs: {}};
  try {
    told = await ask("operation", {name});
  } catch {  // a node that the runtime has added, or a folded scope
    told.type = "";
  }
  if (chosen !== name) return;
  view?.mark(view.boxes[owner[name]]?.name, [...told.inputs, ...told.consumers].map(each => view.boxes[owner[each]]?.name));
  view?.reveal(view.boxes[owner[name]]?.name);
  byId("breakpoint").hidden = !told.type;
  byId("breakpoint").textContent = isSet("node", name) ? "Do not break here" : "Break here";
  byId("breakpoint").onclick = () => toggle("node", name);
  const link = each => element("button", {class: "link", onclick: () => choose(each)}, each);
  const rows = [["Type", told.type], ["Output", told.shapes.join(", ")], ["Device", told.device], ["Inputs", told.inputs.length ? element("span", {class: "names"}, ...told.inputs.map(link)) : ""],
                ["Goes to", told.consumers.length ? element("span", {class: "names"}, ...told.consumers.slice(0, 12).map(link)) : ""]];
  const parts = [element("h3", {}, name), element("dl", {}, ...rows.filter(([, value]) => value).flatMap(([label, value]) => [element("dt", {}, label), element("dd", {}, value)])),
                 told.line ? element("p", {class: "source"}, element("span", {}, `${told.file.split("/").at(-1)}, line ${told.line}`), element("code", {}, told.code)) : ""];
  for (const output of told.outputs) parts.push(...await drawValue(output, canChange(output), changed, notes[output]));
  if (chosen !== name) return;
  byId("operation").replaceChildren(...parts);
  for (const button of byId("values").querySelectorAll("button")) button.classList.toggle("chosen", button.firstChild.textContent.replace(/:\d+$/, "") === name);
}

function canChange(output) {
  const {stop, run} = state;
  if (state.status !== "stopped" || !values.some(([name]) => name === output)) return false;
  return stop.kind === "run" ? run.feeds.includes(output) : stop.kind === "node" && stop.changeable && output.replace(/:\d+$/, "") === stop.node;
}

async function changed(output) {
  values = (await ask("values")).values;
  showValues();
  markGraph();
  await choose(chosen, {[output]: "The program goes on with this value."});
}

// --- breakpoints ---

const isSet = (kind, where) => state.breakpoints.some(each => each[0] === kind && each[1] === where);

async function toggle(kind, where) {
  try {
    await ask("break", {kind, where});
  } catch (error) {
    showStatus("That is not possible", error.message);
  }
}

function showBreakpoints() {
  byId("breakpoints").replaceChildren(...(state.breakpoints.length ? state.breakpoints.map(([kind, where]) => element("button", {
    title: "Take it away", onclick: () => toggle(kind, where)}, `${kind} ${kind === "line" ? where.split("/").at(-1) : where}`))
    : [element("p", {class: "hint"}, "None. Choose an operation and “Break here”, or a line of the program.")]));
  markGraph();
  if (file) markSource(byId("source"), state.stop?.file === file ? state.stop.line : 0, state.breakpoints, file);
  if (chosen) byId("breakpoint").textContent = isSet("node", chosen) ? "Do not break here" : "Break here";
}

// --- the source ---

async function openFile(name) {
  const source = await ask("source", {file: name});
  file = source.file;
  byId("files").replaceChildren(...source.files.map(each => element("option", {value: each, selected: each === file}, each.split("/").at(-1))));
  drawSource(byId("source"), source, line => toggle("line", `${file}:${line}`), choose);
  markSource(byId("source"), state.stop?.file === file ? state.stop.line : 0, state.breakpoints, file);
}

// --- the beginning ---

async function tell(command) {
  try {
    await ask("command", {command});
  } catch (error) {
    showStatus("That is not possible", error.message);
  }
}

startLook();
for (const name of ["go", "step", "finish", "pause"]) byId(name).onclick = () => tell(name);
byId("nan").onchange = () => toggle("filter", NAN);
byId("search").oninput = showValues;
byId("files").onchange = event => openFile(event.target.value);
const keys = {g: "go", s: "step", e: "finish", p: "pause"};
addEventListener("keydown", event => {
  const command = keys[event.key.toLowerCase()];
  if (!command || event.target.closest("input, select") || event.ctrlKey || event.metaKey || event.altKey || byId(command).disabled) return;
  event.preventDefault();
  tell(command);
});
follow();
