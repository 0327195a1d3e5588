/* The functions of the C API, one group after the other. What it prints was recorded from TensorFlow 1.15 (see ../record.sh). */
#include "common.h"

static const TF_Output nowhere = {NULL, 0};

/* A status that may be an error, with or without its message; the next call finds none. */
static void told(const char* what) {
  printf("%s %d\n", what, TF_GetCode(status));
  if (getenv("TOLD")) printf("  %s\n", TF_Message(status));
  TF_SetStatus(status, TF_OK, "");
}

static void told_all(const char* what) {
  printf("%s %d: %s\n", what, TF_GetCode(status), TF_Message(status));
  TF_SetStatus(status, TF_OK, "");
}

static void tensors(void) {
  printf("-- tensors\n");
  int freed = 0;
  int64_t dims[] = {2, 3}, flat[] = {6}, wrong[] = {5};
  float values[] = {1, 2, 3, 4, 5, 6};
  TF_Tensor* t = floats(values, 2, dims, &freed);
  show("t", t);
  TF_Tensor* other = TF_AllocateTensor(TF_FLOAT, flat, 1, 24);
  TF_TensorBitcastFrom(t, TF_INT32, other, flat, 1, status);
  printf("bitcast %d, same memory %d, type %d\n", TF_GetCode(status), TF_TensorData(other) == TF_TensorData(t), TF_TensorType(other));
  TF_TensorBitcastFrom(t, TF_INT32, other, wrong, 1, status);
  told("bitcast of another size");
  TF_DeleteTensor(t);
  printf("freed while shared %d\n", freed);
  TF_DeleteTensor(other);
  printf("freed %d\n", freed);
  printf("sizes");
  for (int type = 1; type <= 23; type++) printf(" %zu", TF_DataTypeSize((TF_DataType)type));
  printf("\n");
}

static void strings(void) {
  printf("-- strings\n");
  char encoded[300], text[200];
  memset(text, 'x', sizeof text);
  printf("sizes %zu %zu %zu\n", TF_StringEncodedSize(0), TF_StringEncodedSize(127), TF_StringEncodedSize(128));
  size_t size = TF_StringEncode(text, 200, encoded, sizeof encoded, status);
  printf("encoded %zu, %d\n", size, TF_GetCode(status));
  const char* decoded;
  size_t length;
  printf("decoded %zu, ", TF_StringDecode(encoded, size, &decoded, &length, status));
  printf("%zu %d\n", length, memcmp(decoded, text, 200));
  TF_StringEncode(text, 200, encoded, 201, status);
  told("no room");

  TF_Graph* graph = TF_NewGraph();
  int64_t dims[] = {2};
  TF_Tensor* t = TF_AllocateTensor(TF_STRING, dims, 1, 16 + 6 + 1);
  uint64_t offsets[] = {0, 6};
  memcpy(TF_TensorData(t), offsets, 16);
  TF_StringEncode("hello", 5, (char*)TF_TensorData(t) + 16, 6, status);
  TF_StringEncode("", 0, (char*)TF_TensorData(t) + 22, 1, status);
  TF_Operation* words = constant(graph, t, "words");
  TF_Session* session = session_on(graph);
  TF_Tensor* back = run(session, nowhere, NULL, first(words));
  must("strings");
  printf("type %d, %zu bytes\n", TF_TensorType(back), TF_TensorByteSize(back));
  const char* data = (const char*)TF_TensorData(back);
  for (int i = 0; i < 2; i++) {
    uint64_t offset = ((const uint64_t*)data)[i];
    TF_StringDecode(data + 16 + offset, TF_TensorByteSize(back) - 16 - offset, &decoded, &length, status);
    printf("%.*s|\n", (int)length, decoded);
  }
  TF_DeleteTensor(back);
  end_session(session);
  TF_DeleteGraph(graph);
}

