// Graphs and sessions in C++17, over TensorFlow's C API: header only, link with -lpenstock (or -ltensorflow).
//
//   using namespace penstock;
//   Scope root = Scope::NewRootScope();
//   auto x = ops::Placeholder(root, DT_FLOAT);
//   auto y = ops::Mul(root, x, 2.0f);
//   ClientSession session(root);
//   std::vector<Tensor> results = session.Run({{x, 21.0f}}, {y});
//
// Scopes, operations and sessions have the names of TensorFlow's C++ API. What goes wrong is thrown, as an Error with the code and
// the message of the status. The operations are in penstock/ops.h, which `penstock capi` writes from the registry.
#ifndef PENSTOCK_CLIENT_H_
#define PENSTOCK_CLIENT_H_

#include <complex>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorflow/c/c_api.h"

namespace penstock {

using DataType = TF_DataType;
constexpr DataType DT_FLOAT = TF_FLOAT, DT_DOUBLE = TF_DOUBLE, DT_INT32 = TF_INT32, DT_UINT8 = TF_UINT8, DT_INT16 = TF_INT16,
                   DT_INT8 = TF_INT8, DT_STRING = TF_STRING, DT_COMPLEX64 = TF_COMPLEX64, DT_INT64 = TF_INT64, DT_BOOL = TF_BOOL,
                   DT_BFLOAT16 = TF_BFLOAT16, DT_UINT16 = TF_UINT16, DT_COMPLEX128 = TF_COMPLEX128, DT_HALF = TF_HALF,
                   DT_RESOURCE = TF_RESOURCE, DT_VARIANT = TF_VARIANT, DT_UINT32 = TF_UINT32, DT_UINT64 = TF_UINT64;

// A status that is not OK.
class Error : public std::runtime_error {
 public:
  Error(TF_Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  TF_Code code() const { return code_; }

 private:
  TF_Code code_;
};

namespace detail {

// The status of one call: `check` throws what went wrong.
class Status {
 public:
  Status() : status_(TF_NewStatus(), TF_DeleteStatus) {}
  operator TF_Status*() const { return status_.get(); }
  void check() const {
    if (TF_GetCode(status_.get()) != TF_OK) throw Error(TF_GetCode(status_.get()), TF_Message(status_.get()));
  }

 private:
  std::unique_ptr<TF_Status, void (*)(TF_Status*)> status_;
};

template <class T> struct TypeOf;
template <> struct TypeOf<float> { static constexpr DataType value = DT_FLOAT; };
template <> struct TypeOf<double> { static constexpr DataType value = DT_DOUBLE; };
template <> struct TypeOf<int32_t> { static constexpr DataType value = DT_INT32; };
template <> struct TypeOf<int64_t> { static constexpr DataType value = DT_INT64; };
template <> struct TypeOf<long long> { static constexpr DataType value = DT_INT64; };
template <> struct TypeOf<uint8_t> { static constexpr DataType value = DT_UINT8; };
template <> struct TypeOf<int8_t> { static constexpr DataType value = DT_INT8; };
template <> struct TypeOf<int16_t> { static constexpr DataType value = DT_INT16; };
template <> struct TypeOf<uint16_t> { static constexpr DataType value = DT_UINT16; };
template <> struct TypeOf<uint32_t> { static constexpr DataType value = DT_UINT32; };
template <> struct TypeOf<bool> { static constexpr DataType value = DT_BOOL; };
template <> struct TypeOf<std::complex<float>> { static constexpr DataType value = DT_COMPLEX64; };
template <> struct TypeOf<std::complex<double>> { static constexpr DataType value = DT_COMPLEX128; };

}  // namespace detail

// The static shape of a tensor; an extent of -1 is not known, and PartialTensorShape::Unknown() not even their number.
struct PartialTensorShape {
  PartialTensorShape(std::initializer_list<int64_t> extents) : dims(extents) {}
  explicit PartialTensorShape(std::vector<int64_t> extents) : dims(std::move(extents)) {}
  static PartialTensorShape Unknown() {
    PartialTensorShape shape({});
    shape.known = false;
    return shape;
  }
  int rank() const { return known ? static_cast<int>(dims.size()) : -1; }

