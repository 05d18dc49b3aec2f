// Stands in for a GPU's OpenCL driver: a layer (CL/cl_layer.h; OPENCL_LAYERS names it) above the
// driver that is there. The device says what a GPU of the kind STAND_IN_GPU says, refuses what that
// GPU refuses, and computes by the driver beneath. A refusal is printed to stderr; a kernel that
// reads or writes beyond a buffer ends the process.
// STAND_IN_GPU_BUFFER_BYTES: the largest buffer, instead of the kind's. STAND_IN_GPU_TIMER_NS: the
// resolution of event times, instead of the driver's. STAND_IN_GPU_COUNTS: at the end, kernels and
// waits for the whole device are counted on stderr.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace {

// Which events have profiling times: kNone answers 0.
enum class Times { kOfAll, kNotOfMarkers, kNone };

// Sizes are of the real device divided by 64: the memory beneath is this machine's.
struct Kind {
  std::string_view kind, name, vendor, extensions;
  std::string board_name;  // empty: the driver has no such query
  cl_uint compute_units;
  cl_ulong memory_bytes, max_allocation_bytes, local_bytes;
  std::size_t max_work_group;
  std::array<std::size_t, 3> max_groups;  // in x, y, z
  Times times;
};

constexpr cl_ulong kMiB = 1 << 20;
constexpr std::string_view kCommon =
    "cl_khr_global_int32_base_atomics cl_khr_global_int32_extended_atomics "
    "cl_khr_local_int32_base_atomics cl_khr_local_int32_extended_atomics "
    "cl_khr_byte_addressable_store ";

// Of no vendor: what any GPU of 16 GB has.
Kind Modest(std::string_view kind, std::string_view name, std::string_view extensions,
            Times times) {
  return {kind,
          name,
          "Stand-in",
          extensions,
          "",
          32,
          16'288 * kMiB / 64,
          4'095 * kMiB / 64,
          64 << 10,
          1024,
          {4'194'303, 4'194'303, 4'194'303},
          times};
}

