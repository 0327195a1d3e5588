// Softmax regression tells three kinds of irises apart: softmax.c in C++, with scopes, operations as classes, and exceptions.
//
//     penstock capi --build build/capi
//     c++ -std=c++17 -Ibuild/capi/include examples/capi/softmax.cc -o build/softmax -Lbuild/capi/lib -lpenstock -Wl,-rpath,$PWD/build/capi/lib
//     build/softmax src/penstock/datasets/iris.csv
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

#include "penstock/client.h"

using namespace penstock;
using namespace penstock::ops;

struct Irises {
  std::vector<float> features;
  std::vector<int64_t> labels;

  explicit Irises(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);  // names
    while (std::getline(file, line)) {
      float row[4];
      long label;
      if (std::sscanf(line.c_str(), "%f,%f,%f,%f,%ld", row, row + 1, row + 2, row + 3, &label) != 5) break;
      features.insert(features.end(), row, row + 4);
      labels.push_back(label);
    }
  }
  int64_t size() const { return static_cast<int64_t>(labels.size()); }
};

int main(int argc, char** argv) {
  Irises irises(argc > 1 ? argv[1] : "src/penstock/datasets/iris.csv");
  Scope root = Scope::NewRootScope();

  // the model
  auto x = Placeholder(root.WithOpName("x"), DT_FLOAT, Placeholder::Shape({-1, 4}));
  auto y = Placeholder(root.WithOpName("y"), DT_INT64, Placeholder::Shape({-1}));
  auto w = VariableV2(root.WithOpName("w"), {4, 3}, DT_FLOAT);
  auto b = VariableV2(root.WithOpName("b"), {3}, DT_FLOAT);
  auto init_w = Assign(root, w, Tensor::Of<float>({4, 3}, std::vector<float>(12)));
  auto init_b = Assign(root, b, Tensor::Of<float>({3}, std::vector<float>(3)));
  auto logits = BiasAdd(root, MatMul(root, x, w), b);
  auto losses = SparseSoftmaxCrossEntropyWithLogits(root, logits, y);
  auto loss = Mean(root.WithOpName("loss"), losses.loss, 0);
  auto classes = ArgMax(root, logits, 1);

  // its training
  auto gradients = AddSymbolicGradients(root, {loss}, {w, b});
  auto train_w = ApplyGradientDescent(root, w, 0.1f, gradients[0]);
  auto train_b = ApplyGradientDescent(root, b, 0.1f, gradients[1]);

  ClientSession session(root);
  session.Run({}, {}, {init_w.operation, init_b.operation});
  ClientSession::Feeds all = {{x, Tensor::Of<float>({irises.size(), 4}, irises.features)}, {y, Tensor::Of<int64_t>({irises.size()}, irises.labels)}};
  for (int step = 0; step <= 300; step++) {
    auto results = session.Run(all, {loss}, {train_w.operation, train_b.operation});
    if (step % 100 == 0) std::printf("step %d: loss %.3f\n", step, results[0].scalar<float>());
  }

  // its use
  auto answers = session.Run({all[0]}, {classes})[0].flat<int64_t>();
  int right = 0;
  for (size_t i = 0; i < answers.size(); i++) right += answers[i] == irises.labels[i];
  std::cout << right << " of " << irises.size() << " irises are told right\n";

  try {
    MatMul(root, w, w);
  } catch (const Error& error) {
    std::cout << "an error is an exception: " << error.what() << "\n";
  }
  return right < 140;
}
