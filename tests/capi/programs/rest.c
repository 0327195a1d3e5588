/* What conformance.c leaves out: other attributes, partial runs by names, attributes of functions, devices. Recorded from TensorFlow 1.15, too. */
#include "common.h"

static void told(const char* what) {
  printf("%s %d\n", what, TF_GetCode(status));
  if (getenv("TOLD")) printf("  %s\n", TF_Message(status));
  TF_SetStatus(status, TF_OK, "");
}

static void metadata(TF_Operation* op, const char* name) {
  TF_AttrMetadata m = TF_OperationGetAttrMetadata(op, name, status);
  printf("%s: %d list %d size %lld type %d total %lld\n", name, TF_GetCode(status), m.is_list, (long long)m.list_size, m.type,
         (long long)m.total_size);
  TF_SetStatus(status, TF_OK, "");
}

static void proto_of(TF_Operation* op, const char* name) {
  TF_Buffer* buffer = TF_NewBuffer();
  TF_OperationGetAttrValueProto(op, name, buffer, status);
  TF_Buffer bytes = TF_GetBuffer(buffer);
  printf("%s %d as proto, %zu bytes:", name, TF_GetCode(status), bytes.length);
  for (size_t i = 0; i < bytes.length; i++) printf(" %02x", ((const unsigned char*)bytes.data)[i]);
  printf("\n");
  TF_SetStatus(status, TF_OK, "");
  TF_DeleteBuffer(buffer);
}

