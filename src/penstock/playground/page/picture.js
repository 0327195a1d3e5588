// What changes in a network with each frame, on one canvas: weights as lines, and the heat maps and biases of neurons.
//
// One canvas, for the time of a frame goes into what the browser has to lay out and paint anew: 350 lines that are elements of the page, and 49
// canvases, take a browser without a GPU 40 ms.
import {colour, fillPlane, sharp} from "./heatmap.js";

const RADIUS = 10, BIAS = 11, RIM = 2, OUT = 3;  // CSS pixels: corners of a neuron, the square of its bias, that square's rim, and how far it stands out

export class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.pointed = null;  // the key of the line that is pointed at
    this.maps = document.createElement("canvas");  // all heat maps, side by side
  }

  // links: [{key, path}] and neurons: [{left, top}] of squares, both in the order of a frame.
  place(links, neurons, size) {
    this.links = links.map(({key, path}) => ({key, path: new Path2D(path)}));
    this.neurons = neurons;
    this.size = size;
  }

  draw(frame) {
    const context = sharp(this.canvas), style = getComputedStyle(this.canvas);
    this.drawLines(context, frame.weights.flat(2), style.getPropertyValue("--accent"));
    this.drawMaps(context, frame.planes.flat());
    this.drawBiases(context, frame.biases.flat(), style.getPropertyValue("--panel"));
  }

  drawLines(context, weights, accent) {
    weights.forEach((weight, index) => {
      const {key, path} = this.links[index], value = weight ?? 0;
      context.strokeStyle = key === this.pointed ? accent : colour(Math.sign(value) * Math.min(1, 0.25 + Math.abs(value)));
      context.lineWidth = Math.max(0.6, Math.min(9, Math.abs(value) * 3.2));
      context.stroke(path);
    });
  }

  drawMaps(context, planes) {
    const side = Math.sqrt(planes[0].length), maps = this.maps;
    if (maps.width !== side || maps.height !== side * planes.length) [maps.width, maps.height] = [side, side * planes.length];
    const image = new ImageData(side, side * planes.length), corners = this.corners(side);
    planes.forEach((plane, index) => fillPlane(image, plane, index * plane.length, corners));
    maps.getContext("2d").putImageData(image, 0, 0);
    this.neurons.forEach(({left, top}, index) => context.drawImage(maps, 0, index * side, side, side, left, top, this.size, this.size));
  }

  // For each point of a map, how much of it lies inside of the rounded corners: all colours, and that much of 255.
  corners(side) {
    if (this.cornersOf === side + this.size) return this.mask;
    const radius = RADIUS * side / this.size, beyond = at => Math.max(0, radius - at - 0.5, at + 0.5 - side + radius);
    this.mask = Uint32Array.from({length: side * side}, (_, index) => {
      const inside = radius - Math.hypot(beyond(index % side), beyond(Math.floor(index / side))) + 0.5;
      return (Math.round(255 * Math.max(0, Math.min(1, inside))) << 24 | 0xffffff) >>> 0;
    });
    this.cornersOf = side + this.size;
    return this.mask;
  }

  drawBiases(context, biases, rim) {
    biases.forEach((bias, index) => {
      const {left, top} = this.neurons[index];
      square(context, left - OUT, top + this.size + OUT - BIAS, BIAS, 3, rim);
      square(context, left - OUT + RIM, top + this.size + OUT - BIAS + RIM, BIAS - 2 * RIM, 1, colour(bias ?? 0));
    });
  }
}

function square(context, left, top, size, radius, fill) {
  context.fillStyle = fill;
  context.beginPath();
  context.roundRect(left, top, size, size, radius);
  context.fill();
}