  std::vector<int64_t> dims;
  bool known = true;
};

// A value: a shape and elements, shared by its copies.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(TF_Tensor* owned) : tensor_(owned, TF_DeleteTensor) {}

  template <class T> static Tensor Of(const std::vector<int64_t>& dims, const std::vector<T>& values) {
    std::vector<T> copy(values);
    return Tensor(dims, copy.data(), copy.size());
  }
  template <class T> Tensor(const std::vector<int64_t>& dims, const T* values, size_t count) {
    size_t bytes = count * sizeof(T);
    TF_Tensor* made = TF_AllocateTensor(detail::TypeOf<T>::value, dims.data(), static_cast<int>(dims.size()), bytes);
    if (made == nullptr || static_cast<size_t>(TF_TensorElementCount(made)) != count) {
      TF_DeleteTensor(made);
      throw Error(TF_INVALID_ARGUMENT, "a tensor was given " + std::to_string(count) + " elements, and its shape needs another number");
    }
    if (bytes) std::memcpy(TF_TensorData(made), values, bytes);
    tensor_.reset(made, TF_DeleteTensor);
  }
  // Strings, in TensorFlow 1's layout.
  Tensor(const std::vector<int64_t>& dims, const std::vector<std::string>& values) {
    size_t start = 8 * values.size(), bytes = start;
    for (const std::string& each : values) bytes += TF_StringEncodedSize(each.size());
    tensor_.reset(TF_AllocateTensor(TF_STRING, dims.data(), static_cast<int>(dims.size()), bytes), TF_DeleteTensor);
    char* data = static_cast<char*>(TF_TensorData(tensor_.get()));
    uint64_t offset = 0;
    detail::Status status;
    for (size_t i = 0; i < values.size(); i++) {
      std::memcpy(data + 8 * i, &offset, 8);
      offset += TF_StringEncode(values[i].data(), values[i].size(), data + start + offset, bytes - start - offset, status);
      status.check();
    }
  }

  TF_Tensor* get() const { return tensor_.get(); }
  DataType dtype() const { return TF_TensorType(get()); }
  int64_t NumElements() const { return TF_TensorElementCount(get()); }
  std::vector<int64_t> dims() const {
    std::vector<int64_t> result;
    for (int i = 0; i < TF_NumDims(get()); i++) result.push_back(TF_Dim(get(), i));
    return result;
  }
  // The elements, in memory that the tensor owns.
  template <class T> T* data() const {
    if (dtype() != detail::TypeOf<T>::value)
      throw Error(TF_INVALID_ARGUMENT, "a tensor of type " + std::to_string(dtype()) + " was asked for elements of type " +
                                           std::to_string(detail::TypeOf<T>::value));
    return static_cast<T*>(TF_TensorData(get()));
  }
  template <class T> std::vector<T> flat() const { return std::vector<T>(data<T>(), data<T>() + NumElements()); }
  template <class T> T scalar() const {
    if (NumElements() != 1) throw Error(TF_INVALID_ARGUMENT, "a tensor of " + std::to_string(NumElements()) + " elements is no scalar");
    return *data<T>();
  }
  std::vector<std::string> strings() const {
    if (dtype() != TF_STRING) throw Error(TF_INVALID_ARGUMENT, "a tensor of numbers was asked for strings");
    const char* base = static_cast<const char*>(TF_TensorData(get()));
    size_t start = 8 * static_cast<size_t>(NumElements()), size = TF_TensorByteSize(get());
    std::vector<std::string> result;
    for (int64_t i = 0; i < NumElements(); i++) {
      uint64_t offset;
      std::memcpy(&offset, base + 8 * i, 8);
      const char* text;
      size_t length;
      detail::Status status;
      TF_StringDecode(base + start + offset, size - start - offset, &text, &length, status);
      status.check();
      result.emplace_back(text, length);
    }
    return result;
  }