static void attributes(void) {
  printf("-- attributes\n");
  TF_Graph* graph = TF_NewGraph();
  int64_t image_dims[] = {-1, 8, 8, 3}, filter_dims[] = {3, 3, 3, 4}, strides[] = {1, 2, 2, 1}, got[4];
  TF_Operation* image = placeholder(graph, TF_FLOAT, 4, image_dims, "image");
  TF_Operation* filter = placeholder(graph, TF_FLOAT, 4, filter_dims, "filter");
  TF_OperationDescription* desc = TF_NewOperation(graph, "Conv2D", "conv");
  TF_AddInput(desc, first(image));
  TF_AddInput(desc, first(filter));
  TF_SetAttrIntList(desc, "strides", strides, 4);
  TF_SetAttrString(desc, "padding", "SAME", 4);
  TF_SetAttrBool(desc, "use_cudnn_on_gpu", 0);
  TF_SetDevice(desc, "/cpu:0");
  TF_ColocateWith(desc, image);
  TF_AddControlInput(desc, filter);
  TF_Operation* conv = TF_FinishOperation(desc, status);
  must("conv");
  const char* names[] = {"strides", "padding", "use_cudnn_on_gpu", "T", "dilations", "_class"};
  for (int i = 0; i < 6; i++) {
    TF_AttrMetadata m = TF_OperationGetAttrMetadata(conv, names[i], status);
    printf("%s: %d list %d size %lld type %d total %lld\n", names[i], TF_GetCode(status), m.is_list, (long long)m.list_size, m.type,
           (long long)m.total_size);
  }
  TF_OperationGetAttrIntList(conv, "strides", got, 4, status);
  printf("strides %lld %lld %lld %lld\n", (long long)got[0], (long long)got[1], (long long)got[2], (long long)got[3]);
  char text[10] = {0};
  TF_OperationGetAttrString(conv, "padding", text, 10, status);
  unsigned char flag = 9;
  TF_OperationGetAttrBool(conv, "use_cudnn_on_gpu", &flag, status);
  TF_DataType type = (TF_DataType)0;
  TF_OperationGetAttrType(conv, "T", &type, status);
  printf("padding %s, flag %d, type %d\n", text, flag, type);
  void* classes[1];
  size_t lengths[1];
  char storage[40];
  TF_OperationGetAttrStringList(conv, "_class", classes, lengths, 1, storage, 40, status);
  printf("class %.*s\n", (int)lengths[0], (char*)classes[0]);
  TF_OperationGetAttrInt(conv, "padding", got, status);
  told("of another kind");
  TF_OperationGetAttrInt(conv, "nothing", got, status);
  told_all("missing");
  TF_AttrMetadata m = TF_OperationGetAttrMetadata(image, "shape", status);
  TF_OperationGetAttrShape(image, "shape", got, 4, status);
  printf("shape: list %d type %d total %lld: %lld %lld\n", m.is_list, m.type, (long long)m.total_size, (long long)got[0], (long long)got[3]);

  printf("%s %s %d, %d in, %d out, type %d\n", TF_OperationName(conv), TF_OperationOpType(conv), *TF_OperationDevice(conv) != 0,
         TF_OperationNumInputs(conv), TF_OperationNumOutputs(conv), TF_OperationOutputType(first(conv)));
  TF_Input second = {conv, 1}, uses[2];
  TF_Output from = TF_OperationInput(second);
  printf("input 1: %s:%d, type %d\n", TF_OperationName(from.oper), from.index, TF_OperationInputType(second));
  printf("used by %d\n", TF_OperationOutputNumConsumers(first(filter)));
  printf("written %d: ", TF_OperationOutputConsumers(first(filter), uses, 2));
  printf("%s %d\n", TF_OperationName(uses[0].oper), uses[0].index);
  TF_Operation* others[2];
  printf("waits for %d %d: ", TF_OperationNumControlInputs(conv), TF_OperationGetControlInputs(conv, others, 2));
  printf("%s\n", TF_OperationName(others[0]));
  printf("waited for by %d %d\n", TF_OperationNumControlOutputs(filter), TF_OperationGetControlOutputs(filter, others, 2));
  printf("lists %d %d\n", TF_OperationInputListLength(conv, "input", status), TF_OperationOutputListLength(conv, "output", status));
  TF_OperationInputListLength(conv, "none", status);
  told("no such list");

  int64_t rank = TF_GraphGetTensorNumDims(graph, first(conv), status);
  TF_GraphGetTensorShape(graph, first(conv), got, 4, status);
  printf("rank %lld: %lld %lld %lld %lld\n", (long long)rank, (long long)got[0], (long long)got[1], (long long)got[2], (long long)got[3]);
  TF_GraphGetTensorShape(graph, first(conv), got, 3, status);
  told_all("other rank");
  int64_t known[] = {5, -1, 4, 4}, bad[] = {6, 4, 4, 4};
  TF_GraphSetTensorShape(graph, first(conv), known, 4, status);
  TF_GraphGetTensorShape(graph, first(conv), got, 4, status);
  printf("now %lld %lld %d\n", (long long)got[0], (long long)got[1], TF_GetCode(status));
  TF_GraphSetTensorShape(graph, first(conv), bad, 4, status);
  told("contradiction");
  size_t pos = 0;
  for (TF_Operation* op; (op = TF_GraphNextOperation(graph, &pos)) != NULL;) printf("op %s\n", TF_OperationName(op));
  printf("by name %d %d\n", TF_GraphOperationByName(graph, "conv") == conv, TF_GraphOperationByName(graph, "none") == NULL);
  TF_DeleteGraph(graph);
}

