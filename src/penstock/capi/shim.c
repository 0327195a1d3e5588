/* libpenstock: the part of the C API that is C. Status, buffers, tensors and strings live here; all other functions are
   forwarded to Python, whose interpreter this library finds, starts and shares between the threads of the program.

   What must stay true:
   - Nothing here holds Python's lock while it runs code of the caller, and nothing but `release_object` waits for the lock.
   - `struct TF_Tensor` and `struct Block` are read by penstock/capi/structs.py.
   - `penstock capi` appends the forwarding functions, and defines LIBRARY, PROGRAM, VERSION and FUNCTIONS. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

const char* TF_Version(void) { return VERSION; }

/* ---- status ---- */

struct TF_Status {
  TF_Code code;
  char* message;
};

TF_Status* TF_NewStatus(void) { return calloc(1, sizeof(TF_Status)); }

void TF_DeleteStatus(TF_Status* s) {
  if (s == NULL) return;
  free(s->message);
  free(s);
}

void TF_SetStatus(TF_Status* s, TF_Code code, const char* msg) {
  if (s == NULL) return;
  char* message = code == TF_OK || msg == NULL ? NULL : strdup(msg);  /* before the old one goes, which `msg` may be */
  free(s->message);
  s->code = code;
  s->message = message;
}

TF_Code TF_GetCode(const TF_Status* s) { return s->code; }

const char* TF_Message(const TF_Status* s) { return s->message == NULL ? "" : s->message; }

static void fail(TF_Status* s, TF_Code code, const char* format, size_t first, size_t second) {
  char text[200];
  snprintf(text, sizeof text, format, first, second);
  TF_SetStatus(s, code, text);
}

/* ---- buffers ---- */

static void free_bytes(void* data, size_t length) {
  (void)length;
  free(data);
}

/* Fills an empty buffer with a copy of some bytes. */
TF_CAPI_EXPORT void penstock_fill_buffer(TF_Buffer* buffer, const void* data, size_t length) {
  void* copy = malloc(length ? length : 1);
  if (length) memcpy(copy, data, length);
  buffer->data = copy;
  buffer->length = length;
  buffer->data_deallocator = free_bytes;
}

TF_Buffer* TF_NewBuffer(void) { return calloc(1, sizeof(TF_Buffer)); }

TF_Buffer* TF_NewBufferFromString(const void* proto, size_t proto_len) {
  TF_Buffer* buffer = TF_NewBuffer();
  penstock_fill_buffer(buffer, proto, proto_len);
  return buffer;
}

void TF_DeleteBuffer(TF_Buffer* buffer) {
  if (buffer == NULL) return;
  if (buffer->data_deallocator != NULL) buffer->data_deallocator((void*)buffer->data, buffer->length);
  free(buffer);
}

TF_Buffer TF_GetBuffer(TF_Buffer* buffer) { return *buffer; }

/* ---- tensors ---- */

typedef struct Block {  /* memory, and who shares it */
  atomic_long references;
  void* data;
  size_t length;
  void (*deallocator)(void* data, size_t length, void* argument);
  void* argument;
} Block;

struct TF_Tensor {
  TF_DataType type;
  int rank;
  int64_t* dims;
  Block* block;
};

static const unsigned char sizes[] = {0, 4, 8, 4, 1, 2, 1, 0, 8, 8, 1, 1, 1, 4, 2, 2, 2, 2, 16, 2, 0, 0, 4, 8};

size_t TF_DataTypeSize(TF_DataType dt) { return (unsigned)dt < sizeof sizes ? sizes[dt] : 0; }

TF_CAPI_EXPORT void penstock_retain(Block* block) { atomic_fetch_add(&block->references, 1); }

TF_CAPI_EXPORT void penstock_release(Block* block) {
  if (atomic_fetch_sub(&block->references, 1) != 1) return;
  if (block->deallocator != NULL) block->deallocator(block->data, block->length, block->argument);
  free(block);
}

/* The number of elements; -1 if an extent is negative, or their product too large. */
static int64_t count(const int64_t* dims, int rank) {
  int64_t result = 1;
  int empty = 0;
  for (int i = 0; i < rank; i++) {
    if (dims[i] < 0) return -1;
    if (dims[i] == 0) empty = 1;
    if (!empty && __builtin_mul_overflow(result, dims[i], &result)) return -1;
  }
  return empty ? 0 : result;
}

