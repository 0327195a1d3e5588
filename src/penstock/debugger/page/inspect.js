// One value: numbers, how they are distributed, an image where it looks like one, and a field to change it.
import {ask} from "./api.js";
import {element, short, svg} from "./elements.js";
import {valueTable} from "./value.js";

// changed(name) is called when a person has given it another value; note: what is said beside the field.
export async function drawValue(name, changeable, changed, note = "") {
  const told = await ask("value", {name});
  if (!told.rows) return [element("p", {class: "hint"}, `${name}: ${told.note}`)];
  return [element("h4", {}, `${name} `, element("code", {}, told.dtype)), ...counts(told.counts), ...valueTable(told), ...histogram(told.histogram), ...images(told.images),
          ...(changeable ? [form(name, changed, note)] : [])];
}

function counts(told) {
  if (!told) return [];
  const bad = ["nan", "+inf", "-inf"].filter(kind => told[kind]), rest = ["zero", "negative", "positive"].filter(kind => told[kind]);
  return [element("p", {class: "counts"}, ...bad.map(kind => element("b", {}, `${told[kind]} ${kind} `)), rest.map(kind => `${told[kind]} ${kind}`).join(", "))];
}

function histogram(told) {
  if (!told) return [];
  const top = Math.max(...told.counts), width = 100 / told.counts.length;
  return [svg("svg", {class: "histogram", viewBox: "0 0 100 40", preserveAspectRatio: "none", role: "img", "aria-label": `Histogram from ${short(told.low)} to ${short(told.high)}`},
              ...told.counts.map((count, index) => svg("rect", {x: index * width, y: 40 - 40 * count / top, width: width * 0.9, height: 40 * count / top}))),
          element("p", {class: "ends"}, element("span", {}, short(told.low)), element("span", {}, short(told.high)))];
}

function images(told) {
  if (!told?.length) return [];
  return [element("div", {class: "images"}, ...told.map(image => {
    const canvas = element("canvas", {width: image.width, height: image.height, role: "img", "aria-label": `As an image of ${image.width} by ${image.height}`});
    const bytes = Uint8ClampedArray.from(atob(image.pixels), character => character.charCodeAt(0));
    canvas.getContext("2d").putImageData(new ImageData(bytes, image.width, image.height), 0, 0);
    return canvas;
  }))];
}

function form(name, changed, text) {
  const input = element("input", {name: "value", placeholder: "Another value: a number for all elements, or a nested list", "aria-label": `Another value for ${name}`, autocomplete: "off"});
  const note = element("p", {class: "hint", role: "status"}, text);
  const submit = async event => {
    event.preventDefault();
    try {
      const typed = input.value.trim();
      await ask("change", {name, value: /^[+-]?(nan|inf)/i.test(typed) ? typed : JSON.parse(typed)});
      await changed(name);
    } catch (error) {
      note.textContent = error instanceof SyntaxError ? "That is neither a number nor a nested list." : error.message;
    }
  };
  return element("form", {onsubmit: submit}, element("div", {class: "change"}, input, element("button", {class: "action"}, "Change")), note);
}