static void lists(void) {
  printf("-- lists\n");
  TF_Graph* graph = TF_NewGraph();
  int64_t two[] = {2, 3}, one[] = {5};
  const int64_t* dims[] = {two, one, NULL};
  int ranks[] = {2, 1, -1};
  TF_DataType types[] = {TF_FLOAT, TF_INT32, TF_FLOAT};
  TF_OperationDescription* desc = TF_NewOperation(graph, "FIFOQueue", "queue");
  TF_SetAttrTypeList(desc, "component_types", types, 3);
  TF_SetAttrShapeList(desc, "shapes", dims, ranks, 3);
  TF_SetAttrInt(desc, "capacity", 7);
  TF_SetAttrString(desc, "container", "box", 3);
  TF_Operation* queue = TF_FinishOperation(desc, status);
  told("queue");
  if (queue == NULL) exit(1);
  metadata(queue, "component_types");
  metadata(queue, "shapes");
  metadata(queue, "capacity");
  metadata(queue, "container");
  TF_DataType got[3];
  TF_OperationGetAttrTypeList(queue, "component_types", got, 3, status);
  printf("types %d: %d %d %d\n", TF_GetCode(status), got[0], got[1], got[2]);
  int64_t* places[3];
  int lengths[3];
  int64_t storage[8];
  TF_OperationGetAttrShapeList(queue, "shapes", places, lengths, 3, storage, 8, status);
  printf("shapes %d: %d (%lld, %lld), %d (%lld), %d\n", TF_GetCode(status), lengths[0], (long long)places[0][0], (long long)places[0][1], lengths[1],
         (long long)places[1][0], lengths[2]);
  TF_OperationGetAttrShapeList(queue, "shapes", places, lengths, 3, storage, 2, status);
  told("shapes without room");
  TF_OperationGetAttrTypeList(queue, "component_types", got, 1, status);
  printf("first type %d\n", got[0]);
  told("one of the types");
  int64_t number = 0;
  TF_OperationGetAttrInt(queue, "capacity", &number, status);
  printf("capacity %lld\n", (long long)number);
  proto_of(queue, "component_types");
  proto_of(queue, "capacity");
  proto_of(queue, "container");
  proto_of(queue, "none");
  TF_Buffer* protos[3] = {TF_NewBuffer(), TF_NewBuffer(), TF_NewBuffer()};
  TF_OperationGetAttrTensorShapeProtoList(queue, "shapes", protos, 3, status);
  printf("shapes as protos %d: %zu %zu %zu bytes\n", TF_GetCode(status), protos[0]->length, protos[1]->length, protos[2]->length);
  TF_SetStatus(status, TF_OK, "");
  desc = TF_NewOperation(graph, "FIFOQueue", "other");
  const void* data[] = {protos[0]->data, protos[1]->data};
  size_t sizes[] = {protos[0]->length, protos[1]->length};
  TF_SetAttrTypeList(desc, "component_types", types, 2);
  TF_SetAttrTensorShapeProtoList(desc, "shapes", data, sizes, 2, status);
  told("shapes from protos");
  TF_Operation* other = TF_FinishOperation(desc, status);
  told("other");
  if (other != NULL) metadata(other, "shapes");
  for (int i = 0; i < 3; i++) TF_DeleteBuffer(protos[i]);
  TF_Buffer* node = TF_NewBuffer();
  TF_OperationToNodeDef(queue, node, status);
  printf("node %d %d\n", TF_GetCode(status), node->length > 40);
  TF_DeleteBuffer(node);

  desc = TF_NewOperation(graph, "Placeholder", "holder");
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  unsigned char shape[] = {0x12, 0x02, 0x08, 0x04, 0x12, 0x0b, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
  TF_SetAttrTensorShapeProto(desc, "shape", shape, sizeof shape, status);
  told("shape from a proto");
  TF_Operation* holder = TF_FinishOperation(desc, status);
  told("holder");
  TF_Buffer* back = TF_NewBuffer();
  TF_OperationGetAttrTensorShapeProto(holder, "shape", back, status);
  printf("shape %d, %zu bytes, the same %d\n", TF_GetCode(status), back->length,
         back->length == sizeof shape && !memcmp(back->data, shape, sizeof shape));
  TF_SetStatus(status, TF_OK, "");
  TF_DeleteBuffer(back);
  desc = TF_NewOperation(graph, "Placeholder", "broken");
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  TF_SetAttrTensorShapeProto(desc, "shape", "\xff\xff", 2, status);
  told("broken shape");
  TF_FinishOperation(desc, status);
  told("after a broken shape");

  desc = TF_NewOperation(graph, "Bucketize", "bucketize");
  float bounds[] = {-1.5f, 0, 2.5f}, seen[3] = {0};
  TF_AddInput(desc, first(holder));
  TF_SetAttrFloatList(desc, "boundaries", bounds, 3);
  TF_Operation* bucketize = TF_FinishOperation(desc, status);
  told("bucketize");
  metadata(bucketize, "boundaries");
  TF_OperationGetAttrFloatList(bucketize, "boundaries", seen, 3, status);
  printf("bounds %g %g %g\n", seen[0], seen[1], seen[2]);
  desc = TF_NewOperation(graph, "LeakyRelu", "leaky");
  TF_AddInput(desc, first(holder));
  TF_SetAttrFloat(desc, "alpha", 0.25f);
  TF_Operation* leaky = TF_FinishOperation(desc, status);
  told("leaky");
  float alpha = 0;
  TF_OperationGetAttrFloat(leaky, "alpha", &alpha, status);
  printf("alpha %g\n", alpha);
  TF_OperationGetAttrFloat(leaky, "T", &alpha, status);
  told("a type as a float");

  TF_Tensor* value = int_scalar(42);
  desc = TF_NewOperation(graph, "Const", "const");
  TF_SetAttrTensor(desc, "value", value, status);
  TF_SetAttrType(desc, "dtype", TF_INT32);
  TF_Operation* number_op = TF_FinishOperation(desc, status);
  told("const");
  TF_DeleteTensor(value);
  TF_Tensor* kept = NULL;
  TF_OperationGetAttrTensor(number_op, "value", &kept, status);
  show("value", kept);
  TF_DeleteTensor(kept);
  TF_OperationGetAttrTensor(holder, "shape", &kept, status);
  told("a shape as a tensor");

  TF_Operation* axis = constant(graph, int_scalar(0), "axis");
  desc = TF_NewOperation(graph, "Concat", "concat");
  TF_Output parts[] = {first(holder), first(holder), first(leaky)};
  TF_AddInput(desc, first(axis));
  TF_AddInputList(desc, parts, 3);
  TF_Operation* concat = TF_FinishOperation(desc, status);
  told("concat");
  if (concat != NULL) printf("inputs %d, list %d\n", TF_OperationNumInputs(concat), TF_OperationInputListLength(concat, "values", status));
  const void* words[] = {"one", "", "three"};
  size_t word_lengths[] = {3, 0, 5};
  desc = TF_NewOperation(graph, "NoOp", "noop");
  TF_SetAttrStringList(desc, "_words", words, word_lengths, 3);
  unsigned char flags[] = {1, 0, 1};
  TF_SetAttrBoolList(desc, "_flags", flags, 3);
  TF_SetAttrFuncName(desc, "_function", "f", 1);
  TF_SetAttrPlaceholder(desc, "_open", "T");
  TF_Operation* noop = TF_FinishOperation(desc, status);
  told("noop");
  if (noop != NULL) {
    metadata(noop, "_words");
    metadata(noop, "_flags");
    metadata(noop, "_function");
    metadata(noop, "_open");
    unsigned char back_flags[3] = {9, 9, 9};
    TF_OperationGetAttrBoolList(noop, "_flags", back_flags, 3, status);
    printf("flags %d %d %d\n", back_flags[0], back_flags[1], back_flags[2]);
    proto_of(noop, "_function");
    proto_of(noop, "_open");
  }
  TF_DeleteGraph(graph);
}

static void moving(void) {
  printf("-- moving\n");
  float numbers[] = {1, 2};
  int64_t dims[] = {2};
  TF_Tensor* mine = floats(numbers, 1, dims, NULL);
  printf("of the program %d\n", TF_TensorMaybeMove(mine) != NULL);
  TF_DeleteTensor(mine);
  TF_Tensor* allocated = int_scalar(3);
  printf("allocated %d\n", TF_TensorMaybeMove(allocated) != NULL);
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* op = constant(graph, allocated, "c");
  TF_Operation* negative = unary(graph, "Neg", first(op), "neg");
  TF_Session* session = session_on(graph);
  TF_Output none = {NULL, 0};
  TF_Tensor* result = run(session, none, NULL, first(negative));
  TF_Tensor* moved = TF_TensorMaybeMove(result);
  printf("a result %d\n", moved != NULL);
  show("moved", moved != NULL ? moved : result);
  end_session(session);
  TF_DeleteGraph(graph);
}

static void named_sessions(void) {
  printf("-- sessions without a graph\n");
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = placeholder(graph, TF_FLOAT, 0, NULL, "x");
  TF_Operation* y = placeholder(graph, TF_FLOAT, 0, NULL, "y");
  TF_Operation* sum = binary(graph, "Add", first(x), first(y), "sum");
  binary(graph, "Mul", first(sum), first(sum), "square");
  TF_Buffer* buffer = TF_NewBuffer();
  TF_GraphToGraphDef(graph, buffer, status);
  must("graph def");
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_DeprecatedSession* session = TF_NewDeprecatedSession(options, status);
  must("session");
  TF_ExtendGraph(session, buffer->data, buffer->length, status);
  must("extend");
  TF_ExtendGraph(session, buffer->data, buffer->length, status);
  told("extended twice");
  TF_DeviceList* devices = TF_DeprecatedSessionListDevices(session, status);
  must("devices");
  printf("devices %d\n", TF_DeviceListCount(devices) >= 1);
  printf("name %s, type %s, memory %d, incarnation %d\n", strstr(TF_DeviceListName(devices, 0, status), "CPU:0") != NULL ? "CPU:0" : "?",
         TF_DeviceListType(devices, 0, status), TF_DeviceListMemoryBytes(devices, 0, status) > 0, TF_DeviceListIncarnation(devices, 0, status) != 0);
  TF_DeviceListName(devices, 99, status);
  told("device 99");
  TF_DeleteDeviceList(devices);
  const char *feeds[] = {"x", "y"}, *fetches[] = {"sum", "square"};
  const char* handle = NULL;
  TF_PRunSetup(session, feeds, 2, fetches, 2, NULL, 0, &handle, status);
  told("partial run");
  TF_Tensor* inputs[] = {scalar(2), scalar(3)};
  TF_Tensor* outputs[2] = {NULL, NULL};
  TF_PRun(session, handle, feeds, inputs, 2, fetches, outputs, 1, NULL, 0, status);
  told("first part");
  if (outputs[0]) show("sum", outputs[0]);
  TF_PRun(session, handle, NULL, NULL, 0, fetches + 1, outputs + 1, 1, NULL, 0, status);
  told("second part");
  if (outputs[1]) show("square", outputs[1]);
  TF_DeleteTensor(outputs[0]);
  TF_DeleteTensor(outputs[1]);
  TF_CloseDeprecatedSession(session, status);
  told("closed");
  TF_DeleteDeprecatedSession(session, status);
  told("deleted");
  TF_DeleteSessionOptions(options);
  TF_DeleteBuffer(buffer);
  TF_DeleteGraph(graph);
}

static void functions(void) {
  printf("-- functions\n");
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = placeholder(graph, TF_FLOAT, 0, NULL, "x");
  TF_Operation* neg = unary(graph, "Neg", first(x), "neg");
  TF_Output in = first(x), out = first(neg);
  TF_Function* function = TF_GraphToFunction(graph, "negate", 0, -1, NULL, 1, &in, 1, &out, NULL, NULL, NULL, status);
  told("function");
  unsigned char yes[] = {0x28, 0x01};
  TF_FunctionSetAttrValueProto(function, "_flag", yes, 2, status);
  told("attribute");
  TF_Buffer* buffer = TF_NewBuffer();
  TF_FunctionGetAttrValueProto(function, "_flag", buffer, status);
  printf("%zu bytes: %02x %02x\n", buffer->length, ((const unsigned char*)buffer->data)[0], ((const unsigned char*)buffer->data)[1]);
  TF_DeleteBuffer(buffer);
  buffer = TF_NewBuffer();
  TF_FunctionGetAttrValueProto(function, "none", buffer, status);
  told("no attribute");
  TF_FunctionSetAttrValueProto(function, "_flag", "\xff\xff", 2, status);
  told("a broken attribute");
  TF_DeleteBuffer(buffer);
  TF_DeleteFunction(function);
  TF_DeleteGraph(graph);
}

static void imports(void) {
  printf("-- imports\n");
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* start = TF_FinishOperation(TF_NewOperation(graph, "NoOp", "start"), status);
  TF_OperationDescription* desc = TF_NewOperation(graph, "Placeholder", "after");
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  TF_AddControlInput(desc, start);
  TF_FinishOperation(desc, status);
  TF_Buffer* buffer = TF_NewBuffer();
  TF_GraphToGraphDef(graph, buffer, status);
  must("graph def");
  TF_Graph* other = TF_NewGraph();
  TF_Operation* gate = TF_FinishOperation(TF_NewOperation(other, "NoOp", "gate"), status);
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsSetPrefix(options, "p");
  TF_ImportGraphDefOptionsRemapControlDependency(options, "start", gate);
  TF_ImportGraphDefOptionsSetDefaultDevice(options, "/device:CPU:0");
  TF_GraphImportGraphDef(other, buffer, options, status);
  told("import");
  TF_Operation* after = TF_GraphOperationByName(other, "p/after");
  TF_Operation* waits[2] = {NULL, NULL};
  int count = TF_OperationGetControlInputs(after, waits, 2);
  printf("waits for %d: %s, on %s\n", count, TF_OperationName(waits[0]), TF_OperationDevice(after));
  TF_DeleteImportGraphDefOptions(options);
  TF_DeleteBuffer(buffer);
  TF_Output loss, grads[1] = {{NULL, 0}};
  TF_Operation* x = placeholder(other, TF_FLOAT, 0, NULL, "x");
  loss = first(binary(other, "Mul", first(x), first(x), "loss"));
  TF_Output to = first(x);
  TF_AddGradientsWithPrefix(other, "mine", &loss, 1, &to, 1, NULL, status, grads);
  told("gradients");
  printf("under mine/ %d\n", strncmp(TF_OperationName(grads[0].oper), "mine/", 5) == 0);
  TF_AddGradientsWithPrefix(other, "mine", &loss, 1, &to, 1, NULL, status, grads);
  told("the prefix again");
  TF_DeleteGraph(other);
  TF_DeleteGraph(graph);
}

static void registry(void) {
  printf("-- registry\n");
  TF_Buffer* all = TF_GetAllRegisteredKernels(status);
  printf("kernels %d %d\n", TF_GetCode(status), all != NULL && all->length > 1000);
  TF_DeleteBuffer(all);
  TF_Buffer* some = TF_GetRegisteredKernelsForOp("MatMul", status);
  printf("of MatMul %d %d\n", TF_GetCode(status), some != NULL && some->length > 10);
  TF_DeleteBuffer(some);
  some = TF_GetRegisteredKernelsForOp("NoSuchOp", status);
  printf("of none %d %zu\n", TF_GetCode(status), some != NULL ? some->length : 0);
  TF_DeleteBuffer(some);
}

int main(void) {
  status = TF_NewStatus();
  lists();
  moving();
  named_sessions();
  functions();
  imports();
  registry();
  TF_DeleteStatus(status);
  return 0;
}