static int fits(TF_DataType type, const int64_t* dims, int rank, size_t length) {
  int64_t elements = rank < 0 ? -1 : count(dims, rank), bytes;
  return elements >= 0 && !__builtin_mul_overflow(elements, (int64_t)TF_DataTypeSize(type), &bytes) && (size_t)bytes <= length;
}

static void free_aligned(void* data, size_t length, void* argument) {
  (void)length;
  (void)argument;
  free(data);
}

static void* aligned(size_t length) {
  void* data = NULL;
  return posix_memalign(&data, 64, length ? length : 1) == 0 ? data : NULL;
}

static int64_t* copy_dims(const int64_t* dims, int rank) {
  int64_t* copy = malloc(rank ? rank * sizeof(int64_t) : 1);
  if (rank) memcpy(copy, dims, rank * sizeof(int64_t));
  return copy;
}

static TF_Tensor* wrap(TF_DataType type, const int64_t* dims, int rank, void* data, size_t length,
                       void (*deallocator)(void*, size_t, void*), void* argument) {
  TF_Tensor* tensor = malloc(sizeof *tensor);
  Block* block = malloc(sizeof *block);
  atomic_init(&block->references, 1);
  block->data = data;
  block->length = length;
  block->deallocator = deallocator;
  block->argument = argument;
  *tensor = (TF_Tensor){type, rank, copy_dims(dims, rank), block};
  return tensor;
}

TF_Tensor* TF_AllocateTensor(TF_DataType type, const int64_t* dims, int num_dims, size_t len) {
  if (!fits(type, dims, num_dims, len)) return NULL;
  void* data = aligned(len);
  return data == NULL ? NULL : wrap(type, dims, num_dims, data, len, free_aligned, NULL);
}

TF_Tensor* TF_NewTensor(TF_DataType type, const int64_t* dims, int num_dims, void* data, size_t len,
                        void (*deallocator)(void* data, size_t len, void* arg), void* deallocator_arg) {
  if (!fits(type, dims, num_dims, len)) return NULL;
  size_t size = TF_DataTypeSize(type), alignment = size == 0 || size > 8 ? 8 : size;
  if ((uintptr_t)data % alignment == 0) return wrap(type, dims, num_dims, data, len, deallocator, deallocator_arg);
  TF_Tensor* tensor = TF_AllocateTensor(type, dims, num_dims, len);  /* where no element may lie: a copy */
  if (tensor == NULL) return NULL;
  memcpy(tensor->block->data, data, len);
  if (deallocator != NULL) deallocator(data, len, deallocator_arg);
  return tensor;
}

TF_Tensor* TF_TensorMaybeMove(TF_Tensor* tensor) {  /* as in 1.15: no memory is known to be the tensor's alone */
  (void)tensor;
  return NULL;
}

void TF_DeleteTensor(TF_Tensor* tensor) {
  if (tensor == NULL) return;
  penstock_release(tensor->block);
  free(tensor->dims);
  free(tensor);
}

TF_DataType TF_TensorType(const TF_Tensor* tensor) { return tensor->type; }
int TF_NumDims(const TF_Tensor* tensor) { return tensor->rank; }
int64_t TF_Dim(const TF_Tensor* tensor, int dim_index) { return dim_index >= 0 && dim_index < tensor->rank ? tensor->dims[dim_index] : -1; }
size_t TF_TensorByteSize(const TF_Tensor* tensor) { return tensor->block->length; }
void* TF_TensorData(const TF_Tensor* tensor) { return tensor->block->data; }
int64_t TF_TensorElementCount(const TF_Tensor* tensor) { return count(tensor->dims, tensor->rank); }

