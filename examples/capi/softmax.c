/* Softmax regression tells three kinds of irises apart: the program of softmax.py in C, over TensorFlow's C API.

     penstock capi --build build/capi
     cc -Ibuild/capi/include examples/capi/softmax.c -o build/softmax -Lbuild/capi/lib -lpenstock -Wl,-rpath,$PWD/build/capi/lib
     build/softmax src/penstock/datasets/iris.csv

   It uses no name that libtensorflow does not have: with -ltensorflow it is the same program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tensorflow/c/c_api.h>

#define EXAMPLES 150
#define FEATURES 4
#define CLASSES 3
#define STEPS 300

static TF_Status* status;
static TF_Graph* graph;

static void check(const char* what) {
  if (TF_GetCode(status) == TF_OK) return;
  fprintf(stderr, "%s: %s\n", what, TF_Message(status));
  exit(1);
}

/* ---- building: an operation with inputs, and attributes that a few calls set between `begin` and `end` ---- */

static TF_OperationDescription* begin(const char* type, const char* name, int count, const TF_Output* inputs) {
  TF_OperationDescription* description = TF_NewOperation(graph, type, name);
  for (int i = 0; i < count; i++) TF_AddInput(description, inputs[i]);
  return description;
}

static TF_Output end(TF_OperationDescription* description, const char* name) {
  TF_Output output = {TF_FinishOperation(description, status), 0};
  check(name);
  return output;
}

static TF_Output op(const char* type, const char* name, int count, TF_Output first, TF_Output second, TF_Output third) {
  TF_Output inputs[] = {first, second, third};
  return end(begin(type, name, count, inputs), name);
}

static TF_Tensor* tensor(TF_DataType type, int rank, const int64_t* dims, const void* data) {
  size_t size = TF_DataTypeSize(type);
  for (int i = 0; i < rank; i++) size *= (size_t)dims[i];
  TF_Tensor* result = TF_AllocateTensor(type, dims, rank, size);
  memcpy(TF_TensorData(result), data, size);
  return result;
}

static TF_Output constant(const char* name, TF_DataType type, int rank, const int64_t* dims, const void* data) {
  TF_OperationDescription* description = begin("Const", name, 0, NULL);
  TF_Tensor* value = tensor(type, rank, dims, data);
  TF_SetAttrType(description, "dtype", type);
  TF_SetAttrTensor(description, "value", value, status);
  TF_DeleteTensor(value);
  return end(description, name);
}

static TF_Output typed(const char* type, const char* name, TF_DataType dtype, int rank, const int64_t* dims) {
  TF_OperationDescription* description = begin(type, name, 0, NULL);
  TF_SetAttrType(description, "dtype", dtype);
  TF_SetAttrShape(description, "shape", dims, rank);
  return end(description, name);
}

static void read_irises(const char* path, float* features, int64_t* labels) {
  FILE* file = fopen(path, "r");
  char line[200];
  if (file == NULL || fgets(line, sizeof line, file) == NULL) exit(1);
  for (int i = 0; i < EXAMPLES; i++) {
    float* row = features + i * FEATURES;
    long label;
    if (fscanf(file, "%f,%f,%f,%f,%ld", row, row + 1, row + 2, row + 3, &label) != FEATURES + 1) exit(1);
    labels[i] = label;
  }
  fclose(file);
}

int main(int argc, char** argv) {
  static float features[EXAMPLES * FEATURES];
  static int64_t labels[EXAMPLES];
  read_irises(argc > 1 ? argv[1] : "src/penstock/datasets/iris.csv", features, labels);
  status = TF_NewStatus();
  graph = TF_NewGraph();
  const TF_Output none = {NULL, 0};

  /* the model */
  int64_t x_dims[] = {-1, FEATURES}, y_dims[] = {-1}, w_dims[] = {FEATURES, CLASSES}, b_dims[] = {CLASSES}, one_dim[] = {1};
  float zeros[FEATURES * CLASSES] = {0}, rate = 0.1f;
  int axis = 0, classes_axis = 1;
  TF_Output x = typed("Placeholder", "x", TF_FLOAT, 2, x_dims), y = typed("Placeholder", "y", TF_INT64, 1, y_dims);
  TF_Output w = typed("VariableV2", "w", TF_FLOAT, 2, w_dims), b = typed("VariableV2", "b", TF_FLOAT, 1, b_dims);
  TF_Output initial[] = {op("Assign", "init_w", 2, w, constant("zero_w", TF_FLOAT, 2, w_dims, zeros), none),
                         op("Assign", "init_b", 2, b, constant("zero_b", TF_FLOAT, 1, b_dims, zeros), none)};
  TF_Output logits = op("BiasAdd", "logits", 2, op("MatMul", "product", 2, x, w, none), b, none);
  TF_Output losses = op("SparseSoftmaxCrossEntropyWithLogits", "losses", 2, logits, y, none);
  TF_Output loss = op("Mean", "loss", 2, losses, constant("axis", TF_INT32, 1, one_dim, &axis), none);
  TF_Output classes = op("ArgMax", "classes", 2, logits, constant("classes_axis", TF_INT32, 0, NULL, &classes_axis), none);

  /* its training */
  TF_Output variables[] = {w, b}, gradients[2];
  TF_AddGradients(graph, &loss, 1, variables, 2, NULL, status, gradients);
  check("gradients");
  TF_Output step = constant("rate", TF_FLOAT, 0, NULL, &rate);
  TF_Output train[] = {op("ApplyGradientDescent", "train_w", 3, w, step, gradients[0]),
                       op("ApplyGradientDescent", "train_b", 3, b, step, gradients[1])};

  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(graph, options, status);
  check("session");
  TF_DeleteSessionOptions(options);
  const TF_Operation *begins[] = {initial[0].oper, initial[1].oper}, *updates[] = {train[0].oper, train[1].oper};
  TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, begins, 2, NULL, status);
  check("initial values");

  int64_t all[] = {EXAMPLES, FEATURES};
  TF_Output feeds[] = {x, y};
  TF_Tensor* values[] = {tensor(TF_FLOAT, 2, all, features), tensor(TF_INT64, 1, all, labels)};
  for (int i = 0; i <= STEPS; i++) {
    TF_Tensor* result;
    TF_SessionRun(session, NULL, feeds, values, 2, &loss, &result, 1, updates, 2, NULL, status);
    check("step");
    if (i % 100 == 0) printf("step %d: loss %.3f\n", i, *(float*)TF_TensorData(result));
    TF_DeleteTensor(result);
  }

  /* its use */
  TF_Tensor* answer;
  TF_SessionRun(session, NULL, feeds, values, 1, &classes, &answer, 1, NULL, 0, NULL, status);
  check("classes");
  int right = 0;
  for (int i = 0; i < EXAMPLES; i++) right += ((int64_t*)TF_TensorData(answer))[i] == labels[i];
  printf("%d of %d irises are told right\n", right, EXAMPLES);

  TF_DeleteTensor(answer);
  TF_DeleteTensor(values[0]);
  TF_DeleteTensor(values[1]);
  TF_DeleteSession(session, status);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return right < 140;
}
