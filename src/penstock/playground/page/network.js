// The network: a column of features, one of neurons per hidden layer, the output; lines between them are weights.
import {byId, element, short, stepper, svg} from "./elements.js";
import {drawPlane} from "./heatmap.js";
import {Picture} from "./picture.js";
import {hideTip, showTip} from "./tip.js";

const FEATURES = {x: "x", y: "y", x2: "x²", y2: "y²", xy: "x·y", sinx: "sin x", siny: "sin y"};
const ROW = 52, TOP = 44, LEAST_GAP = 44, EDGE = 6, HEADER = 136;

// One network. `actions`: layers(list), features(list), edit(key, value), show(name, plane or null).
export class Network {
  constructor(choices, settings, featurePlanes, actions) {
    Object.assign(this, {choices, settings, actions, featurePlanes});
    this.sizes = [...settings.layers, 1];
    this.root = byId("network");
    byId("depth").replaceChildren(...stepper(count(settings.layers.length, "hidden layer"), "hidden layers", settings.layers.length, 0, choices.most_layers, depth =>
      actions.layers(depth > settings.layers.length ? [...settings.layers, settings.layers.at(-1) ?? 4] : settings.layers.slice(0, depth))));
    const canvas = element("canvas", {class: "lines", "aria-hidden": "true"});
    this.picture = new Picture(canvas);
    this.reaches = svg("svg", {class: "lines", "aria-hidden": "true"});  // what can be pointed at: nothing of it is seen
    this.features = choices.features.map(name => this.makeFeature(name));
    this.neurons = this.sizes.map((size, layer) => Array.from({length: size}, (_, index) => this.makeNeuron(layer, index)));
    this.headers = settings.layers.map((size, layer) => element("div", {class: "stepper header"},
      ...stepper(count(size, "neuron"), `neurons in layer ${layer + 1}`, size, 1, choices.most_neurons, neurons => actions.layers(settings.layers.with(layer, neurons)))));
    this.root.replaceChildren(canvas, this.reaches, ...this.features, ...this.headers, ...this.neurons.flat());
    this.place();
  }

  makeFeature(name) {
    const on = this.settings.features.includes(name), canvas = element("canvas", {"aria-hidden": "true"});
    const button = element("button", {class: "node feature", "aria-pressed": String(on), "aria-label": `Feature ${FEATURES[name]}`,
      onclick: () => {
        const chosen = on ? this.settings.features.filter(each => each !== name) : [...this.settings.features, name];
        if (chosen.length) this.actions.features(this.choices.features.filter(each => chosen.includes(each)));
      }}, canvas, element("span", {}, FEATURES[name]));
    const plane = this.featurePlanes[name];
    if (plane) {
      drawPlane(canvas, plane);
      this.showWhenPointedAt(button, `feature ${FEATURES[name]}`, () => plane);
    }
    return button;
  }

  makeNeuron(layer, index) {
    const button = element("button", {class: "node neuron", "aria-haspopup": "dialog", onclick: () => this.openEditor(layer, index, null)});
    button.dataset.neuron = `${layer}.${index}`;
    this.showWhenPointedAt(button, this.nameOf(layer, index), () => this.frame?.planes[layer][index]);
    return button;
  }

  showWhenPointedAt(button, name, plane) {
    for (const kind of ["pointerenter", "focus"]) button.addEventListener(kind, () => plane() && this.actions.show(name, plane));
    for (const kind of ["pointerleave", "blur"]) button.addEventListener(kind, () => this.actions.show(null));
  }

  nameOf(layer, index) {
    return layer === this.sizes.length - 1 ? "the output" : `neuron ${index + 1} of layer ${layer + 1}`;
  }

  sourceOf(layer, row) {
    return layer === 0 ? FEATURES[this.settings.features[row]] : `neuron ${row + 1}`;
  }