void TF_TensorBitcastFrom(const TF_Tensor* from, TF_DataType type, TF_Tensor* to, const int64_t* new_dims, int num_new_dims, TF_Status* status) {
  size_t size = TF_DataTypeSize(type), had = (size_t)TF_TensorElementCount(from) * TF_DataTypeSize(from->type);
  int64_t elements = num_new_dims < 0 ? -1 : count(new_dims, num_new_dims);
  if (size == 0 || TF_DataTypeSize(from->type) == 0 || elements < 0 || (size_t)elements * size != had) {
    fail(status, TF_INVALID_ARGUMENT, "a tensor of %zu bytes cannot be taken for one of %zu", had, elements < 0 ? 0 : (size_t)elements * size);
    return;
  }
  int64_t* dims = copy_dims(new_dims, num_new_dims);
  penstock_retain(from->block);
  penstock_release(to->block);
  free(to->dims);
  to->type = type;
  to->rank = num_new_dims;
  to->dims = dims;
  to->block = from->block;
  TF_SetStatus(status, TF_OK, "");
}

/* ---- strings: the length as a varint, then the bytes ---- */

static size_t varint_size(size_t value) {
  size_t size = 1;
  for (; value >= 128; value >>= 7) size++;
  return size;
}

size_t TF_StringEncodedSize(size_t len) { return varint_size(len) + len; }

size_t TF_StringEncode(const char* src, size_t src_len, char* dst, size_t dst_len, TF_Status* status) {
  size_t size = TF_StringEncodedSize(src_len), rest = src_len;
  if (src_len > dst_len || size > dst_len) {
    fail(status, TF_INVALID_ARGUMENT, "dst_len (%zu) too small to encode a %zu-byte string", dst_len, src_len);
    return 0;
  }
  for (; rest >= 128; rest >>= 7) *dst++ = (char)(rest | 128);
  *dst++ = (char)rest;
  memcpy(dst, src, src_len);
  TF_SetStatus(status, TF_OK, "");
  return size;
}

size_t TF_StringDecode(const char* src, size_t src_len, const char** dst, size_t* dst_len, TF_Status* status) {
  uint64_t length = 0;
  size_t at = 0;
  for (int shift = 0; at < src_len && shift < 64; shift += 7) {
    uint64_t byte = (unsigned char)src[at++];
    length |= (byte & 127) << shift;
    if (byte >= 128) continue;
    if (length > src_len - at) break;
    *dst = src + at;
    *dst_len = length;
    TF_SetStatus(status, TF_OK, "");
    return at + length;
  }
  fail(status, TF_INVALID_ARGUMENT, "the %zu bytes are not an encoded string, or do not hold all of it (%zu bytes)", src_len, (size_t)length);
  return 0;
}

/* ---- Python ---- */

static struct {
  int (*is_initialized)(void);
  void (*set_program_name)(const wchar_t*);  /* gone in later versions */
  void (*initialize)(int);
  int (*run)(const char*, void*);
  void* (*save)(void);
  void (*restore)(void*);
  int (*ensure)(void);
  void (*release)(int);
  void* (*this_thread)(void);
  void (*decref)(void*);
} python;

static void* functions[FUNCTIONS];  /* of Python, in the order of the header */
static char failure[4096];          /* why there is no Python */
static char program[1024], library[1024], own_path[1024];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key;

/* The Python that `program` is says where its library is; 0 if it cannot. */
static int ask(void) {
  char command[2200];
  snprintf(command, sizeof command, "\"%s\" -m penstock.capi.location", program);
  FILE* pipe = popen(command, "r");
  if (pipe == NULL) return 0;
  char* line = fgets(library, sizeof library, pipe);
  int status = pclose(pipe);
  if (line == NULL || status != 0) return 0;
  library[strcspn(library, "\n")] = 0;
  return 1;
}

static int readable(const char* path) {
  FILE* file = *path ? fopen(path, "r") : NULL;
  if (file != NULL) fclose(file);
  return file != NULL;
}

/* An interpreter that the process has already, or the library of one; NULL, and `failure`. */
static void* find_python(void) {
  void* here = dlsym(RTLD_DEFAULT, "Py_IsInitialized") != NULL ? dlopen(NULL, RTLD_NOW) : NULL;
  if (here != NULL) return here;
  const char* wanted = getenv("PENSTOCK_PYTHON");
  snprintf(program, sizeof program, "%s", wanted != NULL ? wanted : PROGRAM);
  snprintf(library, sizeof library, "%s", LIBRARY);
  if (wanted != NULL || (!readable(library) && *library)) {
    if (wanted == NULL) snprintf(program, sizeof program, "python3");
    if (!ask()) {
      snprintf(failure, sizeof failure, "libpenstock needs a Python with penstock and a shared libpython, and %s is none. "
               "PENSTOCK_PYTHON names another one.", program);
      return NULL;
    }
  }
  if (!*library) return dlopen(own_path, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);  /* it is linked into this library */
  void* loaded = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
  if (loaded == NULL) snprintf(failure, sizeof failure, "libpenstock cannot load Python: %s", dlerror());
  return loaded;
}

