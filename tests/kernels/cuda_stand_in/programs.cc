#include "tests/kernels/cuda_stand_in/programs.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <regex>

#include "kernels/ops/products/gemm_mma.h"
#include "kernels/program_sources.h"

namespace cuda_stand_in {
namespace {

constexpr std::string_view kFirstLine = "// reprise: ";

struct OpenCl {
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
};

// The first CPU device; no context without one. Never released.
const OpenCl& TheOpenCl() {
  static const OpenCl found = [] {
    OpenCl made;
    std::array<cl_platform_id, 16> platforms{};
    cl_uint count = 0;
    if (clGetPlatformIDs(platforms.size(), platforms.data(), &count) != CL_SUCCESS) {
      return made;
    }
    for (cl_uint p = 0; p < std::min<cl_uint>(count, platforms.size()) && made.device == nullptr;
         ++p) {
      (void)clGetDeviceIDs(platforms.at(p), CL_DEVICE_TYPE_CPU, 1, &made.device, nullptr);
    }
    if (made.device != nullptr) {
      cl_int code = CL_SUCCESS;
      made.context = clCreateContext(nullptr, 1, &made.device, nullptr, nullptr, &code);
      made.queue = clCreateCommandQueue(made.context, made.device, 0, &code);
    }
    return made;
  }();
  return found;
}

std::string BuildLog(cl_program program) {
  std::size_t bytes = 0;
  clGetProgramBuildInfo(program, TheOpenCl().device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
  std::string log(bytes, '\0');
  clGetProgramBuildInfo(program, TheOpenCl().device, CL_PROGRAM_BUILD_LOG, bytes, log.data(),
                        nullptr);
  return log.c_str();
}

// Null, with the compiler's message in `why`.
cl_program Build(const std::string& source, const std::string& options, std::string& why) {
  const char* text = source.c_str();
  cl_int code = CL_SUCCESS;
  cl_program program = clCreateProgramWithSource(TheOpenCl().context, 1, &text, nullptr, &code);
  if (code == CL_SUCCESS) {
    code = clBuildProgram(program, 1, &TheOpenCl().device,
                          (options + " -cl-kernel-arg-info").c_str(), nullptr, nullptr);
  }
  if (code == CL_SUCCESS) {
    return program;
  }
  why = fmt::format("OpenCL error {}: {}", code, program == nullptr ? "" : BuildLog(program));
  if (program != nullptr) {
    clReleaseProgram(program);
  }
  return nullptr;
}

// Kernels of a program, each to be released.
std::vector<cl_kernel> KernelsOf(cl_program program) {
  cl_uint count = 0;
  clCreateKernelsInProgram(program, 0, nullptr, &count);
  std::vector<cl_kernel> kernels(count);
  clCreateKernelsInProgram(program, count, kernels.data(), nullptr);
  return kernels;
}

std::string NameOf(cl_kernel kernel) {
  std::array<char, 256> name{};
  clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, name.size() - 1, name.data(), nullptr);
  return name.data();
}

std::string TypeOf(cl_kernel kernel, cl_uint argument) {
  std::array<char, 256> name{};
  clGetKernelArgInfo(kernel, argument, CL_KERNEL_ARG_TYPE_NAME, name.size() - 1, name.data(),
                     nullptr);
  return name.data();
}

constexpr std::string_view kSizePrefix = "stand_in_size_of_";

// The source with a kernel behind each struct, and each other type with a capital, which says the
// type's size: a work-group size that a kernel requires is a constant expression, so that it need
// not run. On the line of the type's end, because of the lines that messages name and of
// conditional parts.
std::string WithSizes(const std::string& source) {
  static const std::regex end_of_type("\\n(\\}|typedef [^{};\\n]*) ([A-Z]\\w*);");
  const std::string kernel = fmt::format(
      "$& __kernel __attribute__((reqd_work_group_size(sizeof($2), 1, 1))) void {}$2(void) {{}}",
      kSizePrefix);
  return std::regex_replace(source, end_of_type, kernel);
}

std::size_t SizeSaidBy(cl_kernel kernel) {
  std::array<std::size_t, 3> required{};
  clGetKernelWorkGroupInfo(kernel, TheOpenCl().device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                           sizeof(required), required.data(), nullptr);
  return required[0];
}

// Of a number: the only size that OpenCL takes. 0 if it takes several.
std::size_t SizeOfNumber(cl_kernel kernel, cl_uint argument) {
  const std::array<std::byte, 8> zero{};
  std::size_t size = 0;
  for (const std::size_t bytes : {1, 2, 4, 8}) {
    if (clSetKernelArg(kernel, argument, bytes, zero.data()) == CL_SUCCESS) {
      if (size != 0) {
        return 0;
      }
      size = bytes;
    }
  }
  return size;
}

bool IsPointer(cl_kernel kernel, cl_uint argument) {
  cl_kernel_arg_address_qualifier space = CL_KERNEL_ARG_ADDRESS_PRIVATE;
  clGetKernelArgInfo(kernel, argument, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(space), &space,
                     nullptr);
  return space != CL_KERNEL_ARG_ADDRESS_PRIVATE;
}

cl_uint CountArguments(cl_kernel kernel) {
  cl_uint count = 0;
  clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(count), &count, nullptr);
  return count;
}

// Nothing if the size of an argument is not known.
std::optional<Function> Describe(cl_kernel kernel, Module& module,
                                 const std::map<std::string, std::size_t>& structs,
                                 std::string& why) {
  Function made{.module = &module, .name = NameOf(kernel), .kernel = kernel};
  for (cl_uint a = 0; a < CountArguments(kernel); ++a) {
    const bool is_pointer = IsPointer(kernel, a);
    const auto it = structs.find(TypeOf(kernel, a));
    const std::size_t number = it == structs.end() && !is_pointer ? SizeOfNumber(kernel, a) : 0;
    made.arguments.push_back({is_pointer, is_pointer            ? sizeof(void*)
                                          : it == structs.end() ? number
                                                                : it->second});
    if (made.arguments.back().bytes == 0) {
      why = fmt::format("kernel {}, argument {}: the size of {} is not known", made.name, a,
                        TypeOf(kernel, a));
      return std::nullopt;
    }
  }
  cl_ulong bytes = 0;
  clGetKernelWorkGroupInfo(kernel, TheOpenCl().device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(bytes),
                           &bytes, nullptr);
  made.local_bytes = bytes;
  bytes = 0;
  clGetKernelWorkGroupInfo(kernel, TheOpenCl().device, CL_KERNEL_PRIVATE_MEM_SIZE, sizeof(bytes),
                           &bytes, nullptr);
  made.private_bytes = bytes;
  return made;
}

// Memory as OpenCL has it: of the whole allocation, kept with it, or from an address within a
// result of PyTorch's on.
std::shared_ptr<void> BufferOf(Allocation& allocation, std::uintptr_t address) {
  if (address == allocation.begin && allocation.buffer != nullptr) {
    return allocation.buffer;
  }
  const std::size_t offset = address - allocation.begin;
  cl_int code = CL_SUCCESS;
  cl_mem memory = clCreateBuffer(TheOpenCl().context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                 allocation.bytes - offset, allocation.data() + offset, &code);
  if (code != CL_SUCCESS) {
    return nullptr;
  }
  std::shared_ptr<void> made(memory, [](void* of) { clReleaseMemObject(static_cast<cl_mem>(of)); });
  if (offset == 0) {
    allocation.buffer = made;
  }
  return made;
}

// What is wrong with a pointer, or nothing, and its buffer, null for a null pointer.
std::string Bind(std::uintptr_t address, int device, Arena& arena, std::shared_ptr<void>& buffer) {
  if (address == 0) {
    return {};
  }
  if (std::string why = arena.WhyNot(address, 1, device); !why.empty()) {
    return why;
  }
  Allocation& allocation = *arena.Find(address);
  if (address != allocation.begin && allocation.kind != MemoryKind::kResult) {
    return fmt::format(
        "{:#x} is within the allocation {:#x}; the stand-in takes pointers to the start of one",
        address, allocation.begin);
  }
  buffer = BufferOf(allocation, address);
  return buffer == nullptr ? fmt::format("OpenCL takes no buffer at {:#x}", address)
                           : std::string();
}

}  // namespace

