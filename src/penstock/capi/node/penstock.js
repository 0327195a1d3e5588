// Graphs and sessions from Node, over TensorFlow's C API: as much of it as a program needs that trains and serves.
//
//   const {Graph, Session, Tensor} = require('./penstock');
//   const graph = new Graph(), x = graph.op('Placeholder', [], {dtype: 'float32'});
//   const y = graph.op('Mul', [x, graph.constant(Tensor.of(2))]);
//   new Session(graph).run([[x, Tensor.of(21)]], [y])[0].data[0];
//
// koffi (npm) calls the library: $PENSTOCK_LIBRARY, or ../lib/libpenstock of the folder that `penstock capi` has built. What goes wrong is
// thrown, with the code of the status. Handles are freed when their objects are collected, sessions by close().
'use strict';
const fs = require('fs');
const path = require('path');
const koffi = require('koffi');

const suffix = process.platform === 'darwin' ? 'dylib' : 'so';
const library = koffi.load(process.env.PENSTOCK_LIBRARY || path.join(__dirname, '..', 'lib', `libpenstock.${suffix}`));

for (const name of ['Status', 'Buffer', 'Tensor', 'Graph', 'Operation', 'OperationDescription', 'Session', 'SessionOptions']) {
  koffi.opaque(`TF_${name}`);
}
koffi.struct('TF_Output', {oper: 'TF_Operation *', index: 'int'});

// The functions, by the declarations that the header has of them.
const declared = `
  const char *TF_Version();
  TF_Status *TF_NewStatus();
  void TF_DeleteStatus(TF_Status *s);
  int TF_GetCode(TF_Status *s);
  const char *TF_Message(TF_Status *s);
  TF_Tensor *TF_AllocateTensor(int type, int64_t *dims, int num_dims, size_t len);
  void TF_DeleteTensor(TF_Tensor *tensor);
  int TF_TensorType(TF_Tensor *tensor);
  int TF_NumDims(TF_Tensor *tensor);
  int64_t TF_Dim(TF_Tensor *tensor, int dim_index);
  size_t TF_TensorByteSize(TF_Tensor *tensor);
  void *TF_TensorData(TF_Tensor *tensor);
  TF_Graph *TF_NewGraph();
  void TF_DeleteGraph(TF_Graph *graph);
  TF_OperationDescription *TF_NewOperation(TF_Graph *graph, const char *op_type, const char *oper_name);
  void TF_AddInput(TF_OperationDescription *desc, TF_Output input);
  void TF_AddInputList(TF_OperationDescription *desc, TF_Output *inputs, int num_inputs);
  void TF_SetAttrInt(TF_OperationDescription *desc, const char *attr_name, int64_t value);
  void TF_SetAttrIntList(TF_OperationDescription *desc, const char *attr_name, int64_t *values, int num_values);
  void TF_SetAttrFloat(TF_OperationDescription *desc, const char *attr_name, float value);
  void TF_SetAttrBool(TF_OperationDescription *desc, const char *attr_name, uint8_t value);
  void TF_SetAttrString(TF_OperationDescription *desc, const char *attr_name, const char *value, size_t length);
  void TF_SetAttrType(TF_OperationDescription *desc, const char *attr_name, int value);
  void TF_SetAttrShape(TF_OperationDescription *desc, const char *attr_name, int64_t *dims, int num_dims);
  void TF_SetAttrTensor(TF_OperationDescription *desc, const char *attr_name, TF_Tensor *value, TF_Status *status);
  TF_Operation *TF_FinishOperation(TF_OperationDescription *desc, TF_Status *status);
  TF_Operation *TF_GraphOperationByName(TF_Graph *graph, const char *oper_name);
  void TF_AddGradients(TF_Graph *g, TF_Output *y, int ny, TF_Output *x, int nx, TF_Output *dx, TF_Status *status, _Out_ TF_Output *dy);
  TF_SessionOptions *TF_NewSessionOptions();
  void TF_DeleteSessionOptions(TF_SessionOptions *options);
  TF_Session *TF_NewSession(TF_Graph *graph, TF_SessionOptions *opts, TF_Status *status);
  TF_Session *TF_LoadSessionFromSavedModel(TF_SessionOptions *session_options, TF_Buffer *run_options, const char *export_dir, const char **tags,
      int tags_len, TF_Graph *graph, TF_Buffer *meta_graph_def, TF_Status *status);
  void TF_DeleteSession(TF_Session *session, TF_Status *status);
  void TF_SessionRun(TF_Session *session, TF_Buffer *run_options, TF_Output *inputs, TF_Tensor **input_values, int ninputs, TF_Output *outputs,
      _Out_ TF_Tensor **output_values, int noutputs, TF_Operation **target_opers, int ntargets, TF_Buffer *run_metadata, TF_Status *status)`;
