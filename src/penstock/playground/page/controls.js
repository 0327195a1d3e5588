// The controls of data and network, made from the choices that the server tells.
import {byId, element, slider} from "./elements.js";
import {colour, sharp} from "./heatmap.js";

const NAMES = {circle: "Circle", xor: "Exclusive or", gauss: "Gauss", spiral: "Spiral", plane: "Plane", hills: "Gauss", tanh: "Tanh", relu: "ReLU", sigmoid: "Sigmoid", elu: "ELU",
               linear: "Linear", none: "None", l1: "L1", l2: "L2", sgd: "Gradient descent", momentum: "Momentum", adagrad: "Adagrad", rmsprop: "RMSProp",
               adam: "Adam", classification: "Classification", regression: "Regression"};
const SELECTS = [["learning_rate", "Learning rate"], ["activation", "Activation"], ["regularization", "Regularisation"],
                 ["regularization_rate", "Regularisation rate"], ["optimizer", "Optimizer"], ["problem", "Problem"]];
const SLIDERS = [["share", "Training data", 10, 90, 10, "%"], ["noise", "Noise", 0, 50, 5, "%"], ["batch", "Batch size", 1, 30, 1, ""]];

// change(key, value) is called with what a person has chosen.
export function makeControls(choices, settings, change) {
  const form = byId("settings");
  form.replaceChildren(...SELECTS.map(([key, label]) => {
    const values = key === "problem" ? Object.keys(choices.data) : choices[key];
    return element("label", {}, element("span", {}, label), element("select", {name: key, onchange: event => change(key, typed(event.target.value, values))},
      ...values.map(value => element("option", {value, selected: value === settings[key]}, NAMES[value] ?? String(value)))));
  }));
  form.onsubmit = event => event.preventDefault();
  byId("sliders").replaceChildren(...SLIDERS.map(([name, label, min, max, step, unit]) =>
    slider(label, value => `${value}${unit}`, value => change(name, value), {name, min, max, step, value: settings[name]})));
  byId("seed").value = settings.seed;
  makeDataSets(choices, settings, change);
}

const typed = (text, values) => values.find(value => String(value) === text);

function makeDataSets(choices, settings, change) {
  const sets = choices.data[settings.problem];
  const group = byId("data");
  group.replaceChildren(group.querySelector("legend"), ...Object.keys(sets).map(name => {
    const canvas = element("canvas", {"aria-hidden": "true"});
    requestAnimationFrame(() => drawPoints(canvas, sets[name], 1.3));
    return element("label", {title: NAMES[name]}, element("input", {type: "radio", name: "data", value: name, checked: name === settings.data,
                                                                   onchange: () => change("data", name)}), canvas, element("span", {}, NAMES[name]));
  }));
}

// Points as dots: [x, y, label]; those of the second list, which are for tests, are rings.
export function drawPoints(canvas, points, radius, rings = []) {
  const context = sharp(canvas), scale = canvas.clientWidth / 12, edge = getComputedStyle(document.documentElement).getPropertyValue("--panel");
  const dot = ([x, y, label], isRing) => {
    context.beginPath();
    context.arc((x + 6) * scale, (6 - y) * scale, isRing ? radius - 0.4 : radius, 0, 7);
    context.fillStyle = isRing ? edge : colour(label);
    context.fill();
    context.lineWidth = isRing ? 1.8 : 1;
    context.strokeStyle = isRing ? colour(label) : edge;
    if (radius > 2) context.stroke();
  };
  points.forEach(point => dot(point, false));
  rings.forEach(point => dot(point, true));
}
