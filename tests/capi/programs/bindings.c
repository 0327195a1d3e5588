/* What generators of bindings and programs with servers use: API definitions, control outputs of functions, servers, a listener of prints.
   Recorded from TensorFlow 1.15, too. */
#include "common.h"

static void told(const char* what) {
  printf("%s %d\n", what, TF_GetCode(status));
  if (getenv("TOLD")) printf("  %s\n", TF_Message(status));
  TF_SetStatus(status, TF_OK, "");
}

static void bytes_of(const char* what, TF_Buffer* buffer) {
  printf("%s %d", what, TF_GetCode(status));
  if (buffer == NULL) {
    printf(", none\n");
  } else {
    printf(", %zu bytes: ", buffer->length);
    for (size_t i = 0; i < buffer->length; i++) {
      unsigned char c = ((const unsigned char*)buffer->data)[i];
      printf(c >= 32 && c < 127 ? "%c" : "<%02x>", c);
    }
    printf("\n");
    TF_DeleteBuffer(buffer);
  }
  TF_SetStatus(status, TF_OK, "");
}

static void put(TF_ApiDefMap* map, const char* what, const char* text) {
  TF_ApiDefMapPut(map, text, strlen(text), status);
  told(what);
}

/* OpDefs of two ops: "Twice", (x: float -> y: float), attribute times, with texts; and "Other". */
static const char ops[] =
    "\012j\012\005Twice\022\013\012\001x\022\004an x\030\001\032\012\012\001y\022\003a y\030\001\042\033\012\005times\022\003int\032\002\030\007\042\011"
    "how often*\013doubles `x`2\036gives `y` of `x`, many `times`\012\007\012\005Other";

static void api_defs(void) {
  printf("-- api definitions\n");
  TF_Buffer* list = TF_NewBufferFromString(ops, sizeof ops - 1);
  TF_ApiDefMap* map = TF_NewApiDefMap(list, status);
  told("map");
  if (map == NULL) exit(1);
  put(map, "change",
      "op {\n  graph_op_name: \"Twice\"\n  visibility: HIDDEN\n  endpoint { name: \"math.twice\" }\n  endpoint { name: \"double\" deprecation_version: 2 }\n"
      "  in_arg {\n    name: \"x\"\n    rename_to: \"number\"\n    description: <<END\nwhat is \"doubled\"\nover two lines\nEND\n  }\n"
      "  attr { name: \"times\" default_value { i: 9 } }\n  description_prefix: \"First.\"\n  description_suffix: \"Last.\"\n}\n");
  put(map, "an op that is not there", "op { graph_op_name: \"Nowhere\" visibility: SKIP }");
  put(map, "an argument that is not there", "op { graph_op_name: \"Twice\" in_arg { name: \"z\" } }");
  put(map, "an attribute that is not there", "op { graph_op_name: \"Twice\" attr { name: \"z\" } }");
  put(map, "too few names in the order", "op { graph_op_name: \"Twice\" arg_order: \"x\" arg_order: \"x\" }");
  put(map, "no text of a proto", "op { nonsense: 1 }");
  bytes_of("Twice", TF_ApiDefMapGet(map, "Twice", 5, status));
  bytes_of("Other", TF_ApiDefMapGet(map, "Other", 5, status));
  bytes_of("None", TF_ApiDefMapGet(map, "None", 4, status));
  put(map, "after the first look", "op { graph_op_name: \"Other\" visibility: SKIP }");
  TF_DeleteApiDefMap(map);
  TF_DeleteBuffer(list);
  list = TF_NewBufferFromString("\377\377", 2);
  map = TF_NewApiDefMap(list, status);
  told("no list of ops");
  TF_DeleteBuffer(list);
}

static void control_outputs(void) {
  printf("-- control outputs\n");
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = placeholder(graph, TF_FLOAT, 0, NULL, "x");
  TF_Operation* y = unary(graph, "Neg", first(x), "y");
  TF_Operation* side = unary(graph, "Square", first(x), "Side");
  TF_Output input = first(x), output = first(y);
  const TF_Operation* waits[] = {side, y};
  TF_Function* function = TF_GraphToFunctionWithControlOutputs(graph, "f", 0, -1, NULL, 1, &input, 1, &output, NULL, 2, waits, NULL, NULL, NULL, status);
  told("function");
  TF_Buffer* buffer = TF_NewBuffer();
  TF_FunctionToFunctionDef(function, buffer, status);
  printf("its control outputs: %d %d\n", memmem(buffer->data, buffer->length, "\242\001\004Side", 7) != NULL,
         memmem(buffer->data, buffer->length, "\242\001\001y", 4) != NULL);
  TF_DeleteBuffer(buffer);
  TF_DeleteFunction(function);
  waits[0] = y;
  TF_GraphToFunctionWithControlOutputs(graph, "h", 0, -1, NULL, 1, &input, 1, &output, NULL, 2, waits, NULL, NULL, NULL, status);
  told("one operation twice");
  TF_DeleteGraph(graph);
}