static void errors(void) {
  printf("-- errors\n");
  TF_Graph* graph = TF_NewGraph();
  int64_t dims[] = {2, 3};
  TF_Operation* x = placeholder(graph, TF_FLOAT, 2, dims, "x");
  TF_Operation* i = placeholder(graph, TF_INT32, 2, dims, "i");
  TF_FinishOperation(TF_NewOperation(graph, "NoSuchOp", "n"), status);
  told("unknown op");
  TF_OperationDescription* desc = TF_NewOperation(graph, "Placeholder", "x");
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  TF_FinishOperation(desc, status);
  told_all("same name");
  TF_FinishOperation(TF_NewOperation(graph, "Placeholder", "p"), status);
  told("no attribute");
  desc = TF_NewOperation(graph, "MatMul", "m");
  TF_AddInput(desc, first(x));
  TF_AddInput(desc, first(x));
  TF_FinishOperation(desc, status);
  told("shapes");
  desc = TF_NewOperation(graph, "Add", "a");
  TF_AddInput(desc, first(x));
  TF_AddInput(desc, first(i));
  TF_FinishOperation(desc, status);
  told("types");
  desc = TF_NewOperation(graph, "Add", "b");
  TF_AddInput(desc, first(x));
  TF_FinishOperation(desc, status);
  told("one input");
  desc = TF_NewOperation(graph, "ConcatV2", "c");
  TF_AddInput(desc, first(x));
  TF_AddInput(desc, first(i));
  TF_FinishOperation(desc, status);
  told("no list");
  TF_Session* session = session_on(graph);
  run(session, nowhere, NULL, first(x));
  told("not fed");
  TF_Tensor* value = int_scalar(1);
  run(session, first(x), value, first(unary(graph, "Neg", first(x), "neg")));
  told("wrong type");
  TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, NULL, 0, NULL, status);
  told_all("nothing to do");
  TF_DeleteTensor(value);
  TF_CloseSession(session, status);
  run(session, nowhere, NULL, first(x));
  told_all("closed");
  TF_DeleteSession(session, status);
  TF_DeleteGraph(graph);
}

