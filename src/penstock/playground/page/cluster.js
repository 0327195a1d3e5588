// The cluster of a board: how many tasks, what each of them does, a click that kills one, a slider that slows one down.
import {ask, askFrame} from "./api.js";
import {byId, bytes, element, keepFocus, say, slider, stepper} from "./elements.js";
import {drawTimeline, taskName} from "./timeline.js";

const MODES = {asynchronous: "Asynchronous", synchronous: "Synchronous", backup: "Synchronous, one backup worker"};
const EVERY = 200, RECORD_EVERY = 5000, MOST_PS = 2, MOST_WORKERS = 4;
const STATES = {running: "running", starting: "is starting", waiting: "is started again", ended: "ended"};
const LOCKED = ".transport, #speed, .seed, #settings, .data, #depth, .header, #cluster-size, #cluster-mode";  // what trains the board alone, or would change a cluster that runs
let wanted = {ps: 1, workers: 2, mode: "asynchronous"}, running = false, page = null, recordedAt = 0, recording = false, cards = {};

// page: {board(), settings(), begin(), frame(frame), end(), fail(error)}.
export function startCluster(given) {
  page = given;
  byId("cluster-mode").replaceChildren(...Object.entries(MODES).map(([value, text]) => element("option", {value}, text)));
  byId("cluster-mode").onchange = event => choose({mode: event.target.value});
  byId("cluster-button").onclick = () => running ? stop() : start();
  choose({});
}

export const clusterRuns = () => running;

function choose(change) {
  wanted = {...wanted, ...change};
  const steppers = [["ps", "ps", MOST_PS], ["workers", wanted.workers === 1 ? "worker" : "workers", MOST_WORKERS]].map(([key, what, most]) =>
    element("div", {class: "stepper"}, ...stepper(`${wanted[key]} ${what}`, what, wanted[key], 1, most, value => choose({[key]: value}))));
  keepFocus(() => byId("cluster-size").replaceChildren(...steppers));
  byId("cluster-mode").value = wanted.mode;
}

async function start() {
  await page.begin();
  busy(true);
  try {
    show(await ask("cluster_start", {board: page.board(), settings: page.settings(), cluster: wanted}));
    running = true;
    recordedAt = performance.now();
    follow();
  } catch (error) {
    byId("cluster-note").textContent = error.message;
  }
  busy(false);
}

async function stop() {
  running = false;
  busy(true);
  try {
    await ask("cluster_stop", {board: page.board()});
  } catch (error) {
    page.fail(error);
  }
  clear();
  busy(false);
  page.end();
}

function clear() {
  running = false;
  cards = {};
  for (const id of ["tasks", "cluster-timeline", "travels", "lines"]) byId(id).replaceChildren();
  byId("cluster-note").textContent = "";
  busy(false);
}

function busy(value) {
  byId("cluster-button").disabled = value;
  byId("cluster-button").textContent = running ? "Stop the cluster" : value ? "…" : "Start the cluster";
  for (const part of document.querySelectorAll(LOCKED)) part.inert = running;
}

async function follow() {
  while (running) {
    try {
      const frame = await askFrame("cluster_frame", {board: page.board()});
      if (!running) return;
      page.frame(frame);
      show(frame.cluster);
      if (!recording && !frame.cluster.trouble && performance.now() - recordedAt > RECORD_EVERY) record();
    } catch (error) {
      clear();
      page.fail(error);
      return;
    }
    await new Promise(resolve => setTimeout(resolve, EVERY));
  }
}

// --- tasks ---

function show(cluster) {
  byId("cluster-note").textContent = cluster.trouble;
  if (Object.keys(cards).join() !== cluster.tasks.map(task => task.name).join()) {
    cards = Object.fromEntries(cluster.tasks.map(task => [task.name, card(task)]));
    byId("tasks").replaceChildren(...Object.values(cards).map(each => each.box));
  }
  for (const task of cluster.tasks) update(cards[task.name], task);
  showLines(cluster.lines.join("\n"));
}

// The newest lines stay in sight, unless a person has scrolled back.
function showLines(text) {
  const panel = byId("lines"), atEnd = panel.scrollTop + panel.clientHeight >= panel.scrollHeight - 4;
  if (panel.textContent === text) return;
  panel.textContent = text;
  if (atEnd) panel.scrollTop = panel.scrollHeight;
}

function card(task) {
  const parts = {state: element("span", {class: "state"}), numbers: element("dl", {class: "numbers"}), restarts: element("span", {class: "hint"})};
  const kill = element("button", {class: "quiet kill", onclick: () => act("cluster_kill", {task: task.name}, `${task.name} is killed`)}, "Kill");
  const title = element("h3", {}, task.name, task.chief ? element("small", {}, " chief") : "", kill);
  parts.box = element("div", {class: `task ${task.job}`}, title, parts.state, " ", parts.restarts, task.job === "ps" ? element("p", {class: "hint"}, "keeps the variables") : parts.numbers);
  if (task.job === "worker") {
    parts.box.append(slider("Slow it down", pause => pause ? `pauses ${pause} ms` : "as fast as it can", pause => act("cluster_slow", {worker: task.index, seconds: pause / 1000}),
                            {min: 0, max: 1000, step: 20, value: 0, "aria-label": `How long ${task.name} pauses after each step`}));
  }
  return parts;
}

function update(parts, task) {
  parts.box.dataset.state = task.state;
  parts.state.textContent = STATES[task.state] ?? task.state;
  parts.restarts.textContent = task.restarts ? `· started again ${task.restarts === 1 ? "once" : `${task.restarts} times`}` : "";
  const numbers = task.job === "ps" ? [] : [["Steps", task.steps.toLocaleString("en")], ["Staleness", task.staleness], ["Worst", task.worst],
                                            ["ms/step", task.seconds ? (1000 * task.seconds).toFixed(0) : "–"]];
  parts.numbers.replaceChildren(...numbers.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, String(value)))));
}

async function act(name, body, text = "") {
  try {
    await ask(name, {board: page.board(), ...body});
    if (text) say(text);
  } catch (error) {
    page.fail(error);
  }
}

// --- what they did ---

async function record() {
  recording = true;
  try {
    const told = await ask("cluster_record", {board: page.board()});
    if (told.trouble) throw new Error(told.trouble);
    if (running && told.bars.length) {
      drawTimeline(byId("cluster-timeline"), told);
      byId("travels").replaceChildren(element("span", {}, "In a step: "), ...told.travels.map(([what, device, size]) =>
        element("span", {class: "travel"}, `${what} → ${taskName(device)} ${bytes(Math.round(size))}`)));
    }
  } catch {  // a task is gone: the note above says so
    byId("travels").textContent = "No timeline now: a task does not answer.";
  }
  recording = false;
  recordedAt = performance.now();
}