static void colocation(void) {
  printf("-- colocation\n");
  TF_Graph *graph = TF_NewGraph(), *other = TF_NewGraph();
  TF_Operation* x = placeholder(graph, TF_FLOAT, 0, NULL, "x");
  TF_OperationDescription* desc = TF_NewOperation(graph, "Neg", "y");
  TF_AddInput(desc, first(x));
  TF_ColocateWith(desc, x);
  TF_Operation* y = TF_FinishOperation(desc, status);
  must("y");
  TF_Buffer* node = TF_NewBuffer();
  TF_OperationToNodeDef(y, node, status);
  must("node");
  unsigned char text[300] = {0x0a, (unsigned char)node->length};  /* a GraphDef with y alone */
  memcpy(text + 2, node->data, node->length);
  TF_Buffer* lonely = TF_NewBufferFromString(text, node->length + 2);
  for (int validate = 1; validate >= 0; validate--) {
    TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
    TF_ImportGraphDefOptionsSetPrefix(options, validate ? "a" : "b");
    TF_Operation* z = TF_GraphOperationByName(other, "z");
    if (z == NULL) z = placeholder(other, TF_FLOAT, 0, NULL, "z");
    TF_ImportGraphDefOptionsAddInputMapping(options, "x", 0, first(z));
    TF_ImportGraphDefOptionsSetValidateColocationConstraints(options, (unsigned char)validate);
    TF_GraphImportGraphDef(other, lonely, options, status);
    told(validate ? "validated" : "not validated");
    TF_DeleteImportGraphDefOptions(options);
  }
  TF_DeleteBuffer(lonely);
  TF_DeleteBuffer(node);
  TF_DeleteGraph(graph);
  TF_DeleteGraph(other);
}

static int heard;

static void listen(const char* message) {
  heard++;
  printf("heard: %s|\n", message);
}

static void prints(void) {
  printf("-- prints\n");
  TF_RegisterLogListener(listen);
  TF_Graph* graph = TF_NewGraph();
  TF_Tensor* text = TF_AllocateTensor(TF_STRING, NULL, 0, 8 + TF_StringEncodedSize(5));
  *(uint64_t*)TF_TensorData(text) = 0;
  TF_StringEncode("hello", 5, (char*)TF_TensorData(text) + 8, TF_StringEncodedSize(5), status);
  TF_OperationDescription* desc = TF_NewOperation(graph, "PrintV2", "print");
  TF_AddInput(desc, first(constant(graph, text, "text")));
  TF_SetAttrString(desc, "output_stream", "stdout", 6);
  const TF_Operation* print = TF_FinishOperation(desc, status);
  told("print");
  TF_Session* session = session_on(graph);
  TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, &print, 1, NULL, status);
  told("run");
  printf("heard %d\n", heard);
  TF_DeleteSession(session, status);
  TF_DeleteGraph(graph);
}

/* ServerDef: cluster {job {name: "local", tasks {0: "localhost:0"}}}, job_name: "local", protocol: "grpc" */
static const char server_def[] = "\012\032\012\030\012\005local\022\017\010\000\022\013localhost:0\022\005local*\004grpc";

static void servers(void) {
  printf("-- servers\n");
  TF_NewServer("\377\377", 2, status);
  told("no ServerDef");
  char unknown[sizeof server_def];
  memcpy(unknown, server_def, sizeof server_def);
  memcpy(unknown + sizeof server_def - 5, "none", 4);
  TF_NewServer(unknown, sizeof server_def - 1, status);
  told("a protocol that is not there");
  TF_Server* server = TF_NewServer(server_def, sizeof server_def - 1, status);
  told("server");
  if (server == NULL) exit(1);
  const char* target = TF_ServerTarget(server);
  printf("target %d\n", strncmp(target, "grpc://localhost:", 17) == 0 && atoi(target + 17) > 0);
  TF_ServerStart(server, status);
  told("start");
  TF_ServerStart(server, status);
  told("start again");
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_SetTarget(options, target);
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* y = unary(graph, "Neg", first(constant(graph, scalar(21), "x")), "y");
  TF_Session* session = TF_NewSession(graph, options, status);
  must("session");
  TF_Output fetch = first(y);
  TF_Tensor* result = NULL;
  TF_SessionRun(session, NULL, NULL, NULL, 0, &fetch, &result, 1, NULL, 0, NULL, status);
  must("a run by the server");
  printf("its answer %g\n", *(float*)TF_TensorData(result));
  TF_DeleteTensor(result);
  TF_DeviceList* devices = TF_SessionListDevices(session, status);
  must("devices");
  int local = 0;
  for (int i = 0; i < TF_DeviceListCount(devices); i++)
    local |= strcmp(TF_DeviceListName(devices, i, status), "/job:local/replica:0/task:0/device:CPU:0") == 0;
  printf("its device %d\n", local);
  TF_DeleteDeviceList(devices);
  TF_CloseSession(session, status);
  TF_DeleteSession(session, status);
  told("session");
  TF_DeleteGraph(graph);
  TF_DeleteSessionOptions(options);
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  status = TF_NewStatus();
  api_defs();
  control_outputs();
  colocation();
  prints();
  servers();
  TF_DeleteStatus(status);
  return 0;
}