static int find_functions(void* from) {
  struct { const char* name; void** place; } wanted[] = {
    {"Py_IsInitialized", (void**)&python.is_initialized}, {"Py_InitializeEx", (void**)&python.initialize},
    {"PyRun_SimpleStringFlags", (void**)&python.run}, {"PyEval_SaveThread", (void**)&python.save},
    {"PyEval_RestoreThread", (void**)&python.restore}, {"PyGILState_Ensure", (void**)&python.ensure},
    {"PyGILState_Release", (void**)&python.release}, {"PyGILState_GetThisThreadState", (void**)&python.this_thread},
    {"Py_DecRef", (void**)&python.decref}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    *wanted[i].place = dlsym(from, wanted[i].name);
    if (*wanted[i].place == NULL) {
      snprintf(failure, sizeof failure, "libpenstock finds no %s in %s", wanted[i].name, library);
      return 0;
    }
  }
  *(void**)&python.set_program_name = dlsym(from, "Py_SetProgramName");
  return 1;
}

/* Has Python fill in `functions`; what goes wrong is left in `failure`. */
static void connect(void) {
  static const char text[] =
    "try:\n"
    "    from penstock.capi.library import connect\n"
    "    connect(%zu, %d, r'%s')\n"
    "except BaseException as error:\n"
    "    import ctypes, sys\n"
    "    text = f'libpenstock cannot start in {sys.executable}: {type(error).__name__}: {error}'.encode()[:4000]\n"
    "    ctypes.memmove(%zu, text + bytes(1), len(text) + 1)\n";
  static char code[sizeof text + sizeof own_path + 100];
  snprintf(code, sizeof code, text, (size_t)functions, FUNCTIONS, own_path, (size_t)failure);
  if (python.run(code, NULL) != 0 && !*failure) snprintf(failure, sizeof failure, "libpenstock cannot run Python code; see standard error");
}

static void end_thread(void* state) {
  python.restore(state);
  python.release(1);  /* PyGILState_UNLOCKED: the thread had no state before ours */
}

static void start(void) {
  Dl_info info;
  if (dladdr((void*)TF_Version, &info) && info.dli_fname != NULL) snprintf(own_path, sizeof own_path, "%s", info.dli_fname);
  pthread_key_create(&thread_key, end_thread);
  void* from = find_python();
  if (from == NULL || !find_functions(from)) return;
  if (python.is_initialized()) {
    int state = python.ensure();
    connect();
    python.release(state);
    return;
  }
  static wchar_t name[sizeof program];
  if (python.set_program_name != NULL && mbstowcs(name, program, sizeof program - 1) != (size_t)-1) python.set_program_name(name);
  python.initialize(0);  /* without its signal handlers: those are the program's */
  connect();
  python.save();
}

/* The function that Python gave for an entry; NULL, with a status, if there is no Python. The calling thread has a state of
   its own in Python from now on, until it ends: making one for each call would cost time, and lose what Python keeps per thread. */
static void* entry(int index, TF_Status* status, const char* name) {
  pthread_once(&once, start);
  if (*failure) {
    if (status != NULL) TF_SetStatus(status, TF_FAILED_PRECONDITION, failure);
    else fprintf(stderr, "%s: %s\n", name, failure);
    return NULL;
  }
  if (python.this_thread() == NULL) {
    python.ensure();
    pthread_setspecific(thread_key, python.save());
  }
  return functions[index];
}

/* A deallocator: the memory is that of a Python object. */
TF_CAPI_EXPORT void penstock_release_object(void* data, size_t length, void* object) {
  (void)data;
  (void)length;
  int state = python.ensure();
  python.decref(object);
  python.release(state);
}

/* ---- forwarded to Python ---- */
