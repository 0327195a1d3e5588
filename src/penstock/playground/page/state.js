// The state of the board, and how an address says it. Only what differs from its default is named.
//   #data=spiral&layers=8,8&step=400&changes=0:w0.1.2:0.5

const LISTS = {features: String, layers: Number};
const WORDS = new Set(["problem", "data", "activation", "regularization", "optimizer"]);

export function toAddress(state, defaults) {
  const parts = [];
  for (const [key, value] of Object.entries(state.settings)) {
    if (String(value) !== String(defaults[key])) parts.push(`${key}=${value}`);
  }
  if (state.step) parts.push(`step=${state.step}`);
  if (state.changes.length) parts.push(`changes=${state.changes.map(change => change.join(":")).join(",")}`);
  return "#" + parts.join("&");
}

export function fromAddress(hash, defaults) {
  const state = {settings: {...defaults}, step: 0, changes: []};
  for (const part of unescaped(hash.replace(/^#/, "")).split("&").filter(Boolean)) {
    const [key, text = ""] = part.split("=");
    if (key === "step") state.step = Number(text);
    else if (key === "changes") state.changes = text.split(",").map(readChange);
    else if (key in LISTS) state.settings[key] = text ? text.split(",").map(LISTS[key]) : [];
    else state.settings[key] = WORDS.has(key) ? text : Number(text);
  }
  return state;
}

// What sends addresses on may escape their characters. A text that is not well escaped stays as it is, and the server refuses it.
function unescaped(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function readChange(text) {
  const [step, key, value] = text.split(":");
  return [Number(step), key, Number(value)];
}