Module::~Module() {
  kernels.clear();
  if (program != nullptr) {
    clReleaseProgram(static_cast<cl_program>(program));
  }
}

std::unique_ptr<Module> LoadModule(std::string_view image, std::string& why) {
  if (!image.starts_with(kFirstLine)) {
    why = "the image's first line is not `// reprise: PROGRAM OPTIONS`";
    return nullptr;
  }
  const std::string_view line =
      image.substr(kFirstLine.size(), image.find('\n') - kFirstLine.size());
  const std::string name(line.substr(0, line.find(' ')));
  const std::string options(line.substr(std::min(name.size(), line.size())));
  const std::optional<std::string> source = reprise::ProgramSource(name);
  if (!source) {
    why = "there is no program " + name;
    return nullptr;
  }
  if (TheOpenCl().queue == nullptr) {
    why = "no OpenCL CPU device; the stand-in needs one (pocl-opencl-icd)";
    return nullptr;
  }
  // What tensor cores do in PTX, no CPU does.
  const std::string emulated = name == "gemm_mma.cl" ? reprise::kMmaEmulated : "";
  auto made = std::make_unique<Module>();
  made->program = Build(WithSizes(*source), options + emulated, why);
  if (made->program == nullptr) {
    return nullptr;
  }
  std::map<std::string, std::size_t> structs;
  std::map<std::string, cl_kernel> kernels;
  for (cl_kernel kernel : KernelsOf(static_cast<cl_program>(made->program))) {
    const std::string entry = NameOf(kernel);
    made->kernels.emplace_back(kernel,
                               [](void* of) { clReleaseKernel(static_cast<cl_kernel>(of)); });
    if (entry.starts_with(kSizePrefix)) {
      structs[entry.substr(kSizePrefix.size())] = SizeSaidBy(kernel);
    } else {
      kernels[entry] = kernel;
    }
  }
  for (const auto& [entry, kernel] : kernels) {
    std::optional<Function> function = Describe(kernel, *made, structs, why);
    if (!function) {
      return nullptr;
    }
    made->functions.emplace(entry, std::move(*function));
  }
  return made;
}