// h100: `reprise devices` on one (driver 570); groups by the CUDA C++ Programming Guide, "Technical
// Specifications per Compute Capability". Markers have no times there (docs/measured.md).
// mi300x: ROCm's OpenCL runtime; the device is named by its instruction set, as clinfo shows, and
// grids are limited by 32 bits of work-items.
// no_float64: a GPU without double precision, as Intel's Arc.
// no_times: a driver whose profiling events all say 0.
const Kind kKinds[] = {
    {"h100",
     "NVIDIA H100 80GB HBM3",
     "NVIDIA Corporation",
     "cl_khr_fp64 ",
     "",
     132,
     81'105 * kMiB / 64,
     81'105 * kMiB / 256,
     48 << 10,
     1024,
     {2'147'483'647, 65'535, 65'535},
     Times::kNotOfMarkers},
    {"mi300x",
     "gfx942:sramecc+:xnack-",
     "Advanced Micro Devices, Inc.",
     "cl_khr_fp64 cl_khr_fp16 cl_amd_device_attribute_query ",
     "AMD Instinct MI300X",
     304,
     196'592 * kMiB / 64,
     167'103 * kMiB / 64,
     64 << 10,
     1024,
     {4'194'303, 4'194'303, 4'194'303},
     Times::kOfAll},
    Modest("no_float64", "Stand-in GPU without float64", "cl_khr_fp16 ", Times::kOfAll),
    Modest("no_times", "Stand-in GPU without times", "cl_khr_fp64 ", Times::kNone),
};

const Kind& Chosen() {
  static const Kind* const kind = [] {
    const char* const wanted = std::getenv("STAND_IN_GPU");
    for (const Kind& known : kKinds) {
      if (wanted != nullptr && known.kind == wanted) {
        return &known;
      }
    }
    std::fprintf(stderr, "STAND_IN_GPU is h100, mi300x, no_float64 or no_times\n");
    std::abort();
  }();
  return *kind;
}

cl_ulong MaxAllocationBytes() {
  const char* const given = std::getenv("STAND_IN_GPU_BUFFER_BYTES");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : Chosen().max_allocation_bytes;
}

cl_icd_dispatch beneath;

template <typename... Values>
cl_int Refused(cl_int code, const char* format, Values... values) {
  std::fprintf(stderr, "stand-in GPU refuses: ");
  std::fprintf(stderr, format, values...);
  std::fprintf(stderr, "\n");
  return code;
}

cl_int AnswerBytes(const void* bytes, std::size_t have, std::size_t size, void* value,
                   std::size_t* needed) {
  if (needed != nullptr) {
    *needed = have;
  }
  if (value == nullptr) {
    return CL_SUCCESS;
  }
  if (size < have) {
    return CL_INVALID_VALUE;
  }
  std::memcpy(value, bytes, have);
  return CL_SUCCESS;
}

template <typename T>
cl_int Answer(const T& answer, std::size_t size, void* value, std::size_t* needed) {
  return AnswerBytes(&answer, sizeof(T), size, value, needed);
}

cl_int Answer(const std::string& text, std::size_t size, void* value, std::size_t* needed) {
  return AnswerBytes(text.c_str(), text.size() + 1, size, value, needed);
}

cl_int CL_API_CALL GetDeviceInfo(cl_device_id device, cl_device_info what, std::size_t size,
                                 void* value, std::size_t* needed) {
  const Kind& kind = Chosen();
  switch (what) {
    case CL_DEVICE_TYPE:
      return Answer(cl_device_type{CL_DEVICE_TYPE_GPU}, size, value, needed);
    case CL_DEVICE_NAME:
      return Answer(std::string(kind.name), size, value, needed);
    case CL_DEVICE_VENDOR:
      return Answer(std::string(kind.vendor), size, value, needed);
    case CL_DEVICE_EXTENSIONS:
      return Answer(std::string(kCommon) + std::string(kind.extensions), size, value, needed);
    case CL_DEVICE_BOARD_NAME_AMD:
      return kind.board_name.empty() ? CL_INVALID_VALUE
                                     : Answer(kind.board_name, size, value, needed);
    case CL_DEVICE_TOPOLOGY_AMD:
      return CL_INVALID_VALUE;
    case CL_DEVICE_MAX_COMPUTE_UNITS:
      return Answer(kind.compute_units, size, value, needed);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
      return Answer(kind.memory_bytes, size, value, needed);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
      return Answer(MaxAllocationBytes(), size, value, needed);
    case CL_DEVICE_LOCAL_MEM_SIZE:
      return Answer(kind.local_bytes, size, value, needed);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
      return Answer(kind.max_work_group, size, value, needed);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
      return Answer(std::array<std::size_t, 3>{1024, 1024, 64}, size, value, needed);
    case CL_DEVICE_PROFILING_TIMER_RESOLUTION:
      if (const char* const ns = std::getenv("STAND_IN_GPU_TIMER_NS"); ns != nullptr) {
        return Answer(std::size_t{std::strtoull(ns, nullptr, 10)}, size, value, needed);
      }
      break;
    case CL_DEVICE_DOUBLE_FP_CONFIG:
      if (kind.extensions.find("fp64") == std::string_view::npos) {
        return Answer(cl_device_fp_config{0}, size, value, needed);
      }
      break;
    default:
      break;
  }
  return beneath.clGetDeviceInfo(device, what, size, value, needed);
}

// Memory whose end, but for alignment, is that of the last page that may be accessed: what reads or
// writes beyond is stopped there. The memory of a GPU that does so is another buffer's.
struct Guarded {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;  // all pages
};

constexpr std::size_t kAlignment = 128;  // of any OpenCL type

void* Guard(std::size_t size, Guarded& pages) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;
  const std::size_t usable = (rounded + page - 1) / page * page;
  void* const got = mmap(nullptr, usable + page, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) {
    return nullptr;
  }
  pages = {static_cast<std::byte*>(got), usable + page};
  mprotect(pages.begin + usable, page, PROT_NONE);
  return pages.begin + usable - rounded;
}

void CL_CALLBACK Unmap(cl_mem /*memory*/, void* pages) {
  const std::unique_ptr<Guarded> of(static_cast<Guarded*>(pages));
  munmap(of->begin, of->bytes);
}

cl_mem CL_API_CALL CreateBuffer(cl_context context, cl_mem_flags flags, std::size_t size,
                                void* from, cl_int* code) {
  if (size > MaxAllocationBytes()) {
    const cl_int refused = Refused(CL_INVALID_BUFFER_SIZE, "a buffer of %zu bytes", size);
    if (code != nullptr) {
      *code = refused;
    }
    return nullptr;
  }
  if (from != nullptr || (flags & CL_MEM_ALLOC_HOST_PTR) != 0) {
    return beneath.clCreateBuffer(context, flags, size, from, code);
  }
  auto pages = std::make_unique<Guarded>();
  void* const memory = Guard(size, *pages);
  if (memory == nullptr) {
    return beneath.clCreateBuffer(context, flags, size, from, code);
  }
  const cl_mem made =
      beneath.clCreateBuffer(context, flags | CL_MEM_USE_HOST_PTR, size, memory, code);
  if (made == nullptr) {
    Unmap(nullptr, pages.release());
    return nullptr;
  }
  beneath.clSetMemObjectDestructorCallback(made, Unmap, pages.release());
  return made;
}

