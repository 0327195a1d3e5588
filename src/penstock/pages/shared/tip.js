// A small text beside the pointer.
import {byId} from "./elements.js";

// Shows a text while the pointer is on an element; screen readers get it as its name.
export function hint(node, text) {
  node.addEventListener("pointerenter", event => showTip(text, event));
  node.addEventListener("pointerleave", hideTip);
  return node;
}

export function showTip(text, event) {
  const tip = byId("tip");
  tip.textContent = text;
  tip.hidden = false;
  tip.style.left = `${Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8)}px`;
  tip.style.top = `${Math.max(4, event.clientY - 34)}px`;
}

export function hideTip() {
  byId("tip").hidden = true;
}