 private:
  std::shared_ptr<TF_Tensor> tensor_;
};

// An output of an operation.
struct Output {
  TF_Operation* op = nullptr;
  int index = 0;
  operator TF_Output() const { return TF_Output{op, index}; }
  std::string name() const { return std::string(TF_OperationName(op)) + ":" + std::to_string(index); }
  DataType type() const { return TF_OperationOutputType(*this); }
};
using OutputList = std::vector<Output>;

// An operation.
struct Operation {
  TF_Operation* op = nullptr;
  Output output(int index) const { return Output{op, index}; }
  int num_outputs() const { return TF_OperationNumOutputs(op); }
  std::string name() const { return TF_OperationName(op); }
};

// What an operation takes: an output of another, or a value, which becomes a constant.
class Input {
 public:
  Input(Output output) : value_(output) {}
  Input(Tensor tensor) : value_(std::move(tensor)) {}
  Input(const char* text) : value_(Tensor({}, std::vector<std::string>{text})) {}
  Input(const std::string& text) : value_(Tensor({}, std::vector<std::string>{text})) {}
  template <class T, DataType = detail::TypeOf<T>::value> Input(T number) : value_(Tensor({}, &number, 1)) {}
  template <class T, DataType = detail::TypeOf<T>::value> Input(std::initializer_list<T> row)
      : value_(Tensor({static_cast<int64_t>(row.size())}, row.begin(), row.size())) {}
  template <class T, DataType = detail::TypeOf<T>::value> Input(std::initializer_list<std::initializer_list<T>> rows) {
    std::vector<T> flat;
    for (const auto& row : rows) flat.insert(flat.end(), row.begin(), row.end());
    int64_t count = static_cast<int64_t>(rows.size());
    value_ = Tensor({count, count ? static_cast<int64_t>(flat.size()) / count : 0}, flat.data(), flat.size());
  }
  bool is_output() const { return std::holds_alternative<Output>(value_); }
  Output output() const { return std::get<Output>(value_); }
  Tensor tensor() const {
    if (is_output()) throw Error(TF_INVALID_ARGUMENT, "the output of an operation stands where a value is wanted");
    return std::get<Tensor>(value_);
  }

 private:
  std::variant<Output, Tensor> value_;
};

// Where operations are made: a graph, a prefix of names, a device, and what they wait for.
class Scope {
 public:
  static Scope NewRootScope() { return Scope(std::make_shared<Shared>()); }
  Scope NewSubScope(const std::string& name) const {
    Scope result(*this);
    result.prefix_ = Unique(name) + "/";
    result.op_name_.clear();
    return result;
  }
  Scope WithOpName(const std::string& name) const {
    Scope result(*this);
    result.op_name_ = name;
    return result;
  }
  Scope WithDevice(const std::string& device) const {
    Scope result(*this);
    result.device_ = device;
    return result;
  }
  Scope WithControlDependencies(const std::vector<Operation>& operations) const {
    Scope result(*this);
    for (const Operation& each : operations) result.control_.push_back(each.op);
    return result;
  }
  TF_Graph* graph() const { return shared_->graph.get(); }
  const std::string& device() const { return device_; }
  const std::vector<TF_Operation*>& control() const { return control_; }
  // The full name of a new operation: the one that was asked for, or its type; with a number if it is taken.
  std::string NameFor(const std::string& type) const { return Unique(op_name_.empty() ? type : op_name_); }
  // Writes the graph as a serialized GraphDef.
  std::string ToGraphDef() const {
    detail::Status status;
    std::unique_ptr<TF_Buffer, void (*)(TF_Buffer*)> buffer(TF_NewBuffer(), TF_DeleteBuffer);
    TF_GraphToGraphDef(graph(), buffer.get(), status);
    status.check();
    return std::string(static_cast<const char*>(buffer->data), buffer->length);
  }

