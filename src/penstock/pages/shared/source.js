// Python source, line by line, with its words tinted.
import {element} from "./elements.js";

const WORDS = /("""[^]*?"""|#.*$|"[^"\n]*"|'[^'\n]*'|\b(?:import|as|def|class|return|with|for|in|while|if|elif|else|yield|from|True|False|None|lambda|not|and|or|try|except)\b|\b\d[\d.e-]*\b)/gm;

// A numbered list of lines; properties(number) gives those of a line's item.
export function listing(text, label, properties = () => ({})) {
  return element("ol", {class: "code", "aria-label": label},
                 ...text.trimEnd().split("\n").map((line, index) => element("li", properties(index + 1), ...tinted(line))));
}

function* tinted(line) {
  let place = 0;
  for (const match of line.matchAll(WORDS)) {
    yield line.slice(place, match.index);
    const first = match[0][0], kind = first === "#" ? "comment" : first === '"' || first === "'" ? "string" : /\d/.test(first) ? "number" : "word";
    yield element("span", {class: kind}, match[0]);
    place = match.index + match[0].length;
  }
  yield line.slice(place) || (place ? "" : " ");
}

// Marks one line, and no other.
export function markLine(panel, line) {
  let marked = null;
  panel.querySelectorAll("ol.code > li").forEach((item, index) => { if (item.classList.toggle("chosen", index + 1 === line)) marked = item; });
  return marked;
}
