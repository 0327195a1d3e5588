// The graph of a step: scopes as boxes, operations coloured by the part of the step that they belong to.
import {element, svg} from "./elements.js";

const LEAST = 0.05, MOST = 3, MARGIN = 24;

// choose(name) is called with the operation that a person has chosen; phases: {class: what the legend calls it}.
export function drawGraph(panel, graph, choose, phases) {
  const nodes = graph.nodes.map((node, index) => svg("g", {class: `op ${node.phase}`, "data-name": node.name, tabindex: index ? -1 : 0, role: "button", "aria-label": `${node.op} ${node.name}`,
    onclick: () => choose(node.name), onfocus: () => reach(index), onkeydown: event => press(event, index)},
    svg("rect", {x: node.x, y: node.y, width: node.width, height: node.height, rx: 7}),
    svg("text", {x: node.x + node.width / 2, y: node.y + 15}, node.op),
    svg("text", {x: node.x + node.width / 2, y: node.y + 27, class: "name"}, node.label)));
  const scopes = graph.scopes.map(box => svg("g", {class: "scope", "aria-hidden": "true"}, svg("rect", {x: box.x, y: box.y, width: box.width, height: box.height, rx: 12}),
    svg("text", {x: box.x + 12, y: box.upwards ? box.y + box.height - 8 : box.y + 16}, box.label)));
  const edges = graph.edges.map(([from, to, control]) => svg("path", {class: `edge${control ? " control" : ""}${graph.nodes[from].phase === graph.nodes[to].phase ? "" : " across"}`, d: curve(graph.nodes[from], graph.nodes[to]),
    "data-from": graph.nodes[from].name, "data-to": graph.nodes[to].name}));
  const picture = svg("svg", {class: "picture", role: "group", "aria-label": "Operations of the step; arrow keys go from one to the next"}, svg("g", {}, ...scopes, ...edges, ...nodes));
  const legend = element("div", {class: "phases"}, ...Object.entries(phases).map(([phase, name]) =>
    element("span", {class: phase}, `${name} ${graph.nodes.filter(node => node.phase === phase).length}`)));
  const view = movable(picture, graph);
  // The picture is one stop of the Tab key, at the operation that had the focus last; arrow keys go on from there, in the order of the step.
  let current = 0;
  const reach = index => {
    nodes[current].setAttribute("tabindex", -1);
    nodes[current = index].setAttribute("tabindex", 0);
    view.reveal(graph.nodes[index].name);
  };
  const press = (event, index) => {
    const last = nodes.length - 1, next = {ArrowRight: index + 1, ArrowDown: index + 1, ArrowLeft: index - 1, ArrowUp: index - 1, Home: 0, End: last}[event.key];
    if (event.key === "Enter" || event.key === " ") choose(graph.nodes[index].name);
    else if (next !== undefined) nodes[Math.max(0, Math.min(last, next))].focus();
    else return;
    event.preventDefault();
  };
  const button = (text, label, act) => element("button", {class: "quiet", "aria-label": label, title: label, onclick: act}, text);
  panel.replaceChildren(picture, legend, element("div", {class: "zoom"}, button("+", "Larger", () => view.zoom(1.3)), button("−", "Smaller", () => view.zoom(1 / 1.3)),
                                                         button("⤢", "Show all", () => view.fit())));
  view.begin();
  const byName = new Map(graph.nodes.map((node, index) => [node.name, nodes[index]]));
  // Marks an operation, and its neighbours.
  const mark = (name, related = []) => {
    const others = new Set(related);
    for (const [each, node] of byName) {
      node.classList.toggle("chosen", each === name);
      node.classList.toggle("related", others.has(each));
    }
    for (const edge of edges) edge.classList.toggle("chosen", edge.dataset.from === name || edge.dataset.to === name);
  };
  return {...view, mark, node: name => byName.get(name)};
}

