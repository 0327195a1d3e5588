/* What the test programs share: short names for the steps that every one of them takes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

static TF_Status* status;

static void must(const char* what) {
  if (TF_GetCode(status) == TF_OK) return;
  printf("FAILED %s: %d %s\n", what, TF_GetCode(status), TF_Message(status));
  exit(1);
}

static void count_call(void* data, size_t length, void* counter) {
  (void)length;
  free(data);
  if (counter != NULL) ++*(int*)counter;
}

static TF_Tensor* floats(const float* values, int rank, const int64_t* dims, int* freed) {
  size_t count = 1;
  for (int i = 0; i < rank; i++) count *= (size_t)dims[i];
  float* copy = malloc(count * sizeof(float) + 1);
  memcpy(copy, values, count * sizeof(float));
  return TF_NewTensor(TF_FLOAT, dims, rank, copy, count * sizeof(float), count_call, freed);
}

static TF_Tensor* scalar(float value) { return floats(&value, 0, NULL, NULL); }

static TF_Tensor* int_scalar(int value) {
  TF_Tensor* tensor = TF_AllocateTensor(TF_INT32, NULL, 0, sizeof(int));
  *(int*)TF_TensorData(tensor) = value;
  return tensor;
}

static TF_Output first(TF_Operation* op) {
  TF_Output output = {op, 0};
  return output;
}

static TF_Operation* constant(TF_Graph* graph, TF_Tensor* value, const char* name) {
  TF_OperationDescription* desc = TF_NewOperation(graph, "Const", name);
  TF_SetAttrTensor(desc, "value", value, status);
  must("value");
  TF_SetAttrType(desc, "dtype", TF_TensorType(value));
  TF_Operation* op = TF_FinishOperation(desc, status);
  must(name);
  TF_DeleteTensor(value);
  return op;
}

static TF_Operation* placeholder(TF_Graph* graph, TF_DataType type, int rank, const int64_t* dims, const char* name) {
  TF_OperationDescription* desc = TF_NewOperation(graph, "Placeholder", name);
  TF_SetAttrType(desc, "dtype", type);
  if (dims != NULL || rank == 0) TF_SetAttrShape(desc, "shape", dims, rank);
  TF_Operation* op = TF_FinishOperation(desc, status);
  must(name);
  return op;
}

static TF_Operation* unary(TF_Graph* graph, const char* type, TF_Output x, const char* name) {
  TF_OperationDescription* desc = TF_NewOperation(graph, type, name);
  TF_AddInput(desc, x);
  TF_Operation* op = TF_FinishOperation(desc, status);
  must(name);
  return op;
}

static TF_Operation* binary(TF_Graph* graph, const char* type, TF_Output x, TF_Output y, const char* name) {
  TF_OperationDescription* desc = TF_NewOperation(graph, type, name);
  TF_AddInput(desc, x);
  TF_AddInput(desc, y);
  TF_Operation* op = TF_FinishOperation(desc, status);
  must(name);
  return op;
}

static TF_Session* session_on(TF_Graph* graph) {
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(graph, options, status);
  must("TF_NewSession");
  TF_DeleteSessionOptions(options);
  return session;
}

static void end_session(TF_Session* session) {
  TF_CloseSession(session, status);
  must("TF_CloseSession");
  TF_DeleteSession(session, status);
  must("TF_DeleteSession");
}

/* Runs one output with one feed, or none; the caller deletes the result. */
static TF_Tensor* run(TF_Session* session, TF_Output feed, TF_Tensor* value, TF_Output fetch) {
  TF_Tensor* result = NULL;
  TF_SessionRun(session, NULL, &feed, &value, value != NULL, &fetch, &result, 1, NULL, 0, NULL, status);
  return result;
}

static void show(const char* what, TF_Tensor* tensor) {
  printf("%s: type %d, [", what, TF_TensorType(tensor));
  for (int i = 0; i < TF_NumDims(tensor); i++) printf("%s%lld", i ? ", " : "", (long long)TF_Dim(tensor, i));
  printf("], %zu bytes:", TF_TensorByteSize(tensor));
  int64_t count = TF_TensorElementCount(tensor);
  for (int64_t i = 0; i < count; i++) {
    if (TF_TensorType(tensor) == TF_FLOAT) printf(" %.4g", ((float*)TF_TensorData(tensor))[i]);
    if (TF_TensorType(tensor) == TF_INT32) printf(" %d", ((int*)TF_TensorData(tensor))[i]);
  }
  printf("\n");
}
