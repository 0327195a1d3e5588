// Steps per second of the last two minutes.
import {sharp} from "./heatmap.js";

const MOST = 120;

export function drawSparkline(canvas, history) {
  const context = sharp(canvas), width = canvas.clientWidth, height = canvas.clientHeight, style = getComputedStyle(canvas);
  const points = history.slice(-MOST), top = Math.max(1, ...points), x = index => width - (points.length - 1 - index) * (width / (MOST - 1)), y = count => 2 + (1 - count / top) * (height - 4);
  context.strokeStyle = style.getPropertyValue("--line");
  context.beginPath();
  context.moveTo(0, height - 1.5);
  context.lineTo(width, height - 1.5);
  context.stroke();
  if (points.length < 2) return;
  context.beginPath();
  points.forEach((count, index) => context.lineTo(x(index), y(count)));
  context.strokeStyle = style.getPropertyValue("--accent");
  context.lineWidth = 1.6;
  context.lineJoin = "round";
  context.stroke();
  context.lineTo(width, height);
  context.lineTo(x(0), height);
  context.globalAlpha = 0.1;
  context.fillStyle = style.getPropertyValue("--accent");
  context.fill();
  context.globalAlpha = 1;
}
