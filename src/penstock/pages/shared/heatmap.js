// Values between -1 and 1 as colours, from the palette of the style sheet.

let table = new Uint8ClampedArray(255 * 4);

// Reads the palette again: after the look has changed.
export function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const [negative, zero, positive] = ["--negative", "--zero", "--positive"].map(name => parse(style.getPropertyValue(name)));
  for (let value = -127; value <= 127; value++) {
    const share = Math.abs(value / 127) ** 0.9, end = value < 0 ? negative : positive;
    for (let part = 0; part < 3; part++) table[(value + 127) * 4 + part] = zero[part] + (end[part] - zero[part]) * share;
    table[(value + 127) * 4 + 3] = 255;
  }
}

function parse(colour) {
  const text = colour.trim().slice(1);
  return [0, 2, 4].map(start => parseInt(text.slice(start, start + 2), 16));
}

export function colour(value) {
  const start = (Math.round(Math.max(-1, Math.min(1, value)) * 127) + 127) * 4;
  return `rgb(${table[start]} ${table[start + 1]} ${table[start + 2]})`;
}

// Draws a plane of bytes; the browser smooths it to the size of the canvas.
export function drawPlane(canvas, plane, discrete = false) {
  const size = Math.sqrt(plane.length);
  if (canvas.width !== size) canvas.width = canvas.height = size;
  const context = canvas.getContext("2d"), image = context.createImageData(size, size);
  fillPlane(image, discrete ? plane.map(value => value < 0 ? -127 : 127) : plane);
  context.putImageData(image, 0, 0);
}

// The colours of a plane, from a point of an image on; a mask says which bits of each colour to keep.
export function fillPlane(image, plane, start = 0, mask = null) {
  const pixels = new Uint32Array(image.data.buffer, 4 * start, plane.length), colours = new Uint32Array(table.buffer);
  for (let index = 0; index < plane.length; index++) pixels[index] = colours[Math.max(plane[index], -127) + 127] & (mask ? mask[index] : -1);
}

// Makes the pixels of a canvas those of the screen; returns its context, in CSS pixels.
export function sharp(canvas) {
  const scale = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}
