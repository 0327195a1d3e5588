/* Loads a SavedModel and asks it something. Arguments: its folder, the names of an input and an output. */
#include "common.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  status = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Buffer* meta_graph = TF_NewBuffer();
  const char* tags[] = {"serve"};
  TF_Session* session = TF_LoadSessionFromSavedModel(options, NULL, argv[1], tags, 1, graph, meta_graph, status);
  must("load");
  float values[] = {1, 2, 3};
  int64_t dims[] = {1, 3};
  TF_Tensor* fed = floats(values, 2, dims, NULL);
  TF_Tensor* result = run(session, first(TF_GraphOperationByName(graph, argv[2])), fed, first(TF_GraphOperationByName(graph, argv[3])));
  must("run");
  show("answer", result);
  printf("meta graph %d\n", meta_graph->length > 100);
  TF_DeleteTensor(fed);
  TF_DeleteTensor(result);
  end_session(session);
  TF_LoadSessionFromSavedModel(options, NULL, argv[1], tags, 1, graph, NULL, status);
  printf("again: %s\n", TF_Message(status));
  TF_DeleteBuffer(meta_graph);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}