// From the end where data leave to the one where they arrive; between two columns from side to side.
function curve(from, to) {
  if (from.phase !== to.phase) {
    const right = from.x < to.x, x0 = from.x + (right ? from.width : 0), x1 = to.x + (right ? 0 : to.width), middle = (x0 + x1) / 2;
    const [y0, y1] = [from, to].map(node => node.y + node.height / 2);
    return `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}`;
  }
  const x0 = from.x + from.width / 2, x1 = to.x + to.width / 2, up = from.upwards;
  const y0 = from.y + (up ? 0 : from.height), y1 = to.y + (up ? to.height : 0), bend = Math.max(18, Math.abs(y1 - y0) / 2) * (up ? -1 : 1);
  return `M${x0} ${y0}C${x0} ${y0 + bend} ${x1} ${y1 - bend} ${x1} ${y1}`;
}

// Moves a picture by dragging and by the wheel, and zooms it by the wheel with ctrl (which is also what pinching a touchpad sends) or by buttons.
function movable(picture, size) {
  const inner = picture.firstChild;
  let scale = 1, left = 0, top = 0, held = null;
  const show = () => inner.setAttribute("transform", `translate(${left} ${top}) scale(${scale})`);
  const zoomAt = (factor, x, y) => {
    const wanted = Math.min(MOST, Math.max(LEAST, scale * factor)), ratio = wanted / scale;
    [left, top, scale] = [x - (x - left) * ratio, y - (y - top) * ratio, wanted];
    show();
  };
  // Whether there was something to move to.
  const scroll = (x, y) => {
    const along = (place, delta, whole, seen) => delta > 0 ? Math.max(Math.min(place, seen - whole * scale - MARGIN), place - delta) : Math.min(Math.max(place, MARGIN), place - delta);
    const wanted = [along(left, x, size.width, picture.clientWidth), along(top, y, size.height, picture.clientHeight)], moves = wanted[0] !== left || wanted[1] !== top;
    [left, top] = wanted;
    if (moves) show();
    return moves;
  };
  const fit = () => {
    scale = Math.min(1.2, picture.clientWidth / (size.width + 24), picture.clientHeight / (size.height + 24)) || 1;
    [left, top] = [(picture.clientWidth - size.width * scale) / 2, (picture.clientHeight - size.height * scale) / 2];
    show();
  };
  const begin = () => {  // readable: the width of the panel, at the lower end, where the loss is
    scale = Math.min(1, Math.max(0.55, picture.clientWidth / (size.width + 24)));
    [left, top] = [Math.max(8, (picture.clientWidth - size.width * scale) / 2), picture.clientHeight - (size.height + 40) * scale];
    show();
  };
  picture.addEventListener("wheel", event => {
    const box = picture.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey) zoomAt(Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
    else if (!scroll(event.deltaX, event.deltaY)) return;  // nothing more in that direction: the page scrolls
    event.preventDefault();
  }, {passive: false});
  picture.addEventListener("pointerdown", event => { held = {x: event.clientX - left, y: event.clientY - top}; });
  picture.addEventListener("pointermove", event => {
    if (!held || !event.buttons) return;
    [left, top] = [event.clientX - held.x, event.clientY - held.y];
    show();
  });
  picture.addEventListener("pointerup", () => { held = null; });
  // Moves an operation that is out of sight into the middle.
  const reveal = name => {
    const node = size.nodes.find(each => each.name === name);
    if (!node) return;
    const x = left + (node.x + node.width / 2) * scale, y = top + (node.y + node.height / 2) * scale;
    if (x > 0 && x < picture.clientWidth && y > 0 && y < picture.clientHeight) return;
    [left, top] = [left + picture.clientWidth / 2 - x, top + picture.clientHeight / 2 - y];
    show();
  };
  return {fit, begin, reveal, zoom: factor => zoomAt(factor, picture.clientWidth / 2, picture.clientHeight / 2)};
}
