// The page: one board, its controls, and the loop that asks for frames while it plays.
import {ask, askFrame} from "./api.js";
import {refreshOperation, replaceBoard, setBoard, startBelow} from "./below.js";
import {clusterRuns, startCluster} from "./cluster.js";
import {drawPoints, makeControls} from "./controls.js";
import {addToCurves, clearCurves, drawCurves} from "./curves.js";
import {byId, keepFocus, say} from "./elements.js";
import {drawPlane, readPalette} from "./heatmap.js";
import {startLook} from "./look.js";
import {Network} from "./network.js";
import {fromAddress, toAddress} from "./state.js";
import {inTurn} from "./turns.js";

const ADDRESS_EVERY = 1000, SAID_EVERY = 5000, MOST_STEPS = 50000;

let choices, state, built = null, board, network, frame, points, playing = false, pointed = null, building = null, saidAt = 0, addressAt = 0, losses = [];

// --- building ---

// One build at a time; if more is changed meanwhile, the last state is built after it.
function build() {
  if (building) {
    building.again = true;
    return;
  }
  building = {again: false};
  building.ended = buildLast();
}

async function buildLast() {
  let problem = null;
  document.body.classList.add("busy");
  await loop.ended;
  try {
    const answer = await replaceBoard({settings: state.settings, changes: state.changes, step: state.step, board});
    board = answer.board;
    frame = await askFrame("advance", {board, steps: 0});
    if (!building.again) showBoard(answer);
  } catch (error) {
    problem = error;
  }
  if (problem && !building.again) {  // an address that makes no sense: the last board, or a plain one, and what was wrong
    state = built ?? fromAddress("", choices.defaults);
    building.again = !built;
  }
  if (building.again) {
    building.again = false;
    await buildLast();
  } else {
    building = null;
    document.body.classList.remove("busy");
    if (playing) loop();
  }
  if (problem) fail(problem);
}

function showBoard(answer) {
  built = state;
  trouble("");
  const train = new Set(answer.train);
  points = {train: answer.points.filter((_, index) => train.has(index)), test: answer.points.filter((_, index) => !train.has(index))};
  byId("editor").hidden = true;
  pointed = null;
  const planes = Object.fromEntries(state.settings.features.map((name, index) => [name, Int8Array.from(answer.features[index])]));
  keepFocus(() => {
    makeControls(choices, current(), changeSetting);
    network = new Network(choices, state.settings, planes, {layers: layers => changeSetting("layers", layers), features: list => changeSetting("features", list), edit, show});
  });
  clearCurves();
  drawOutputPoints();
  draw();
  setBoard(board, answer.program);
  settle();
}

// The settings as they are now: those of the reset, and what was changed since.
function current() {
  const settings = {...state.settings};
  for (const [, key, value] of state.changes) if (key in settings) settings[key] = value;
  return settings;
}

// Rates and the batch size change at once; anything else begins anew.
async function changeSetting(key, value) {
  if (clusterRuns()) return refuseChange();
  if (choices.live.includes(key) && frame.step > 0) return edit(key, value);
  restart({...current(), [key]: value});
}

function refuseChange() {
  byId("editor").hidden = true;
  trouble("Stop the cluster to change the board.");
}

function restart(settings = current()) {
  if (!(settings.data in choices.data[settings.problem])) settings.data = Object.keys(choices.data[settings.problem])[0];
  state = {settings, step: 0, changes: []};
  build();
}

// --- training ---

function loop() {
  loop.ended = (loop.ended ?? Promise.resolve()).then(playOn);
}

// The server computes the next frame while this one is drawn. Ends when a person pauses or changes the board.
async function playOn() {
  const times = [], request = () => askFrame("advance", {board, steps: steps()});
  try {
    for (let next = playing && !building && request(); next;) {
      frame = await next;
      next = playing && !building && frame.step < MOST_STEPS && request();
      await new Promise(requestAnimationFrame);
      draw();
      times.push(performance.now());
      if (times.length > 30) document.body.dataset.frames = (30000 / (times.at(-1) - times.shift())).toFixed(1);
      if (losses.includes(null)) throw new Error("The loss is no longer a number. A smaller learning rate may help; then reset.");
    }
  } catch (error) {
    setPlaying(false);
    fail(error);
  }
  if (!building) settle();
}

// No more than an address may name.
const steps = () => {
  const speed = document.querySelector("input[name=speed]:checked").value;
  return Math.min(MOST_STEPS - frame.step, speed === "epoch" ? frame.epoch_steps : Number(speed));
};

function setPlaying(value) {
  playing = value;
  document.body.classList.toggle("playing", value);
  byId("play").setAttribute("aria-label", value ? "Pause" : "Play");
}

function play() {
  setPlaying(true);
  loop();
}

// Returns when no frame is on its way, and the board is the one that was chosen last.
async function pause() {
  setPlaying(false);
  await loop.ended;
  await building?.ended;
}

