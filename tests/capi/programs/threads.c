/* Threads run one session at once, and grow its graph meanwhile; then 10,000 runs, after which the process must not have grown.
   Arguments: runs, threads. */
#include "common.h"

#include <pthread.h>
#include <unistd.h>

static TF_Graph* graph;
static TF_Session* session;
static TF_Operation *x, *y, *large;
static int freed;

static long pages(void) {
  long size, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld %ld", &size, &resident) != 2) exit(1);
  fclose(file);
  return resident;
}

static void* worker(void* argument) {
  int number = *(int*)argument;
  TF_Status* own = TF_NewStatus();
  for (int i = 0; i < 100; i++) {
    float value = (float)(1000 * number + i);
    TF_Tensor *fed = floats(&value, 0, NULL, NULL), *result = NULL;
    TF_Output feed = first(x), fetch = first(y);
    TF_SessionRun(session, NULL, &feed, &fed, 1, &fetch, &result, 1, NULL, 0, NULL, own);
    if (TF_GetCode(own) != TF_OK || *(float*)TF_TensorData(result) != 2 * value) {
      printf("thread %d: %s\n", number, TF_Message(own));
      exit(1);
    }
    TF_DeleteTensor(result);
    TF_DeleteTensor(fed);
    if (i % 20 != 0) continue;
    char name[40];
    snprintf(name, sizeof name, "more_%d_%d", number, i);
    TF_OperationDescription* desc = TF_NewOperation(graph, "Neg", name);
    TF_AddInput(desc, first(y));
    TF_FinishOperation(desc, own);
    if (TF_GetCode(own) != TF_OK) exit(1);
  }
  TF_DeleteStatus(own);
  return NULL;
}

static void runs(int count) {
  static float block[50000];
  int64_t dims[] = {50000};
  for (int i = 0; i < count; i++) {
    TF_Tensor* fed = i % 10 ? scalar(1) : floats(block, 1, dims, &freed);
    TF_DeleteTensor(run(session, first(i % 10 ? x : large), fed, first(i % 10 ? y : TF_GraphOperationByName(graph, "negated"))));
    must("run");
    TF_DeleteTensor(fed);
    TF_Tensor* nothing = run(session, first(x), NULL, first(y)); /* fails, with a long message */
    if (nothing != NULL || TF_GetCode(status) == TF_OK) exit(1);
    TF_SetStatus(status, TF_OK, "");
  }
}

int main(int argc, char** argv) {
  int count = argc > 1 ? atoi(argv[1]) : 10000, threads = argc > 2 ? atoi(argv[2]) : 8, numbers[64];
  status = TF_NewStatus();
  graph = TF_NewGraph();
  x = placeholder(graph, TF_FLOAT, 0, NULL, "x");
  y = binary(graph, "Mul", first(x), first(constant(graph, scalar(2), "two")), "y");
  int64_t dims[] = {-1};
  large = placeholder(graph, TF_FLOAT, 1, dims, "large");
  unary(graph, "Neg", first(large), "negated");
  session = session_on(graph);
  pthread_t ids[64];
  for (int i = 0; i < threads; i++) {
    numbers[i] = i;
    pthread_create(&ids[i], NULL, worker, &numbers[i]);
  }
  for (int i = 0; i < threads; i++) pthread_join(ids[i], NULL);
  printf("threads agree\n");
  runs(count / 10);
  long before = pages();
  runs(count);
  long grown = (pages() - before) * sysconf(_SC_PAGESIZE) / 1024;
  end_session(session);
  TF_DeleteGraph(graph);
  printf("grown by %ld KiB, freed %d\n", grown, freed == count / 10 / 10 + count / 10);
  return grown > 2048;
}