 private:
  struct Shared {
    std::unique_ptr<TF_Graph, void (*)(TF_Graph*)> graph{TF_NewGraph(), TF_DeleteGraph};
    std::map<std::string, int> names;
  };
  explicit Scope(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  std::string Unique(const std::string& name) const {
    std::string full = prefix_ + name, result = full;
    for (int& number = shared_->names[full]; number++ > 0;) {
      result = full + "_" + std::to_string(number - 1);
      if (shared_->names.emplace(result, 1).second) break;
    }
    return result;
  }

  std::shared_ptr<Shared> shared_;
  std::string prefix_, op_name_, device_;
  std::vector<TF_Operation*> control_;
};

namespace detail {

using Attribute = std::variant<bool, int64_t, float, std::string, DataType, PartialTensorShape, Tensor, std::vector<bool>, std::vector<int64_t>,
                               std::vector<float>, std::vector<std::string>, std::vector<DataType>, std::vector<PartialTensorShape>>;

// The attributes that a call gives beyond those that it must give.
struct Attributes {
  std::vector<std::pair<const char*, Attribute>> values;
};

inline Operation Constant(const Scope& scope, const Tensor& value);

// An operation while it is described.
class Node {
 public:
  Node(const Scope& scope, const char* type)
      : scope_(scope), name_(scope.NameFor(type)), description_(TF_NewOperation(scope.graph(), type, name_.c_str())) {
    if (!scope.device().empty()) TF_SetDevice(description_, scope.device().c_str());
    for (TF_Operation* each : scope.control()) TF_AddControlInput(description_, each);
  }
  Node& input(const Input& given) {
    TF_AddInput(description_, Resolve(given));
    return *this;
  }
  Node& input(const std::vector<Input>& given) {
    std::vector<TF_Output> outputs;
    for (const Input& each : given) outputs.push_back(Resolve(each));
    TF_AddInputList(description_, outputs.data(), static_cast<int>(outputs.size()));
    return *this;
  }
  Node& attr(const char* name, const Attribute& value) {
    std::visit([&](const auto& each) { Set(name, each); }, value);
    return *this;
  }
  Node& attrs(const Attributes& given) {
    for (const auto& [name, value] : given.values) attr(name, value);
    return *this;
  }
  Operation finish() {
    Status status;
    Operation result{TF_FinishOperation(description_, status)};
    status.check();
    return result;
  }

 private:
  TF_Output Resolve(const Input& given);
  void Set(const char* name, bool value) { TF_SetAttrBool(description_, name, value); }
  void Set(const char* name, int64_t value) { TF_SetAttrInt(description_, name, value); }
  void Set(const char* name, float value) { TF_SetAttrFloat(description_, name, value); }
  void Set(const char* name, const std::string& value) { TF_SetAttrString(description_, name, value.data(), value.size()); }
  void Set(const char* name, DataType value) { TF_SetAttrType(description_, name, value); }
  void Set(const char* name, const PartialTensorShape& value) { TF_SetAttrShape(description_, name, value.dims.data(), value.rank()); }
  void Set(const char* name, const Tensor& value) {
    Status status;
    TF_SetAttrTensor(description_, name, value.get(), status);
    status.check();
  }
  void Set(const char* name, const std::vector<bool>& values) {
    std::vector<unsigned char> bytes(values.begin(), values.end());
    TF_SetAttrBoolList(description_, name, bytes.data(), static_cast<int>(bytes.size()));
  }
  void Set(const char* name, const std::vector<int64_t>& values) {
    TF_SetAttrIntList(description_, name, values.data(), static_cast<int>(values.size()));
  }
  void Set(const char* name, const std::vector<float>& values) {
    TF_SetAttrFloatList(description_, name, values.data(), static_cast<int>(values.size()));
  }
  void Set(const char* name, const std::vector<DataType>& values) {
    TF_SetAttrTypeList(description_, name, values.data(), static_cast<int>(values.size()));
  }
  void Set(const char* name, const std::vector<std::string>& values) {
    std::vector<const void*> places;
    std::vector<size_t> lengths;
    for (const std::string& each : values) {
      places.push_back(each.data());
      lengths.push_back(each.size());
    }
    TF_SetAttrStringList(description_, name, places.data(), lengths.data(), static_cast<int>(values.size()));
  }
  void Set(const char* name, const std::vector<PartialTensorShape>& values) {
    std::vector<const int64_t*> places;
    std::vector<int> ranks;
    for (const PartialTensorShape& each : values) {
      places.push_back(each.dims.data());
      ranks.push_back(each.rank());
    }
    TF_SetAttrShapeList(description_, name, places.data(), ranks.data(), static_cast<int>(values.size()));
  }

