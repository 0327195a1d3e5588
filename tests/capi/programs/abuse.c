/* Calls that are wrong: each gives a status, or nothing, and the program goes on. */
#include "common.h"

static void refused(const char* what) {
  printf("%s: %s\n", what, TF_GetCode(status) == TF_OK ? "ACCEPTED" : TF_Message(status));
  TF_SetStatus(status, TF_OK, "");
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  status = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Graph* other = TF_NewGraph();
  int64_t dims[] = {2, 3}, huge[] = {1LL << 40, 1LL << 40}, negative[] = {-1};
  float memory[2] = {0};
  TF_Operation* x = placeholder(graph, TF_FLOAT, 2, dims, "x");
  TF_Operation* y = unary(graph, "Neg", first(x), "y");
  TF_Session* session = session_on(graph);
  printf("tensors: %d %d %d %d\n", TF_NewTensor(TF_FLOAT, dims, 2, memory, 8, NULL, NULL) == NULL,
         TF_AllocateTensor(TF_FLOAT, huge, 2, 8) == NULL, TF_AllocateTensor(TF_FLOAT, negative, 1, 8) == NULL,
         TF_AllocateTensor(TF_FLOAT, dims, -3, 8) == NULL);
  const char* text;
  size_t length;
  TF_StringDecode("\377\377\377\377\377\377\377\377\377\377\377\377", 12, &text, &length, status);
  refused("varint without an end");
  TF_StringDecode("\005abc", 4, &text, &length, status);
  refused("string that is cut off");

  TF_Output outputs[] = {{y, 1}, {y, -1}, {NULL, 0}, {(TF_Operation*)(intptr_t)12345, 0}, {(TF_Operation*)graph, 0}};
  for (int i = 0; i < 5; i++) {
    TF_Tensor* result;
    TF_SessionRun(session, NULL, NULL, NULL, 0, outputs + i, &result, 1, NULL, 0, NULL, status);
    refused("output");
    TF_GraphGetTensorNumDims(graph, outputs[i], status);
    refused("rank");
    TF_OperationDescription* desc = TF_NewOperation(graph, "Neg", "n");
    TF_AddInput(desc, outputs[i]);
    TF_FinishOperation(desc, status);
    refused("input");
    TF_Output gradients[1];
    TF_AddGradients(graph, outputs + i, 1, outputs + i, 1, NULL, status, gradients);
    refused("gradient");
  }
  TF_OperationDescription* desc = TF_NewOperation(other, "Neg", "n");
  TF_AddInput(desc, first(x));
  TF_FinishOperation(desc, status);
  refused("input of another graph");
  TF_FinishOperation(desc, status);
  refused("description that has ended");
  desc = TF_NewOperation(graph, "Placeholder", "not a name!");
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  TF_FinishOperation(desc, status);
  refused("name");
  desc = TF_NewOperation(graph, "Placeholder", "p");
  TF_SetAttrType(desc, "dtype", (TF_DataType)4711);
  TF_FinishOperation(desc, status);
  refused("type");
  desc = TF_NewOperation(graph, "Placeholder", "p");
  TF_SetAttrString(desc, "dtype", "float", 5);
  TF_FinishOperation(desc, status);
  refused("attribute of another kind");
  desc = TF_NewOperation(graph, "Const", "c");
  TF_SetAttrTensor(desc, "value", NULL, status);
  refused("no tensor");
  TF_SetAttrValueProto(desc, "value", "\377\377", 2, status);
  refused("no proto");
  TF_FinishOperation(desc, status);
  refused("without a value");

  int64_t one[] = {1};
  TF_Tensor* strings = TF_AllocateTensor(TF_STRING, one, 1, 9);
  uint64_t offset = 1000;
  memcpy(TF_TensorData(strings), &offset, 8);
  desc = TF_NewOperation(graph, "Const", "s");
  TF_SetAttrTensor(desc, "value", strings, status);
  refused("string out of range");
  TF_FinishOperation(desc, status);
  TF_DeleteTensor(strings);
  TF_Tensor* small = floats(memory, 1, one, NULL);
  TF_DeleteTensor(run(session, first(x), small, first(y)));
  refused("feed of another shape");
  TF_Output twice[] = {first(x), first(x)}, fetch = first(y);
  TF_Tensor *values[] = {small, small}, *result = NULL;
  TF_SessionRun(session, NULL, twice, values, 2, &fetch, &result, 1, NULL, 0, NULL, status);
  refused("fed twice");
  TF_SessionRun(session, NULL, NULL, NULL, 0, &fetch, &result, -1, NULL, 0, NULL, status);
  refused("negative count");
  TF_SessionRun(session, NULL, twice, NULL, 1, &fetch, &result, 1, NULL, 0, NULL, status);
  refused("no values");
  TF_Buffer* broken = TF_NewBufferFromString("\377\377", 2);
  TF_SessionRun(session, broken, NULL, NULL, 0, &fetch, &result, 1, NULL, 0, NULL, status);
  refused("run options");
  TF_SessionRun(session, NULL, NULL, NULL, 0, &fetch, &result, 1, NULL, 0, broken, status);
  refused("full metadata");
  TF_DeleteTensor(small);
  TF_SessionPRun(session, "no handle", NULL, NULL, 0, &fetch, &result, 1, NULL, 0, status);
  refused("handle of a partial run");

  TF_NewSession(NULL, NULL, status);
  refused("no graph");
  TF_NewSession((TF_Graph*)session, NULL, status);
  refused("handle of another kind");
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_SetTarget(options, "nonsense://");
  TF_NewSession(graph, options, status);
  refused("target");
  const char* tags[] = {"serve"};
  TF_LoadSessionFromSavedModel(options, NULL, "/nonexistent", tags, 1, other, NULL, status);
  refused("no SavedModel");
  TF_DeleteSessionOptions(options);
  TF_GraphImportGraphDef(other, broken, NULL, status);
  refused("no GraphDef");
  TF_DeleteBuffer(broken);
  TF_FunctionImportFunctionDef("\377\377", 2, status);
  refused("no function");
  TF_LoadLibrary("/nonexistent.so", status);
  refused("no library");
  TF_WhileParams loop = TF_NewWhile(graph, twice, 1, status);
  must("TF_NewWhile");
  TF_FinishWhile(&loop, status, twice);
  refused("loop without a condition");
  TF_FinishWhile(&loop, status, twice);
  refused("loop that has ended");
  TF_DeleteSession(session, status);
  must("TF_DeleteSession");
  TF_DeleteGraph(graph);
  TF_DeleteGraph(other);
  TF_GraphGetTensorNumDims(graph, first(y), status);
  refused("graph that was deleted");
  TF_DeleteSession(session, status);
  refused("session that was deleted");
  TF_DeleteGraph(NULL);
  TF_DeleteTensor(NULL);
  TF_DeleteStatus(status);
  printf("survived\n");
  return 0;
}