const tf = {};
for (const line of declared.split(';')) tf[line.match(/(TF_\w+)\(/)[1]] = library.func(line.trim().replace(/\s+/g, ' '));

const types = {  // name: [number, array]
  float32: [1, Float32Array], float64: [2, Float64Array], int32: [3, Int32Array], uint8: [4, Uint8Array], int16: [5, Int16Array],
  int8: [6, Int8Array], int64: [9, BigInt64Array], bool: [10, Uint8Array],
};
const typeNames = Object.fromEntries(Object.entries(types).map(([name, [number]]) => [number, name]));

// Calls a function that takes a status; an Error with its code and message if it is not OK.
function checked(call) {
  const status = tf.TF_NewStatus();
  try {
    const result = call(status);
    const code = tf.TF_GetCode(status);
    if (code !== 0) throw Object.assign(new Error(tf.TF_Message(status)), {code});
    return result;
  } finally {
    tf.TF_DeleteStatus(status);
  }
}

const collected = new FinalizationRegistry(([free, handle]) => free(handle));

// A value: the name of its type, its shape, and a typed array.
class Tensor {
  constructor(type, shape, data) {
    if (!types[type]) throw new Error(`there is no type ${type} here: ${Object.keys(types)}`);
    Object.assign(this, {type, shape, data: types[type][1].from(data)});
    if (this.data.length !== shape.reduce((a, b) => a * b, 1)) throw new Error(`${this.data.length} elements do not have the shape [${shape}]`);
  }
  // A number, or nested arrays of numbers.
  static of(value, type = 'float32') {
    const shape = [];
    for (let inner = value; Array.isArray(inner); inner = inner[0]) shape.push(inner.length);
    return new Tensor(type, shape, [value].flat(Infinity));
  }
  // A TF_Tensor, which the caller deletes.
  toHandle() {
    const handle = tf.TF_AllocateTensor(types[this.type][0], this.shape, this.shape.length, this.data.byteLength);
    const bytes = new Uint8Array(this.data.buffer, this.data.byteOffset, this.data.byteLength);
    koffi.encode(tf.TF_TensorData(handle), koffi.array('uint8', bytes.length), bytes);
    return handle;
  }
  static fromHandle(handle) {
    const type = typeNames[tf.TF_TensorType(handle)];
    if (!type) throw new Error(`a tensor of type ${tf.TF_TensorType(handle)} has no array in JavaScript`);
    const shape = Array.from({length: tf.TF_NumDims(handle)}, (_, i) => Number(tf.TF_Dim(handle, i)));
    const bytes = Uint8Array.from(koffi.decode(tf.TF_TensorData(handle), koffi.array('uint8', Number(tf.TF_TensorByteSize(handle)))));
    return new Tensor(type, shape, new (types[type][1])(bytes.buffer));
  }
}

// A graph, to which operations are added. An output of one is {oper, index}; `op` gives the first.
class Graph {
  constructor() {
    this.handle = tf.TF_NewGraph();
    this.count = 0;
    collected.register(this, [tf.TF_DeleteGraph, this.handle]);
  }
  op(type, inputs = [], attributes = {}, name = `${type}_${this.count++}`) {
    const description = tf.TF_NewOperation(this.handle, type, name);
    for (const input of inputs) {
      if (Array.isArray(input)) tf.TF_AddInputList(description, input, input.length);
      else tf.TF_AddInput(description, input);
    }
    for (const [key, value] of Object.entries(attributes)) this.setAttribute(description, key, value);
    return {oper: checked((status) => tf.TF_FinishOperation(description, status)), index: 0};
  }
  setAttribute(description, key, value) {
    if (value instanceof Tensor) {
      const handle = value.toHandle();
      checked((status) => tf.TF_SetAttrTensor(description, key, handle, status));
      tf.TF_DeleteTensor(handle);
    } else if (types[value]) tf.TF_SetAttrType(description, key, types[value][0]);
    else if (typeof value === 'string') tf.TF_SetAttrString(description, key, value, Buffer.byteLength(value));
    else if (typeof value === 'boolean') tf.TF_SetAttrBool(description, key, value ? 1 : 0);
    else if (Array.isArray(value) && key === 'shape') tf.TF_SetAttrShape(description, key, value, value.length);
    else if (Array.isArray(value)) tf.TF_SetAttrIntList(description, key, value, value.length);
    else if (Number.isInteger(value)) tf.TF_SetAttrInt(description, key, value);
    else tf.TF_SetAttrFloat(description, key, value);
  }
  constant(tensor) {
    return this.op('Const', [], {dtype: tensor.type, value: tensor});
  }
  // d(sum of ys)/dx for each x
  gradients(ys, xs) {
    const made = xs.map(() => ({}));
    checked((status) => tf.TF_AddGradients(this.handle, ys, ys.length, xs, xs.length, null, status, made));
    return made;
  }
  output(name, index = 0) {
    const oper = tf.TF_GraphOperationByName(this.handle, name);
    if (oper === null) throw new Error(`there is no operation '${name}' in the graph`);
    return {oper, index};
  }
}

// Runs a graph; feeds are pairs of an output and a Tensor.
class Session {
  constructor(graph, handle = null) {
    const options = tf.TF_NewSessionOptions();
    this.graph = graph;
    this.handle = handle || checked((status) => tf.TF_NewSession(graph.handle, options, status));
    tf.TF_DeleteSessionOptions(options);
  }
  static load(folder, tags = ['serve']) {
    if (!fs.existsSync(folder)) throw new Error(`${folder} does not exist`);
    const graph = new Graph(), options = tf.TF_NewSessionOptions();
    const handle = checked((status) => tf.TF_LoadSessionFromSavedModel(options, null, folder, tags, tags.length, graph.handle, null, status));
    tf.TF_DeleteSessionOptions(options);
    return new Session(graph, handle);
  }
  run(feeds, fetches, targets = []) {
    const values = feeds.map(([, tensor]) => tensor.toHandle());
    const results = new Array(fetches.length).fill(null);
    try {
      checked((status) => tf.TF_SessionRun(this.handle, null, feeds.map(([output]) => output), values, values.length, fetches, results,
        fetches.length, targets.map((output) => output.oper), targets.length, null, status));
      const tensors = results.map(Tensor.fromHandle);
      results.forEach((handle) => tf.TF_DeleteTensor(handle));
      return tensors;
    } finally {
      values.forEach((handle) => tf.TF_DeleteTensor(handle));
    }
  }
  close() {
    checked((status) => tf.TF_DeleteSession(this.handle, status));
  }
}

module.exports = {Graph, Session, Tensor, version: tf.TF_Version()};