static void sessions(void) {
  printf("-- sessions\n");
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = placeholder(graph, TF_FLOAT, 0, NULL, "x");
  TF_Operation* two = constant(graph, scalar(2), "two");
  TF_Operation* y = binary(graph, "Mul", first(x), first(two), "y");
  TF_Session* session = session_on(graph);
  TF_DeleteGraph(graph); /* the session keeps it */
  TF_Tensor* value = scalar(3);
  TF_Tensor* result = run(session, first(x), value, first(y));
  must("run");
  show("y", result);
  TF_DeleteTensor(result);
  TF_Output fetches[] = {first(y), first(y), first(two)};
  TF_Output feed = first(x);
  TF_Tensor* results[3];
  TF_SessionRun(session, NULL, &feed, &value, 1, fetches, results, 3, (const TF_Operation* const*)&y, 1, NULL, status);
  must("three");
  for (int i = 0; i < 3; i++) {
    show("result", results[i]);
    TF_DeleteTensor(results[i]);
  }
  TF_DeleteTensor(value);
  TF_DeviceList* devices = TF_SessionListDevices(session, status);
  must("devices");
  printf("%s %s\n", TF_DeviceListName(devices, 0, status), TF_DeviceListType(devices, 0, status));
  TF_DeviceListName(devices, 1000, status);
  told_all("out of bounds");
  TF_DeleteDeviceList(devices);
  end_session(session);
}

static void partial(void) {
  printf("-- in parts\n");
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* a = placeholder(graph, TF_FLOAT, 0, NULL, "a");
  TF_Operation* b = placeholder(graph, TF_FLOAT, 0, NULL, "b");
  TF_Operation* plus = binary(graph, "Add", first(a), first(constant(graph, scalar(2), "two")), "plus");
  TF_Operation* sum = binary(graph, "Add", first(plus), first(b), "sum");
  TF_Session* session = session_on(graph);
  TF_Output feeds[] = {first(a), first(b)}, fetches[] = {first(plus), first(sum)};
  const char* handle = NULL;
  TF_SessionPRunSetup(session, feeds, 2, fetches, 2, NULL, 0, &handle, status);
  must("setup");
  TF_Tensor *one = scalar(1), *four = scalar(4), *result = NULL;
  TF_SessionPRun(session, handle, feeds, &one, 1, fetches, &result, 1, NULL, 0, status);
  must("first part");
  show("plus", result);
  TF_DeleteTensor(result);
  TF_SessionPRun(session, handle, feeds + 1, &four, 1, fetches + 1, &result, 1, NULL, 0, status);
  must("second part");
  show("sum", result);
  TF_DeleteTensor(result);
  TF_SessionPRun(session, handle, feeds + 1, &four, 1, fetches + 1, &result, 1, NULL, 0, status);
  printf("once more %d\n", TF_GetCode(status) != TF_OK);
  TF_DeletePRunHandle(handle);
  TF_DeleteTensor(one);
  TF_DeleteTensor(four);
  end_session(session);
  TF_DeleteGraph(graph);
}

static void gradients(void) {
  printf("-- gradients\n");
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = placeholder(graph, TF_FLOAT, 0, NULL, "x");
  TF_Operation* square = unary(graph, "Square", first(x), "square");
  TF_Operation* y = binary(graph, "Mul", first(square), first(x), "y");
  TF_Output ys[] = {first(y)}, xs[] = {first(x)}, dy[1];
  TF_AddGradients(graph, ys, 1, xs, 1, NULL, status, dy);
  must("gradients");
  TF_Output weights[] = {first(constant(graph, scalar(10), "ten"))}, weighted[1];
  TF_AddGradients(graph, ys, 1, xs, 1, weights, status, weighted);
  must("weighted");
  TF_Session* session = session_on(graph);
  TF_Tensor* two = scalar(2);
  TF_Tensor* result = run(session, first(x), two, dy[0]);
  must("run");
  show("dy", result);
  TF_DeleteTensor(result);
  result = run(session, first(x), two, weighted[0]);
  must("run");
  show("weighted", result);
  TF_DeleteTensor(result);
  TF_DeleteTensor(two);
  TF_Output loose[] = {first(placeholder(graph, TF_FLOAT, 0, NULL, "loose"))};
  TF_AddGradients(graph, ys, 1, loose, 1, NULL, status, dy);
  told_all("unreachable");
  end_session(session);
  TF_DeleteGraph(graph);
}

