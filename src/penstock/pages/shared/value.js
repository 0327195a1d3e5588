// A value as numbers: its shape, its range, and a corner of it, with what is not finite marked.
import {element, short} from "./elements.js";

export function valueTable({range, rows, more, shape, broken}) {
  const told = [shape.length ? `[${shape}]` : "scalar", range && shape.length ? `from ${short(range[0])} to ${short(range[2])}, mean ${short(range[1])}` : "",
                broken ? `${broken} not finite` : ""];
  return [element("p", {class: "hint"}, told.filter(Boolean).join(", ")),
          element("table", {class: "value"}, ...rows.map(row => element("tr", {}, ...row.map(each => element("td", {class: /nan|inf/.test(each) ? "broken" : ""}, each)))),
                  more ? element("tr", {}, element("td", {}, "…")) : "")];
}
