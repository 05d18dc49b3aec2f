// Modules and launches.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "tests/kernels/cuda_stand_in/gpu.h"
#include "tests/kernels/cuda_stand_in/programs.h"

using namespace cuda_stand_in;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::size_t kMostThreads = 1024;
constexpr int kMostDynamicSharedBytes = 163 << 10;
// Of an NVIDIA GPU in z, and for blocks in y and z.
constexpr std::size_t kMostThreadsInZ = 64;
constexpr std::size_t kMostBlocksInYZ = 65535;

// Until they are unloaded: modules belong to no context here, since all devices are the same
// processor.
std::set<std::unique_ptr<Module>>& Modules() {
  static auto& modules = *new std::set<std::unique_ptr<Module>>;
  return modules;
}

Module* ModuleOf(const void* handle) {
  const auto it = std::ranges::find(
      Modules(), handle, [](const auto& one) { return static_cast<const void*>(one.get()); });
  return it == Modules().end() ? nullptr : it->get();
}

template <typename Body>
int WithFunction(void* handle, Body&& body) {
  return InContext([&](Context&) -> int {
    for (const auto& module : Modules()) {
      for (auto& [name, function] : module->functions) {
        if (&function == handle) {
          return body(function);
        }
      }
    }
    return Gpu::Refuse(kInvalidHandle, "no function, or one of a module that was unloaded");
  });
}

// The text in the caller's memory of the options, and how long it is.
void TellCompilerError(const std::string& text, unsigned count, const int* options, void** values) {
  char* log = nullptr;
  std::size_t bytes = 0;
  std::size_t place = count;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == kJitErrorLog) {
      log = static_cast<char*>(values[i]);
    } else if (options[i] == kJitErrorLogBytes) {
      bytes = reinterpret_cast<std::uintptr_t>(values[i]) & 0xffffffffU;
      place = i;
    }
  }
  if (log != nullptr && bytes > 0) {
    const std::size_t length = std::min(text.size(), bytes - 1);
    std::memcpy(log, text.data(), length);
    log[length] = '\0';
    values[place] = std::bit_cast<void*>(length);
  }
}

std::string Shape(const std::array<std::size_t, 3>& extents) {
  return fmt::format("{}x{}x{}", extents[0], extents[1], extents[2]);
}

// What the driver checks when it is called.
std::string WhyNoGrid(const Grid& grid) {
  const auto& [x, y, z] = grid.blocks;
  const auto& threads = grid.threads;
  if (std::ranges::count(grid.blocks, 0U) + std::ranges::count(threads, 0U) > 0 ||
      y > kMostBlocksInYZ || z > kMostBlocksInYZ || x >= std::size_t{1} << 31) {
    return fmt::format("a launch of {} blocks of {} threads", Shape(grid.blocks), Shape(threads));
  }
  if (threads[0] * threads[1] * threads[2] > kMostThreads || threads[2] > kMostThreadsInZ) {
    return fmt::format("a launch of {} threads a block, more than {}", Shape(threads),
                       kMostThreads);
  }
  return {};
}