static void imports(void) {
  printf("-- imports\n");
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* feed = placeholder(graph, TF_INT32, 0, NULL, "feed");
  TF_Operation* three = constant(graph, int_scalar(3), "scalar");
  unary(graph, "Neg", first(feed), "neg");
  (void)three;
  TF_Buffer* graph_def = TF_NewBuffer();
  TF_GraphToGraphDef(graph, graph_def, status);
  must("to GraphDef");
  TF_GraphToGraphDef(graph, graph_def, status);
  told("full buffer");
  TF_DeleteGraph(graph);

  graph = TF_NewGraph();
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsSetPrefix(options, "imported");
  TF_GraphImportGraphDef(graph, graph_def, options, status);
  must("import");
  TF_Operation* scalar_op = TF_GraphOperationByName(graph, "imported/scalar");
  TF_Operation* neg = TF_GraphOperationByName(graph, "imported/neg");
  printf("names %d %d %d\n", scalar_op != NULL, TF_GraphOperationByName(graph, "imported/feed") != NULL, neg != NULL);
  TF_DeleteImportGraphDefOptions(options);
  options = TF_NewImportGraphDefOptions();
  placeholder(graph, TF_INT32, 0, NULL, "neg");
  TF_GraphImportGraphDef(graph, graph_def, options, status);
  told_all("same names");
  printf("nothing was added %d\n", TF_GraphOperationByName(graph, "feed") == NULL);
  TF_DeleteImportGraphDefOptions(options);

  options = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsSetPrefix(options, "again");
  TF_ImportGraphDefOptionsAddInputMapping(options, "feed", 0, first(scalar_op));
  TF_ImportGraphDefOptionsAddInputMapping(options, "nothing", 0, first(scalar_op));
  TF_ImportGraphDefOptionsAddReturnOutput(options, "feed", 0);
  TF_ImportGraphDefOptionsAddReturnOutput(options, "neg", 0);
  TF_ImportGraphDefOptionsAddReturnOperation(options, "scalar");
  TF_ImportGraphDefOptionsAddControlDependency(options, scalar_op);
  printf("wanted %d %d\n", TF_ImportGraphDefOptionsNumReturnOutputs(options), TF_ImportGraphDefOptionsNumReturnOperations(options));
  TF_ImportGraphDefResults* results = TF_GraphImportGraphDefWithResults(graph, graph_def, options, status);
  must("results");
  int count, missing;
  TF_Output* outputs;
  TF_Operation** operations;
  const char** names;
  int* indices;
  TF_ImportGraphDefResultsReturnOutputs(results, &count, &outputs);
  printf("outputs %d: %s %s\n", count, TF_OperationName(outputs[0].oper), TF_OperationName(outputs[1].oper));
  TF_ImportGraphDefResultsReturnOperations(results, &count, &operations);
  printf("operations %d: %s\n", count, TF_OperationName(operations[0]));
  TF_ImportGraphDefResultsMissingUnusedInputMappings(results, &missing, &names, &indices);
  printf("missing %d: %s %d\n", missing, names[0], indices[0]);
  TF_Session* session = session_on(graph);
  TF_Tensor* result = run(session, nowhere, NULL, outputs[1]);
  must("run");
  show("neg", result);
  TF_DeleteTensor(result);
  end_session(session);
  TF_DeleteImportGraphDefResults(results);
  TF_DeleteImportGraphDefOptions(options);

  options = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsSetPrefix(options, "again");
  TF_ImportGraphDefOptionsSetUniquifyPrefix(options, 1);
  TF_ImportGraphDefOptionsAddReturnOutput(options, "neg", 0);
  TF_Output one;
  TF_GraphImportGraphDefWithReturnOutputs(graph, graph_def, options, &one, 1, status);
  must("unique prefix");
  printf("unique prefix %s\n", TF_OperationName(one.oper));
  TF_ImportGraphDefOptionsSetPrefix(options, "again");
  TF_ImportGraphDefOptionsSetUniquifyPrefix(options, 0);
  TF_ImportGraphDefOptionsSetUniquifyNames(options, 1);
  TF_GraphImportGraphDefWithReturnOutputs(graph, graph_def, options, &one, 1, status);
  must("unique names");
  printf("unique name %s\n", TF_OperationName(one.oper));
  TF_DeleteImportGraphDefOptions(options);
  TF_Buffer* broken = TF_NewBufferFromString("nonsense", 8);
  TF_ImportGraphDefOptions* plain = TF_NewImportGraphDefOptions();
  TF_GraphImportGraphDef(graph, broken, plain, status);
  told("broken");
  TF_DeleteBuffer(broken);
  TF_DeleteImportGraphDefOptions(plain);
  TF_DeleteBuffer(graph_def);
  TF_DeleteGraph(graph);
}

