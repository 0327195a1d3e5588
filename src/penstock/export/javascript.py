"""The loader of a WebAssembly module: JavaScript for browsers and Node."""
from __future__ import annotations

import json
from collections.abc import Sequence

from penstock.export.entries import EntryPoint
from penstock.graph.dtypes import DType

_ARRAYS = {"float32": "Float32Array", "float64": "Float64Array", "bool": "Uint8Array", "float16": "Uint16Array", "bfloat16": "Uint16Array",
           "int64": "BigInt64Array", "uint64": "BigUint64Array"}
_TEXT = """\
// The model NAME, exported by Penstock. In a browser, or in Node:
//
//     import { load } from "./NAME.js";
//     const model = await load();
//     const { OUTPUT } = model.ENTRY({ INPUT: values });
//
// Values are typed arrays, or arrays of numbers, in row-major order; numbers of 64 bits come back as BigInts. A step allocates nothing in the
// module's memory, but for the first batch of a size that is larger than all before it.
const ENTRIES = JSON_ENTRIES;
const MODEL_BYTES = BYTES, WEIGHTS_BYTES = WEIGHTS, ALIGNMENT = 64;

async function bytesOf(url) {
    if (typeof process !== "undefined" && process.versions?.node && url.protocol === "file:") {
        const { readFile } = await import("node:fs/promises");
        return readFile(url);
    }
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
    return new Uint8Array(await response.arrayBuffer());
}

export async function load(options = {}) {
    const base = options.base ?? import.meta.url;
    const module = options.module ?? await bytesOf(new URL("NAME.wasm", base));
    const weights = WEIGHTS_BYTES ? options.weights ?? await bytesOf(new URL("NAME.weights", base)) : null;
    const { instance } = await WebAssembly.instantiate(module, {});
    return new Model(instance.exports, weights);
}

class Model {
    #exports; #next; #model; #places = new Map();

    constructor(exports, weights) {
        this.#exports = exports;
        this.#next = exports.__heap_base.value;
        this.#model = this.#reserve(MODEL_BYTES);
        const places = [];
        if (weights) {
            const place = this.#reserve(weights.length);
            new Uint8Array(exports.memory.buffer, place, weights.length).set(weights);
            places.push(place);
        }
        this.#check(exports.NAME_init(this.#model, ...places));
        for (const name of Object.keys(ENTRIES)) this[name] = (feeds, batch) => this.#run(name, feeds ?? {}, batch);
    }

    // Memory that stays: for the model, and for each array as much as its largest batch has needed.
    #reserve(bytes) {
        const place = Math.ceil(this.#next / ALIGNMENT) * ALIGNMENT;
        this.#next = place + bytes;
        const missing = this.#next - this.#exports.memory.buffer.byteLength;
        if (missing > 0) this.#exports.memory.grow(Math.ceil(missing / 65536));
        return place;
    }

    #run(name, feeds, batch) {
        const entry = ENTRIES[name];
        if (entry.batches) batch ??= this.#batchOf(entry, feeds);
        const inputs = entry.inputs.map(each => {
            const values = feeds[each.name], size = elements(each, batch);
            if (values === undefined) throw new Error(`NAME.${name} needs ${each.name}`);
            if (values.length !== size) throw new Error(`${each.name} has ${values.length} elements; [${shapeOf(each, batch)}] are ${size}`);
            const array = this.#array(`${name}<${each.name}`, each, batch);
            this.#fill(array, values);
            return array;
        });
        const outputs = entry.outputs.map(each => this.#array(`${name}>${each.name}`, each, batch));
        const places = [...inputs, ...outputs].map(array => array.byteOffset);
        this.#check(this.#exports[`NAME_${name}`](this.#model, ...(entry.batches ? [BigInt(batch)] : []), ...places));
        return Object.fromEntries(entry.outputs.map((each, index) => [each.name, this.#view(outputs[index]).slice()]));
    }

    #batchOf(entry, feeds) {
        const open = entry.inputs.find(each => each.shape.includes(null));
        const count = feeds[open.name]?.length ?? 0, row = elements(open, 1);
        if (count % row) throw new Error(`${open.name} has ${count} elements; a row of the batch has ${row}`);
        return count / row;
    }

    #array(key, argument, batch) {
        const size = elements(argument, batch), kind = globalThis[argument.array], bytes = size * kind.BYTES_PER_ELEMENT;
        let room = this.#places.get(key);
        if (!room || room.bytes < bytes) {
            const larger = room ? Math.max(bytes, 2 * room.bytes) : bytes;
            this.#places.set(key, room = { place: this.#reserve(larger), bytes: larger });
        }
        return { byteOffset: room.place, length: size, kind };
    }

    #fill(array, values) {
        const isBig = array.kind === BigInt64Array || array.kind === BigUint64Array;
        this.#view(array).set(isBig ? Array.from(values, BigInt) : values);
    }

    #view({ byteOffset, length, kind }) {
        return new kind(this.#exports.memory.buffer, byteOffset, length);
    }

    #check(status) {
        if (status === 0) return;
        const bytes = new Uint8Array(this.#exports.memory.buffer), start = this.#exports.NAME_message(status);
        throw new Error(new TextDecoder().decode(bytes.slice(start, bytes.indexOf(0, start))) || `status ${status}`);
    }
}

const shapeOf = (argument, batch) => argument.shape.map(extent => extent ?? batch);
const elements = (argument, batch) => shapeOf(argument, batch).reduce((product, extent) => product * extent, 1);
"""


def _array(dtype: DType) -> str:
    return _ARRAYS.get(dtype.name) or f"{'Uint' if dtype.name.startswith('u') else 'Int'}{8 * dtype.size}Array"


def loader_text(name: str, entries: Sequence[EntryPoint], nbytes: int, weights: int | None) -> str:
    """The loader."""
    described = {entry.name: {"batches": sorted(entry.batches) if entry.takes_batch else None, "any": entry.any_batch,
                              **{kind: [{"name": each.name, "shape": list(each.shape), "array": _array(each.dtype)} for each in arguments]
                                 for kind, arguments in (("inputs", entry.inputs), ("outputs", entry.outputs))}} for entry in entries}
    first = entries[0]
    words = {"JSON_ENTRIES": json.dumps(described), "BYTES": str(nbytes), "WEIGHTS": str(weights or 0), "NAME": name, "ENTRY": first.name,
             "OUTPUT": first.outputs[0].name if first.outputs else "", "INPUT": first.inputs[0].name if first.inputs else ""}
    text = _TEXT
    for word in ("MODEL_BYTES = BYTES", "WEIGHTS_BYTES = WEIGHTS"):
        left, _, right = word.partition(" = ")
        text = text.replace(word, f"{left} = {words[right]}")
    for word in ("JSON_ENTRIES", "NAME", "ENTRY", "OUTPUT", "INPUT"):
        text = text.replace(word, words[word])
    return text
