// The C++ front end: values, names, lists of inputs and outputs, attributes, gradients, errors.
#include "penstock/client.h"

#include <iostream>
#include <thread>

using namespace penstock;
using namespace penstock::ops;

#define CHECK(what)                                          \
  if (!(what)) {                                             \
    std::cout << "line " << __LINE__ << ": " #what << "\n"; \
    return 1;                                                \
  }

template <class F> std::string thrown(F f) {
  try {
    f();
  } catch (const Error& error) {
    return std::to_string(error.code()) + " " + error.what();
  }
  return "nothing";
}

int main() {
  Scope root = Scope::NewRootScope();

  // values
  Tensor matrix = Tensor::Of<float>({2, 2}, {1, 2, 3, 4});
  CHECK(matrix.dtype() == DT_FLOAT && matrix.dims() == std::vector<int64_t>({2, 2}) && matrix.flat<float>()[3] == 4);
  CHECK(thrown([] { Tensor::Of<float>({3}, {1, 2}); }).substr(0, 2) == "3 ");
  CHECK(thrown([&] { matrix.data<int32_t>(); }).substr(0, 2) == "3 ");
  Tensor words({2}, std::vector<std::string>{"one", ""});

  // names
  auto a = Const(root.WithOpName("a"), {{1.0f, 2.0f}, {3.0f, 4.0f}});
  Scope sub = root.NewSubScope("sub"), again = root.NewSubScope("sub");
  auto b = Identity(sub, a), c = Identity(sub, a), d = Identity(again, a);
  CHECK(a.output.name() == "a:0" && b.output.name() == "sub/Identity:0" && c.output.name() == "sub/Identity_1:0");
  CHECK(d.output.name() == "sub_1/Identity:0");

  // attributes, lists
  auto product = MatMul(root, a, a, MatMul::TransposeA(true).TransposeB(true));
  auto joined = ConcatV2(root, {a, product}, 1);
  auto parts = Split(root, 0, a, 2);
  CHECK(parts.output.size() == 2);
  auto length = Sum(root, parts.output[1], 0, Sum::KeepDims(true));
  auto text = StringJoin(root, {Input(words), Input("!")}, StringJoin::Separator("-"));
  ClientSession session(root);
  auto results = session.Run({product, joined, length, text});
  CHECK(results[0].flat<float>() == std::vector<float>({7, 15, 10, 22}));
  CHECK(results[1].dims() == std::vector<int64_t>({2, 4}));
  CHECK(results[2].NumElements() == 2 || results[2].NumElements() == 1);
  CHECK(results[3].strings() == std::vector<std::string>({"one-!", "-!"}));

  // gradients, feeds, control
  auto x = Placeholder(root, DT_FLOAT, Placeholder::Shape({}));
  auto y = Mul(root, Square(root, x), x);
  auto gradient = AddSymbolicGradients(root, {y}, {x});
  CHECK(session.Run({{x, 2.0f}}, {gradient[0]})[0].scalar<float>() == 12);
  auto v = VariableV2(root, {}, DT_FLOAT);
  auto zero = Assign(root, v, 0.0f);
  auto one = AssignAdd(root.WithControlDependencies({zero.operation}), v, 1.0f);
  CHECK(session.Run({}, {one})[0].scalar<float>() == 1);

  // errors
  CHECK(thrown([&] { session.Run({y}); }).find("You must feed a value for placeholder") != std::string::npos);
  CHECK(thrown([&] { MatMul(root, x, a); }).substr(0, 2) == "3 ");
  CHECK(thrown([&] { ClientSession(root, "nonsense://"); }) != "nothing");

  // threads
  std::vector<std::thread> threads;
  int right = 0;
  std::vector<int> found(4);
  for (int i = 0; i < 4; i++) threads.emplace_back([&, i] { found[i] = session.Run({{x, float(i)}}, {y})[0].scalar<float>() == float(i * i * i); });
  for (auto& each : threads) each.join();
  for (int each : found) right += each;
  CHECK(right == 4);
  CHECK(root.ToGraphDef().find("sub/Identity") != std::string::npos);
  std::cout << "fine\n";
  return 0;
}