static void functions(void) {
  printf("-- functions\n");
  TF_Graph* body = TF_NewGraph();
  TF_Operation* a = placeholder(body, TF_INT32, 0, NULL, "a");
  TF_Operation* b = placeholder(body, TF_INT32, 0, NULL, "b");
  TF_Operation* sum = binary(body, "Add", first(a), first(b), "sum");
  TF_Output inputs[] = {first(a), first(b)}, outputs[] = {first(sum)};
  TF_Function* function = TF_GraphToFunction(body, "MyFunction", 0, -1, NULL, 2, inputs, 1, outputs, NULL, NULL, "adds", status);
  must("function");
  printf("name %s\n", TF_FunctionName(function));
  TF_Buffer* proto = TF_NewBuffer();
  TF_FunctionToFunctionDef(function, proto, status);
  must("proto");
  TF_Function* copy = TF_FunctionImportFunctionDef(proto->data, proto->length, status);
  must("import");
  TF_Graph* graph = TF_NewGraph();
  TF_GraphCopyFunction(graph, copy, NULL, status);
  must("copy");
  TF_GraphCopyFunction(graph, function, NULL, status);
  printf("twice %d, %d functions\n", TF_GetCode(status), TF_GraphNumFunctions(graph));
  TF_Operation* x = placeholder(graph, TF_INT32, 0, NULL, "x");
  TF_OperationDescription* desc = TF_NewOperation(graph, "MyFunction", "call");
  TF_AddInput(desc, first(x));
  TF_AddInput(desc, first(constant(graph, int_scalar(40), "forty")));
  TF_Operation* call = TF_FinishOperation(desc, status);
  must("call");
  printf("%s %s %d\n", TF_OperationName(call), TF_OperationOpType(call), TF_OperationNumOutputs(call));
  TF_Session* session = session_on(graph);
  TF_Tensor* two = int_scalar(2);
  TF_Tensor* result = run(session, first(x), two, first(call));
  must("run");
  show("call", result);
  TF_DeleteTensor(result);
  TF_DeleteTensor(two);
  TF_Function* functions[2];
  printf("got %d: ", TF_GraphGetFunctions(graph, functions, 2, status));
  printf("%s\n", TF_FunctionName(functions[0]));
  TF_DeleteFunction(functions[0]);
  end_session(session);
  TF_DeleteBuffer(proto);
  TF_DeleteFunction(function);
  TF_DeleteFunction(copy);
  TF_DeleteGraph(body);
  TF_DeleteGraph(graph);
}

static void loops(void) {
  printf("-- loops\n");
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* i = placeholder(graph, TF_INT32, 0, NULL, "i");
  TF_Operation* n = placeholder(graph, TF_INT32, 0, NULL, "n");
  TF_Output inputs[] = {first(i), first(n)}, outputs[2];
  TF_WhileParams loop = TF_NewWhile(graph, inputs, 2, status);
  must("new");
  printf("inputs %d\n", loop.ninputs);
  loop.name = "loop";
  loop.cond_output = first(binary(loop.cond_graph, "Less", loop.cond_inputs[0], loop.cond_inputs[1], "less"));
  loop.body_outputs[0] = first(binary(loop.body_graph, "Add", loop.body_inputs[0],
                                      first(constant(loop.body_graph, int_scalar(3), "three")), "add"));
  loop.body_outputs[1] = loop.body_inputs[1];
  TF_FinishWhile(&loop, status, outputs);
  must("finish");
  TF_Session* session = session_on(graph);
  TF_Tensor* values[] = {int_scalar(1), int_scalar(9)};
  TF_Tensor* results[2];
  TF_SessionRun(session, NULL, inputs, values, 2, outputs, results, 2, NULL, 0, NULL, status);
  must("run");
  for (int k = 0; k < 2; k++) {
    show("loop", results[k]);
    TF_DeleteTensor(results[k]);
    TF_DeleteTensor(values[k]);
  }
  TF_WhileParams unnamed = TF_NewWhile(graph, inputs, 2, status);
  must("new");
  TF_FinishWhile(&unnamed, status, outputs);
  told_all("no name");
  TF_WhileParams given_up = TF_NewWhile(graph, inputs, 1, status);
  must("new");
  TF_AbortWhile(&given_up);
  TF_NewWhile(graph, inputs, 0, status);
  told("no inputs");
  end_session(session);
  TF_DeleteGraph(graph);
}

