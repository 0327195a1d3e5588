// The curves of training and test loss.
import {byId, short} from "./elements.js";
import {sharp} from "./heatmap.js";

const MOST = 1200;
let points = [];

export function clearCurves() {
  points = [];
}

export function addToCurves(more) {
  points.push(...more);
  if (points.length > MOST) points = points.filter((_, index) => index % 2 === 0 || index === points.length - 1);
}

export function drawCurves() {
  const canvas = byId("curves"), context = sharp(canvas), width = canvas.clientWidth, height = canvas.clientHeight;
  const finite = points.filter(point => point[1] !== null && point[2] !== null);
  if (!finite.length) return;
  const style = getComputedStyle(canvas), last = Math.max(1, finite.at(-1)[0]);
  const top = Math.max(0.01, ...finite.map(point => Math.max(point[1], point[2])));
  const x = step => 2 + step / last * (width - 8), y = loss => 6 + (1 - loss / top) * (height - 12);
  context.strokeStyle = style.getPropertyValue("--line");
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(0, y(0) + 0.5);
  context.lineTo(width, y(0) + 0.5);
  context.stroke();
  [["--quiet", 1], ["--accent", 2]].forEach(([name, column]) => {
    context.strokeStyle = context.fillStyle = style.getPropertyValue(name);
    context.lineWidth = 1.8;
    context.lineJoin = "round";
    context.beginPath();
    finite.forEach((point, index) => context[index ? "lineTo" : "moveTo"](x(point[0]), y(point[column])));
    context.stroke();
    context.beginPath();
    context.arc(x(finite.at(-1)[0]), y(finite.at(-1)[column]), 2.6, 0, 7);
    context.fill();
  });
  context.fillStyle = style.getPropertyValue("--quiet");
  context.font = `11px ${style.fontFamily}`;
  context.textAlign = "right";
  context.fillText(short(top), width - 2, 12);
}
