// Messages to the server. Each is a POST to an address beside this page, so the token goes with it.

export async function ask(name, body = {}) {
  return (await post(name, body)).json();
}

export async function askBytes(name, body = {}) {
  return (await post(name, body)).arrayBuffer();
}

// A frame: four bytes of length, JSON, then a plane of bytes per neuron.
export async function askFrame(name, body) {
  const bytes = await askBytes(name, body);
  const length = new DataView(bytes).getUint32(0, true);
  const frame = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
  const size = frame.grid * frame.grid;
  let place = 4 + length;
  frame.planes = frame.biases.map(layer => layer.map(() => new Int8Array(bytes, (place += size) - size, size)));
  return frame;
}

async function post(name, body) {
  let answer;
  try {
    answer = await fetch(name, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)});
  } catch {
    throw new Error(`The server has ended. Start it again: ${document.documentElement.dataset.command}`);
  }
  if (!answer.ok) throw new Error((await answer.json()).error);
  return answer;
}