std::atomic<std::uint64_t> kernels{0};
std::atomic<std::uint64_t> finishes{0};

void PrintCounts() {
  std::fprintf(stderr, "stand-in GPU: %llu kernels, %llu clFinish\n",
               static_cast<unsigned long long>(kernels), static_cast<unsigned long long>(finishes));
}

cl_int CL_API_CALL Finish(cl_command_queue queue) {
  ++finishes;
  return beneath.clFinish(queue);
}

cl_int CL_API_CALL EnqueueKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                 const std::size_t* offset, const std::size_t* global,
                                 const std::size_t* local, cl_uint waits, const cl_event* wait,
                                 cl_event* event) {
  const Kind& kind = Chosen();
  char name[128] = "";
  beneath.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, nullptr);
  std::size_t items = 1;
  for (cl_uint d = 0; d < dims; ++d) {
    const std::size_t extent = local == nullptr ? 1 : local[d];
    items *= extent;
    // Without a local size the driver chooses one; it may be one item.
    if (extent == 0 || global[d] / extent > kind.max_groups[d]) {
      return Refused(CL_INVALID_GLOBAL_WORK_SIZE, "%zu groups of %s in dimension %u",
                     global[d] / extent, name, d);
    }
  }
  if (items > kind.max_work_group) {
    return Refused(CL_INVALID_WORK_GROUP_SIZE, "%zu work-items of %s", items, name);
  }
  cl_device_id device = nullptr;
  cl_ulong local_bytes = 0;
  beneath.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device),  // NOLINT: of the handle
                                &device, nullptr);
  beneath.clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(local_bytes),
                                   &local_bytes, nullptr);
  if (local_bytes > kind.local_bytes) {
    return Refused(CL_OUT_OF_RESOURCES, "%llu bytes of local memory of %s",
                   static_cast<unsigned long long>(local_bytes), name);
  }
  ++kernels;
  return beneath.clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, waits, wait,
                                        event);
}

cl_int CL_API_CALL GetTimes(cl_event event, cl_profiling_info what, std::size_t size, void* value,
                            std::size_t* needed) {
  cl_command_type type = 0;
  beneath.clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, nullptr);
  const Times times = Chosen().times;
  if (times == Times::kNotOfMarkers && (type == CL_COMMAND_MARKER || type == CL_COMMAND_BARRIER)) {
    return Refused(CL_PROFILING_INFO_NOT_AVAILABLE, "the time of a marker");
  }
  if (times == Times::kNone) {
    return Answer(cl_ulong{0}, size, value, needed);
  }
  return beneath.clGetEventProfilingInfo(event, what, size, value, needed);
}

}  // namespace

extern "C" {

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, std::size_t size, void* value,
                                               std::size_t* needed) {
  if (what == CL_LAYER_API_VERSION) {
    return Answer(cl_layer_api_version{CL_LAYER_API_VERSION_100}, size, value, needed);
  }
  return what == CL_LAYER_NAME ? Answer(std::string("stand-in GPU"), size, value, needed)
                               : CL_INVALID_VALUE;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* target,
                                            cl_uint* entries_of_layer,
                                            const cl_icd_dispatch** layer) {
  constexpr cl_uint kEntries = sizeof(cl_icd_dispatch) / sizeof(void*);
  std::memcpy(static_cast<void*>(&beneath), target, std::min(entries, kEntries) * sizeof(void*));
  static cl_icd_dispatch dispatch;
  dispatch = beneath;
  dispatch.clGetDeviceInfo = GetDeviceInfo;
  dispatch.clCreateBuffer = CreateBuffer;
  dispatch.clEnqueueNDRangeKernel = EnqueueKernel;
  dispatch.clFinish = Finish;
  dispatch.clGetEventProfilingInfo = GetTimes;
  if (std::getenv("STAND_IN_GPU_COUNTS") != nullptr) {
    std::atexit(PrintCounts);
  }
  *entries_of_layer = std::min(entries, kEntries);
  *layer = &dispatch;
  return CL_SUCCESS;
}

}  // extern "C"