static void constants(void) {
  printf("-- constants\n");
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* three = constant(graph, int_scalar(3), "three");
  TF_Operation* x = placeholder(graph, TF_INT32, 0, NULL, "x");
  TF_Tensor* result = NULL;
  printf("known %d, ", TF_TryEvaluateConstant(graph, first(three), &result, status));
  printf("%d: ", TF_GetCode(status));
  show("three", result);
  TF_DeleteTensor(result);
  printf("unknown %d, ", TF_TryEvaluateConstant(graph, first(x), &result, status));
  printf("%d\n", TF_GetCode(status));
  TF_Buffer* op_def = TF_NewBuffer();
  TF_GraphGetOpDef(graph, "MatMul", op_def, status);
  told("OpDef");
  TF_DeleteBuffer(op_def);
  op_def = TF_NewBuffer();
  TF_GraphGetOpDef(graph, "NoSuchOp", op_def, status);
  told("no OpDef");
  TF_DeleteBuffer(op_def);
  TF_Buffer* ops = TF_GetAllOpList();
  printf("ops %d\n", ops->length > 10000);
  TF_DeleteBuffer(ops);
  TF_Buffer* versions = TF_NewBuffer();
  TF_GraphVersions(graph, versions, status);
  printf("versions %d, %zu bytes\n", TF_GetCode(status), versions->length);
  TF_DeleteBuffer(versions);
  TF_DeleteGraph(graph);
}

static void named(void) {
  printf("-- sessions by name\n");
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = placeholder(graph, TF_FLOAT, 0, NULL, "x");
  unary(graph, "Neg", first(x), "neg");
  TF_Buffer* graph_def = TF_NewBuffer();
  TF_GraphToGraphDef(graph, graph_def, status);
  must("GraphDef");
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_SetConfig(options, "\377\377\377", 3, status);
  told("bad config");
  TF_DeprecatedSession* session = TF_NewDeprecatedSession(options, status);
  must("session");
  TF_ExtendGraph(session, graph_def->data, graph_def->length, status);
  must("extend");
  const char *feed = "x", *fetch = "neg:0", *target = "neg", *nothing = "none:0";
  TF_Tensor *value = scalar(7), *result = NULL;
  TF_Run(session, NULL, &feed, &value, 1, &fetch, &result, 1, &target, 1, NULL, status);
  must("run");
  show("neg", result);
  TF_DeleteTensor(result);
  value = scalar(7);
  TF_Run(session, NULL, &feed, &value, 1, &nothing, &result, 1, NULL, 0, NULL, status);
  told("no such tensor");
  TF_CloseDeprecatedSession(session, status);
  TF_DeleteDeprecatedSession(session, status);
  told("ended");
  TF_DeleteSessionOptions(options);
  TF_DeleteBuffer(graph_def);
  TF_DeleteGraph(graph);
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  status = TF_NewStatus();
  TF_SetStatus(status, TF_UNKNOWN, "of one's own");
  printf("%.4s, %d %s\n", TF_Version(), TF_GetCode(status), TF_Message(status));
  TF_SetStatus(status, TF_OK, "");
  tensors();
  strings();
  attributes();
  errors();
  sessions();
  partial();
  gradients();
  imports();
  functions();
  loops();
  constants();
  named();
  TF_DeleteStatus(status);
  return 0;
}
