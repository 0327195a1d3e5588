// What several devices did, on one time axis: a lane for each, a bar for all that ran. What was received is drawn lighter: a device waited for it.
import {bytes, element, micros, svg} from "./elements.js";
import {hint} from "./tip.js";

const ROW = 15, GAP = 9, LEFT = 150, RIGHT = 16, TOP = 22, LABEL = 40, MOST_BARS = 6000;

// recording: {bars: [[start, length, node, type, bytes, device, lane, step]], lanes: {device: rows}, length}, times in microseconds.
export function drawTimeline(panel, recording) {
  if (!recording.bars.length) {
    panel.replaceChildren(element("p", {class: "hint"}, "No step ran in that time."));
    return;
  }
  const width = Math.max(640, panel.clientWidth), scale = (width - LEFT - RIGHT) / recording.length, tops = {};
  let height = TOP;
  for (const [device, rows] of Object.entries(recording.lanes)) {
    tops[device] = height;
    height += rows * ROW + GAP;
  }
  const lanes = Object.entries(recording.lanes).flatMap(([device, rows]) => [
    svg("rect", {class: "lane", x: LEFT, y: tops[device] - 2, width: width - LEFT - RIGHT, height: rows * ROW + 4, rx: 5}),
    svg("text", {x: 0, y: tops[device] + 11}, taskName(device))]);
  const bars = longest(recording.bars).map(([start, length, node, type, size, device, lane, step]) => {
    const travels = type === "_Recv";
    return hint(svg("rect", {class: `bar${travels ? " travel" : step % 2 ? " odd" : ""}`, x: LEFT + start * scale, y: tops[device] + lane * ROW, width: Math.max(1, length * scale),
                             height: ROW - 3, rx: 2, "data-node": node}),
                `${travels ? "waits for" : type === "_Region" ? "native kernels of" : type} ${node}: ${micros(length / 1e6)}${size ? `, ${bytes(size)}` : ""}${step >= 0 ? `, step ${step + 1}` : ""}`);
  });
  const picture = svg("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
                              "aria-label": `Timeline of ${Object.keys(recording.lanes).length} devices over ${micros(recording.length / 1e6)}`},
                      ...ticks(recording.length, scale, height), ...lanes, ...bars);
  panel.replaceChildren(element("div", {class: "timeline"}, picture));
}

// "worker 0" for /job:worker/replica:0/task:0/device:CPU:0; other devices than the first are named.
export function taskName(device) {
  const [, job, task, rest] = /job:(\w+).*?task:(\d+)(?:\/device:)?(.*)/.exec(device) ?? [null, device, "", ""];
  return `${job} ${task}${rest && rest !== "CPU:0" ? ` ${rest}` : ""}`;
}

// The browser draws some thousand bars with ease; the shortest are left out if there are more.
const longest = bars => bars.length <= MOST_BARS ? bars : [...bars].sort((one, other) => other[1] - one[1]).slice(0, MOST_BARS);

function* ticks(length, scale, height) {
  const rough = length / 6, power = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].map(each => each * power).find(each => each >= rough);
  for (let time = 0; time <= length; time += step) {
    const x = LEFT + time * scale;
    yield svg("path", {class: "tick", d: `M${x} 16V${height}`});
    if ((length - time) * scale > LABEL || !time) yield svg("text", {x: x + 3, y: 12}, time ? micros(time / 1e6) : "0");
  }
}