std::string RunKernel(const Function& function, const Grid& grid,
                      const std::vector<std::vector<std::byte>>& words, int device, Arena& arena) {
  auto* const kernel = static_cast<cl_kernel>(function.kernel);
  std::vector<std::shared_ptr<void>> buffers(words.size());
  for (std::size_t a = 0; a < words.size(); ++a) {
    const void* value = words[a].data();
    const void* memory = nullptr;
    if (function.arguments[a].is_pointer) {
      std::uintptr_t address = 0;
      std::memcpy(&address, value, sizeof(address));
      if (const std::string why = Bind(address, device, arena, buffers[a]); !why.empty()) {
        return fmt::format("kernel {}, argument {}: {}", function.name, a, why);
      }
      memory = buffers[a].get();
      value = memory == nullptr ? nullptr : static_cast<const void*>(&memory);
    }
    if (const cl_int code = clSetKernelArg(kernel, a, words[a].size(), value); code != CL_SUCCESS) {
      return fmt::format("kernel {}: argument {} of {} bytes, OpenCL error {}", function.name, a,
                         words[a].size(), code);
    }
  }
  std::array<std::size_t, 3> global{};
  for (std::size_t d = 0; d < global.size(); ++d) {
    global.at(d) = grid.blocks.at(d) * grid.threads.at(d);
  }
  cl_int code = clEnqueueNDRangeKernel(TheOpenCl().queue, kernel, 3, nullptr, global.data(),
                                       grid.threads.data(), 0, nullptr, nullptr);
  code = code == CL_SUCCESS ? clFinish(TheOpenCl().queue) : code;
  return code == CL_SUCCESS ? std::string()
                            : fmt::format("kernel {}: OpenCL error {}", function.name, code);
}

}  // namespace cuda_stand_in