// What need not follow every frame.
function settle() {
  setPlaying(playing && frame.step < MOST_STEPS);
  writeAddress();
  network.label();
  refreshOperation();
  report();
}

async function oneStep() {
  await pause();
  if (frame.step < MOST_STEPS) await receive("advance", {steps: 1});
}

async function edit(key, value) {
  if (clusterRuns()) return refuseChange();
  await building?.ended;
  if (await receive("change", {key, value})) state.changes.push([frame.step, key, value]);
  writeAddress();
}

async function receive(name, body) {
  try {
    frame = await inTurn(() => askFrame(name, {board, ...body}));
    draw();
    settle();
    return true;
  } catch (error) {
    fail(error);
    return false;
  }
}

// --- drawing ---

function draw() {
  network.draw(frame);
  drawPlane(byId("heat"), pointed ? pointed() : frame.planes.at(-1)[0], byId("discrete").checked);
  addToCurves(frame.curve);
  losses = frame.curve.at(-1)?.slice(1) ?? losses;
  frame.curve = [];
  drawCurves();
  byId("epoch").textContent = frame.epoch.toLocaleString("en");
  byId("count").textContent = frame.step.toLocaleString("en");
  [byId("train-loss").textContent, byId("test-loss").textContent] = losses.map(loss => loss === null ? "NaN" : loss.toFixed(3));
  if (playing && performance.now() - addressAt > ADDRESS_EVERY) writeAddress();
  if (playing && performance.now() - saidAt > SAID_EVERY) report();
}

function report() {
  saidAt = performance.now();
  say(`Step ${frame.step}, training loss ${byId("train-loss").textContent}, test loss ${byId("test-loss").textContent}`);
}

function drawOutputPoints() {
  const canvas = byId("points"), rings = byId("test-points").checked ? points.test : [];
  drawPoints(canvas, points.train, 3.2, rings);
  canvas.setAttribute("aria-label", `Output of the network, with ${points.train.length} training points and ${rings.length} test points`);
}

function show(name, plane = null) {
  pointed = plane;
  byId("showing").textContent = name ? `shows ${name}` : "";
  if (frame) drawPlane(byId("heat"), pointed ? pointed() : frame.planes.at(-1)[0], byId("discrete").checked);
}

function fail(error) {
  trouble(error.message);
}

function trouble(text) {
  byId("trouble").textContent = text;
}

// --- the address and the look ---

function writeAddress() {
  addressAt = performance.now();
  if (clusterRuns()) return;  // what a cluster has trained cannot be trained again
  state.step = frame.step;
  history.replaceState(null, "", toAddress(state, choices.defaults));
}

function readAddress() {
  state = fromAddress(location.hash, choices.defaults);
  build();
}

function showLook() {
  readPalette();
  if (!network) return;
  keepFocus(() => makeControls(choices, current(), changeSetting));
  network.features.forEach((button, index) => {
    const plane = network.featurePlanes[choices.features[index]];
    if (plane) drawPlane(button.firstChild, plane);
  });
  drawOutputPoints();
  draw();
}

async function share() {
  writeAddress();
  try {
    await navigator.clipboard.writeText(location.href);
  } catch {
    return trouble("The browser does not let this page copy. Copy what stands in its address bar.");
  }
  byId("share").textContent = "Copied";
  say("The address is copied. What follows its # describes the board.");
  setTimeout(() => { byId("share").textContent = "Copy address"; }, 1500);
}

// --- the beginning ---

function listen() {
  byId("play").onclick = () => playing ? pause() : play();
  byId("step").onclick = oneStep;
  byId("reset").onclick = () => restart();
  byId("seed").onchange = event => event.target.checkValidity() && event.target.value !== "" && restart({...current(), seed: Number(event.target.value)});
  byId("share").onclick = share;
  byId("test-points").onchange = drawOutputPoints;
  byId("discrete").onchange = () => show(null);
  const keys = {" ": () => playing ? pause() : play(), s: oneStep, r: () => restart()};
  addEventListener("keydown", event => {
    if (event.target.closest("input, select, button, a, [role=button], [role=dialog]") || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = clusterRuns() ? null : keys[event.key.toLowerCase()];
    if (act) { event.preventDefault(); act(); }
  });
  addEventListener("hashchange", readAddress);
  addEventListener("resize", () => { if (network) { network.place(); drawOutputPoints(); drawCurves(); } });
  document.addEventListener("pointerdown", event => { if (!event.target.closest("#editor, .reach, .neuron")) byId("editor").hidden = true; });
}

async function begin() {
  startLook(showLook);
  listen();
  startBelow(fail);
  startCluster({board: () => board, settings: current, begin: pause, fail, frame: next => { frame = next; draw(); }, end: () => restart()});
  choices = await ask("choices");
  readAddress();
}

begin().catch(fail);