  // Puts all in its place, for the width at hand, and makes the lines.
  place() {
    const columns = this.sizes.length + 1;
    const node = this.features[0].offsetWidth, width = Math.max(this.root.parentElement.clientWidth - 2 * EDGE, columns * (node + LEAST_GAP) - LEAST_GAP);
    const height = TOP + ROW * Math.max(this.choices.features.length, ...this.sizes);
    Object.assign(this.root.style, {width: `${width}px`, height: `${height}px`});
    const x = column => column / (columns - 1) * (width - node);
    this.root.classList.toggle("narrow", x(1) < HEADER);  // then a header is a number, without its word
    const y = (row, rows) => TOP + (height - TOP - rows * ROW) / 2 + row * ROW;
    const put = (button, left, top) => Object.assign(button.style, {left: `${left}px`, top: `${top}px`});
    this.features.forEach((button, row) => put(button, 0, y(row, this.features.length)));
    this.neurons.forEach((list, layer) => list.forEach((button, row) => put(button, x(layer + 1), y(row, list.length))));
    this.headers.forEach((header, layer) => put(header, x(layer + 1) + node / 2, 0));
    const end = (column, row) => {
      if (column > 0) return [x(column), y(row, this.sizes[column - 1])];
      return [0, y(this.choices.features.indexOf(this.settings.features[row]), this.features.length)];
    };
    const widths = [this.settings.features.length, ...this.sizes];
    const links = this.sizes.flatMap((size, layer) => Array.from({length: widths[layer] * size}, (_, index) => {
      const row = Math.floor(index / size), column = index % size, [x0, y0] = end(layer, row), [x1, y1] = end(layer + 1, column);
      const from = x0 + node, middle = (from + x1) / 2, half = node / 2;
      return {layer, row, column, key: `w${layer}.${row}.${column}`, path: `M${from} ${y0 + half}C${middle} ${y0 + half} ${middle} ${y1 + half} ${x1} ${y1 + half}`};
    }));
    this.picture.place(links, this.sizes.flatMap((size, layer) => Array.from({length: size}, (_, row) => ({left: x(layer + 1), top: y(row, size)}))), node);
    this.reaches.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.reaches.replaceChildren(...links.map(link => this.makeReach(link)));
    if (this.frame) this.draw(this.frame);
  }

  makeReach({layer, row, column, key, path}) {
    const point = (key, event) => {
      tell(key && `${this.sourceOf(layer, row)} → ${this.nameOf(layer, column)}: ${short(this.frame.weights[layer][row][column])}`, event);
      if (key === this.picture.pointed) return;
      this.picture.pointed = key;
      this.picture.draw(this.frame);
    };
    return svg("path", {d: path, class: "reach", "data-weight": key, onpointermove: event => point(key, event), onpointerleave: () => point(null),
                        onclick: () => { point(null); this.openEditor(layer, column, row); }});
  }

  draw(frame) {
    this.frame = frame;
    this.picture.draw(frame);
    this.fillEditor();
  }

  // Names change rarely, so screen readers are not told of every frame.
  label() {
    this.neurons.forEach((list, layer) => list.forEach((button, index) => {
      const bias = this.frame.biases[layer][index], name = this.nameOf(layer, index);
      button.setAttribute("aria-label", `${name[0].toUpperCase()}${name.slice(1)}, bias ${short(bias)}: edit its weights`);
    }));
  }

  // --- the editor of a neuron's weights ---

  openEditor(layer, index, row) {
    const editor = byId("editor"), opener = this.neurons[layer][index], name = this.nameOf(layer, index);
    const field = (key, label) => element("label", {}, element("span", {}, label), element("input", {type: "number", step: "any", name: key,
      onchange: event => event.target.value !== "" && this.actions.edit(key, Number(event.target.value))}));
    const rows = this.frame.weights[layer].map((_, from) => field(`w${layer}.${from}.${index}`, `from ${this.sourceOf(layer, from)}`));
    const close = () => { editor.hidden = true; opener.focus(); };
    editor.replaceChildren(element("div", {class: "title"}, element("h3", {id: "editor-title"}, `Weights of ${name}`),
                                   element("button", {class: "quiet", "aria-label": "Close", onclick: close}, "✕")), ...rows, field(`b${layer}.${index}`, "bias"));
    editor.onkeydown = event => { if (event.key === "Escape") close(); };
    editor.hidden = false;
    const place = opener.getBoundingClientRect(), size = editor.getBoundingClientRect();
    editor.style.left = `${Math.max(8, Math.min(innerWidth - size.width - 8, place.right + 12)) + scrollX}px`;
    editor.style.top = `${Math.max(8, Math.min(innerHeight - size.height - 8, place.top - 20)) + scrollY}px`;
    this.fillEditor();
    const chosen = editor.querySelectorAll("input")[row ?? rows.length];
    chosen.focus();
    chosen.select();
  }

  fillEditor() {
    const editor = byId("editor");
    if (editor.hidden) return;
    for (const input of editor.querySelectorAll("input")) {
      if (input === document.activeElement) { if (input.value !== "") continue; }
      const [layer, ...place] = input.name.slice(1).split(".").map(Number);
      const value = input.name[0] === "w" ? this.frame.weights[layer]?.[place[0]]?.[place[1]] : this.frame.biases[layer]?.[place[0]];
      if (value !== undefined) input.value = value === null ? "" : Number(value.toFixed(4));
    }
  }
}

const count = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;

function tell(text, event) {
  if (text === null) hideTip();
  else showTip(text, event);
}