std::string Launch(const Function& function, const Grid& grid,
                   const std::vector<std::vector<std::byte>>& words, const Stream& stream) {
  Gpu& gpu = Gpu::Get();
  std::string wrong = RunKernel(function, grid, words, stream.context->device, gpu.arena());
  if (wrong.empty()) {
    std::string text = fmt::format("kernel {} grid {} block {}", function.name, Shape(grid.blocks),
                                   Shape(grid.threads));
    for (std::size_t a = 0; a < words.size(); ++a) {
      std::uintptr_t address = 0;
      std::memcpy(&address, words[a].data(), std::min(words[a].size(), sizeof(address)));
      const Allocation* found =
          function.arguments[a].is_pointer ? gpu.arena().Find(address) : nullptr;
      text += found == nullptr
                  ? ""
                  : fmt::format(" {:#x}:{}", address, found->bytes - (address - found->begin));
    }
    LogOperation(stream.number, text);
  }
  return wrong;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names.
extern "C" {

int cuModuleLoadDataEx(void** handle, const void* image, unsigned count, int* options,
                       void** values) {
  return InContext([&](Context&) -> int {
    if (handle == nullptr || image == nullptr) {
      return kInvalidValue;
    }
    std::string why;
    auto made = LoadModule(static_cast<const char*>(image), why);
    if (made == nullptr) {
      TellCompilerError(why, count, options, values);
      return Gpu::Refuse(kInvalidPtx, why);
    }
    *handle = made.get();
    Modules().insert(std::move(made));
    return kOk;
  });
}

int cuModuleUnload(void* handle) {
  return InContext([&](const Context& context) -> int {
    const Module* const module = ModuleOf(handle);
    if (module == nullptr) {
      return Gpu::Refuse(kInvalidHandle, "no module, or one that was unloaded");
    }
    for (int device = 0; device < Gpu::Get().device_count(); ++device) {
      Gpu::Get().RunAll(Gpu::Get().context(device));
    }
    std::erase_if(Modules(), [&](const auto& one) { return one.get() == module; });
    return context.error;
  });
}

int cuModuleGetFunction(void** handle, void* module_handle, const char* name) {
  return InContext([&](Context&) -> int {
    Module* const module = ModuleOf(module_handle);
    if (module == nullptr || handle == nullptr || name == nullptr) {
      return module == nullptr ? kInvalidHandle : kInvalidValue;
    }
    const auto it = module->functions.find(name);
    return it == module->functions.end() ? kNotFound : (*handle = &it->second, kOk);
  });
}

int cuFuncGetAttribute(int* value, int attribute, void* handle) {
  return WithFunction(handle, [&](const Function& function) -> int {
    switch (attribute) {
      case kFunctionMaxThreadsPerBlock:
        return *value = kMostThreads, kOk;
      case kFunctionSharedBytes:
        return *value = static_cast<int>(function.local_bytes), kOk;
      case kFunctionLocalBytes:
        return *value = static_cast<int>(function.private_bytes), kOk;
      case kFunctionRegisters:  // so few that any block of threads fits
        return *value = 32, kOk;
      default:
        return Gpu::Refuse(kInvalidValue,
                           fmt::format("function attribute {} has no value here", attribute));
    }
  });
}

int cuFuncSetAttribute(void* handle, int attribute, int value) {
  return WithFunction(handle, [&](const Function&) -> int {
    const bool is_known = (attribute == kFunctionMaxDynamicSharedBytes && value >= 0 &&
                           value <= kMostDynamicSharedBytes) ||
                          (attribute == kFunctionSharedCarveout && value >= -1 && value <= 100);
    return is_known ? kOk
                    : Gpu::Refuse(kInvalidValue, fmt::format("function attribute {} is set to {}",
                                                             attribute, value));
  });
}

int cuLaunchKernel(void* handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void* stream_handle, void** arguments, void** extra) {
  return WithFunction(handle, [&](const Function& function) -> int {
    Stream* const stream = Gpu::StreamOf(*CurrentContext(), stream_handle);
    if (stream == nullptr) {
      return Gpu::Refuse(kInvalidHandle, "a launch on no stream of the current context");
    }
    if (extra != nullptr || shared_bytes != 0) {
      return Gpu::Refuse(kNotSupported, "a launch with packed arguments or shared memory by size");
    }
    const Grid grid{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}};
    if (const std::string why = WhyNoGrid(grid);
        !why.empty() || (arguments == nullptr && !function.arguments.empty())) {
      return Gpu::Refuse(kInvalidValue, why.empty() ? "a launch without its arguments" : why);
    }
    std::vector<std::vector<std::byte>> words;
    for (const Function::Argument& argument : function.arguments) {
      const auto* const from = static_cast<const std::byte*>(arguments[words.size()]);
      words.emplace_back(from, from + argument.bytes);
    }
    if (Gpu::Get().faults().LaunchFails()) {
      return Gpu::Get().Enqueue(
          *stream,
          {[](Stream&) { return std::string("a launch fails, as REPRISE_STAND_IN_FAULT asks"); },
           kLaunchFailed});
    }
    return Gpu::Get().Enqueue(*stream, {[&function, grid, words](const Stream& at) {
      return Launch(function, grid, words, at);
    }});
  });
}
}
// NOLINTEND(readability-identifier-naming)
