// Softmax regression tells three kinds of irises apart: softmax.c in JavaScript.
//
//     penstock capi --build build/capi && npm install --prefix build/capi/node
//     node examples/capi/softmax.js build/capi/node src/penstock/datasets/iris.csv
'use strict';
const fs = require('fs');
const path = require('path');
const {Graph, Session, Tensor} = require(path.resolve(process.argv[2] || 'build/capi/node'));

const lines = fs.readFileSync(process.argv[3] || 'src/penstock/datasets/iris.csv', 'utf8').trim().split('\n');
const rows = lines.slice(1).map((line) => line.split(',').map(Number));
const features = Tensor.of(rows.map((row) => row.slice(0, 4)));
const labels = new Tensor('int64', [rows.length], rows.map((row) => BigInt(row[4])));

// the model
const graph = new Graph();
const x = graph.op('Placeholder', [], {dtype: 'float32', shape: [-1, 4]});
const y = graph.op('Placeholder', [], {dtype: 'int64', shape: [-1]});
const variable = (shape) => graph.op('VariableV2', [], {dtype: 'float32', shape});
const zeros = (shape) => graph.constant(new Tensor('float32', shape, new Float32Array(shape.reduce((a, b) => a * b))));
const w = variable([4, 3]), b = variable([3]);
const initial = [graph.op('Assign', [w, zeros([4, 3])]), graph.op('Assign', [b, zeros([3])])];
const logits = graph.op('BiasAdd', [graph.op('MatMul', [x, w]), b]);
const losses = graph.op('SparseSoftmaxCrossEntropyWithLogits', [logits, y]);
const loss = graph.op('Mean', [losses, graph.constant(Tensor.of([0], 'int32'))]);
const classes = graph.op('ArgMax', [logits, graph.constant(Tensor.of(1, 'int32'))]);

// its training
const rate = graph.constant(Tensor.of(0.1));
const gradients = graph.gradients([loss], [w, b]);
const train = [graph.op('ApplyGradientDescent', [w, rate, gradients[0]]), graph.op('ApplyGradientDescent', [b, rate, gradients[1]])];
const session = new Session(graph);
session.run([], [], initial);
for (let step = 0; step <= 300; step++) {
  const [value] = session.run([[x, features], [y, labels]], [loss], train);
  if (step % 100 === 0) console.log(`step ${step}: loss ${value.data[0].toFixed(3)}`);
}

// its use
const [answers] = session.run([[x, features]], [classes]);
const right = answers.data.filter((answer, i) => answer === labels.data[i]).length;
console.log(`${right} of ${rows.length} irises are told right`);
try {
  graph.op('MatMul', [w, w]);
} catch (error) {
  console.log(`an error is an exception, with code ${error.code}: ${error.message}`);
}
session.close();
process.exit(right < 140 ? 1 : 0);
