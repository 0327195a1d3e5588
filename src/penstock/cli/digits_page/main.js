// A page that reads digits: strokes become the 8x8 pixels that the model was trained on, and the model answers at every move.
import { load } from "./digits.js";

const DOTS = 32, PIXELS = 8, BLOCK = DOTS / PIXELS; // the data set: scans of 32x32 dots, in which the inked dots of 4x4 blocks were counted
const PEN = 4.2; // dots: about the pen that its authors used

const element = id => document.getElementById(id);
const paper = element("paper"), pen = paper.getContext("2d"), seen = element("seen").getContext("2d");
const scan = Object.assign(document.createElement("canvas"), { width: DOTS, height: DOTS });
const dots = scan.getContext("2d", { willReadFrequently: true });
let strokes = [], drawing = false, model;

const bars = [...Array(10).keys()].map(digit => {
    const row = document.createElement("li"), bar = document.createElement("i"), share = document.createElement("b");
    row.append(String(digit), bar, share);
    element("bars").append(row);
    return { bar, share };
});

// The strokes as the data set has digits: as high as the scan, in its middle.
export function pixelsOf(strokes) {
    const points = strokes.flat();
    const [left, right] = extent(points.map(point => point.x)), [top, bottom] = extent(points.map(point => point.y));
    const scale = (DOTS - PEN) / Math.max(right - left, bottom - top, 1);
    const place = point => [(point.x - (left + right) / 2) * scale + DOTS / 2, (point.y - (top + bottom) / 2) * scale + DOTS / 2];
    dots.clearRect(0, 0, DOTS, DOTS);
    draw(dots, strokes, PEN, place, "#000");
    const ink = dots.getImageData(0, 0, DOTS, DOTS).data, pixels = new Float32Array(PIXELS * PIXELS);
    for (let y = 0; y < DOTS; y++) {
        for (let x = 0; x < DOTS; x++) {
            pixels[Math.floor(y / BLOCK) * PIXELS + Math.floor(x / BLOCK)] += ink[4 * (y * DOTS + x) + 3] / 255 / BLOCK ** 2;
        }
    }
    return pixels;
}

const extent = values => [Math.min(...values), Math.max(...values)];

function draw(context, strokes, width, place, colour) {
    Object.assign(context, { lineWidth: width, lineCap: "round", lineJoin: "round", strokeStyle: colour });
    for (const stroke of strokes) {
        context.beginPath();
        stroke.forEach((point, index) => index ? context.lineTo(...place(point)) : context.moveTo(...place(point)));
        if (stroke.length === 1) context.lineTo(...place(stroke[0]));
        context.stroke();
    }
}

function show() {
    pen.clearRect(0, 0, paper.width, paper.height);
    draw(pen, strokes, 18, point => [point.x, point.y], "#1c2430");
    const pixels = strokes.length ? pixelsOf(strokes) : new Float32Array(PIXELS * PIXELS);
    const picture = seen.createImageData(PIXELS, PIXELS);
    pixels.forEach((value, index) => picture.data.set([0, 0, 0, 255 * value], 4 * index));
    seen.putImageData(picture, 0, 0);
    if (!model || !strokes.length) return tell(null);
    const start = performance.now();
    const { probabilities } = model.run({ images: pixels });
    element("time").textContent = `${((performance.now() - start) * 1000).toFixed(0)} µs for a step, in WebAssembly`;
    tell(probabilities);
}

function tell(probabilities) {
    const best = probabilities ? probabilities.indexOf(Math.max(...probabilities)) : -1;
    element("answer").textContent = best < 0 ? "" : String(best);
    bars.forEach(({ bar, share }, digit) => {
        bar.style.transform = `scaleX(${probabilities ? probabilities[digit] : 0})`;
        share.textContent = probabilities ? `${(100 * probabilities[digit]).toFixed(1)} %` : "";
    });
}

function pointOf(event) {
    const box = paper.getBoundingClientRect();
    return { x: (event.clientX - box.left) * paper.width / box.width, y: (event.clientY - box.top) * paper.height / box.height };
}

function clear() {
    strokes = [];
    show();
}

paper.addEventListener("pointerdown", event => {
    drawing = true;
    paper.setPointerCapture(event.pointerId);
    strokes.push([pointOf(event)]);
    show();
});
paper.addEventListener("pointermove", event => {
    if (!drawing) return;
    strokes.at(-1).push(pointOf(event));
    show();
});
for (const name of ["pointerup", "pointercancel"]) paper.addEventListener(name, () => { drawing = false; });
element("clear").addEventListener("click", clear);
addEventListener("keydown", event => { if (event.key === "Escape") clear(); });

try {
    model = await load();
    document.body.dataset.ready = "true";
} catch (error) {
    element("trouble").textContent = `The model could not be loaded: ${error.message}`;
}
show();
