// The page of a cluster: asks for its state once a second while it is seen, and records steps when it is told to.
import {ask, askBytes} from "./api.js";
import {byId, bytes, element, keepFocus, say, table} from "./elements.js";
import {startLook} from "./look.js";
import {drawSparkline} from "./sparkline.js";
import {drawTimeline, taskName} from "./timeline.js";

const EVERY = 1000, PATIENCE = 4, MOST_VARIABLES = 12;
let state = {tasks: []}, recording = null, allVariables = false;

// --- tasks ---

function card(task) {
  const title = element("h3", {}, taskName(task.task), element("code", {}, task.address));
  if (task.state !== "up") return element("div", {class: "card lost"}, title, element("p", {}, `${task.state}: ${task.reason}`));
  const canvas = element("canvas", {role: "img", "aria-label": "Steps per second in the last two minutes"});
  requestAnimationFrame(() => drawSparkline(canvas, task.history ?? []));
  return element("div", {class: "card"}, title,
    element("p", {class: "rate"}, task.steps_per_second.toFixed(1), element("small", {}, ` steps/s · ${task.steps.toLocaleString("en")} in all`)), canvas,
    element("p", {}, `${bytes(task.memory)} memory · ${task.variables.length} variables, ${bytes(sum(task.variables, each => each.bytes))}`),
    element("p", {}, `${task.devices.map(name => name.split("/device:")[1]).join(" ")} · up for ${duration(task.uptime)} · process ${task.pid}`));
}

const sum = (items, amount) => items.reduce((total, item) => total + amount(item), 0);

function duration(seconds) {
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60];
  return hours ? `${hours} h ${minutes} min` : minutes ? `${minutes} min ${rest} s` : `${rest} s`;
}

// --- what they do ---

function show(id, rows, columns, nothing) {
  byId(id).replaceChildren(rows.length ? table(columns, rows) : element("p", {class: "hint"}, nothing));
}

function draw() {
  const up = state.tasks.filter(task => task.state === "up");
  byId("trouble").textContent = state.trouble ?? "";
  byId("target").textContent = state.target ?? "";
  byId("up").textContent = `${up.length}/${state.tasks.length}`;
  byId("rate").textContent = sum(up, task => sum(task.sessions, each => each.steps_per_second)).toFixed(1);
  byId("memory").textContent = bytes(sum(up, task => task.memory));
  byId("size").textContent = bytes(sum(up, task => sum(task.variables, each => each.bytes)));
  byId("tasks").replaceChildren(...[...state.tasks].sort((one, other) => one.task.localeCompare(other.task, "en", {numeric: true})).map(card));
  show("waits", up.flatMap(task => (task.waits ?? []).map(wait => [taskName(task.task), wait.for.startsWith("/job:") ? taskName(wait.for) : wait.for, wait.what,
                                                                   wait.seconds === null ? "" : `${wait.seconds.toFixed(1)} s`])),
       ["Task", "Waits for", "What", "Since "], "No task waits for another right now.");
  show("queues", up.flatMap(task => (task.queues ?? []).map(queue => [element("span", {}, queue.name, fill(queue)), taskName(task.task),
                                                                      `${queue.size}${queue.capacity < 0 ? "" : ` of ${queue.capacity}`}${queue.closed ? ", closed" : ""}`,
                                                                      [[queue.enqueuing, "to enqueue"], [queue.dequeuing, "to dequeue"]].filter(([count]) => count).map(([count, what]) => `${count} ${what}`).join(", ")])),
       ["Queue", "Task", "Elements ", "Waiting"], "There are no queues.");
  show("sessions", up.flatMap(task => task.sessions.map(each => [taskName(task.task), each.session.split("-").at(-1), duration(each.uptime), each.steps.toLocaleString("en"),
                                                                 each.steps_per_second.toFixed(1), String(each.running)])),
       ["Master", "Session", "Open for", "Steps ", "Steps/s ", "Running "], "No session is open.");
  drawVariables(up);
  show("errors", up.flatMap(task => task.errors.map(error => [error.time, taskName(task.task), error.class, error.message.split("\n")[0]]))
                   .sort((one, other) => other[0] - one[0]).map(([time, ...rest]) => [new Date(time * 1000).toLocaleTimeString("en-GB"), ...rest]),
       ["Time", "Task", "Error", "Message"], "There were none.");
}

function fill(queue) {
  if (queue.capacity < 0) return "";
  const bar = element("i");
  bar.style.width = `${100 * queue.size / Math.max(1, queue.capacity)}%`;
  return element("span", {class: "fill", role: "img", "aria-label": `${queue.size} of ${queue.capacity}`}, bar);
}

function drawVariables(up) {
  const all = up.flatMap(task => task.variables.map(each => ({...each, task: taskName(task.task)}))).sort((one, other) => other.bytes - one.bytes);
  const shown = allVariables ? all : all.slice(0, MOST_VARIABLES);
  show("variables", shown.map(each => [each.name, each.task, each.initialized ? `${each.dtype}[${each.shape}]` : "no value", bytes(each.bytes)]),
       ["Variable", "Task", "Shape", "Size "], "There are none.");
  if (shown.length < all.length) byId("variables").append(element("button", {class: "quiet", name: "all-variables", onclick: () => { allVariables = true; draw(); }}, `Show all ${all.length}`));
}

// --- recording ---

async function record() {
  const button = byId("record");
  button.disabled = true;
  byId("recorded").textContent = "Recording …";
  try {
    recording = await ask("record", {steps: Number(byId("steps").value), seconds: PATIENCE});
    drawTimeline(byId("timeline"), recording);
    byId("save").hidden = !recording.bars.length;
    byId("recorded").textContent = `${recording.steps.length} steps of ${new Set(recording.steps.map(step => step.session)).size} sessions${recording.lost.length ? `; no answer from ${recording.lost.map(taskName).join(", ")}` : ""}`;
    say("The timeline is recorded.");
  } catch (error) {
    byId("recorded").textContent = error.message;
  }
  button.disabled = false;
}

async function save() {
  const link = element("a", {href: URL.createObjectURL(new Blob([await askBytes("trace")], {type: "application/json"})), download: "penstock_trace.json"});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// --- the beginning ---

async function follow() {
  for (;;) {
    if (!document.hidden) {
      try {
        state = await ask("state");
        keepFocus(draw);
      } catch (error) {
        byId("trouble").textContent = error.message;
      }
    }
    await new Promise(resolve => setTimeout(resolve, EVERY));
  }
}

startLook(draw);
byId("record").onclick = record;
byId("save").onclick = save;
addEventListener("resize", () => recording && drawTimeline(byId("timeline"), recording));
follow();