  const Scope& scope_;
  std::string name_;
  TF_OperationDescription* description_;
};

inline Operation Constant(const Scope& scope, const Tensor& value) {
  return Node(scope, "Const").attr("dtype", value.dtype()).attr("value", value).finish();
}

inline TF_Output Node::Resolve(const Input& given) {
  return given.is_output() ? given.output() : Constant(scope_.WithOpName("Const"), given.tensor()).output(0);
}

}  // namespace detail

namespace ops {

// A constant.
class Const {
 public:
  Const(const Scope& scope, const Input& value) : operation(detail::Constant(scope, value.tensor())), output(operation.output(0)) {}
  operator Output() const { return output; }
  operator Input() const { return output; }
  Operation operation;
  Output output;
};

}  // namespace ops

// Runs the operations of a scope's graph, which may grow meanwhile.
class ClientSession {
 public:
  using Feeds = std::vector<std::pair<Output, Input>>;

  explicit ClientSession(const Scope& scope, const std::string& target = "") : scope_(scope) {
    std::unique_ptr<TF_SessionOptions, void (*)(TF_SessionOptions*)> options(TF_NewSessionOptions(), TF_DeleteSessionOptions);
    TF_SetTarget(options.get(), target.c_str());
    detail::Status status;
    session_.reset(TF_NewSession(scope.graph(), options.get(), status));
    status.check();
  }
  std::vector<Tensor> Run(const std::vector<Output>& fetches) const { return Run({}, fetches, {}); }
  std::vector<Tensor> Run(const Feeds& feeds, const std::vector<Output>& fetches, const std::vector<Operation>& targets = {}) const {
    std::vector<TF_Output> keys, outputs(fetches.begin(), fetches.end());
    std::vector<Tensor> kept;  // as long as the run
    std::vector<TF_Tensor*> values, results(fetches.size(), nullptr);
    for (const auto& [key, value] : feeds) {
      keys.push_back(key);
      kept.push_back(value.tensor());
      values.push_back(kept.back().get());
    }
    std::vector<const TF_Operation*> wanted;
    for (const Operation& each : targets) wanted.push_back(each.op);
    detail::Status status;
    TF_SessionRun(session_.get(), nullptr, keys.data(), values.data(), static_cast<int>(keys.size()), outputs.data(), results.data(),
                  static_cast<int>(outputs.size()), wanted.data(), static_cast<int>(wanted.size()), nullptr, status);
    status.check();
    return std::vector<Tensor>(results.begin(), results.end());
  }

 private:
  struct Closer {
    void operator()(TF_Session* session) const { TF_DeleteSession(session, detail::Status()); }
  };
  Scope scope_;
  std::unique_ptr<TF_Session, Closer> session_;
};

// d(sum of ys)/dx for each x, weighted by grad_ys, if there are any.
inline std::vector<Output> AddSymbolicGradients(const Scope& scope, const std::vector<Output>& ys, const std::vector<Output>& xs,
                                                const std::vector<Output>& grad_ys = {}) {
  std::vector<TF_Output> y(ys.begin(), ys.end()), x(xs.begin(), xs.end()), weights(grad_ys.begin(), grad_ys.end()), made(xs.size());
  if (!weights.empty() && weights.size() != y.size()) throw Error(TF_INVALID_ARGUMENT, "grad_ys must be as many as ys");
  detail::Status status;
  TF_AddGradients(scope.graph(), y.data(), static_cast<int>(y.size()), x.data(), static_cast<int>(x.size()),
                  weights.empty() ? nullptr : weights.data(), status, made.data());
  status.check();
  std::vector<Output> result;
  for (const TF_Output& each : made) result.push_back(Output{each.oper, each.index});
  return result;
}

}  // namespace penstock

#include "penstock/ops.h"

#endif
