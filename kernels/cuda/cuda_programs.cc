#include "kernels/cuda/cuda_programs.h"

#include <utility>

#include "core/log.h"
#include "kernels/cuda/ptx_compiler.h"
#include "kernels/program_sources.h"

namespace reprise {

CudaPrograms::CudaPrograms(std::shared_ptr<CudaContext> context, const DeviceInfo& info,
                           std::string cache_directory)
    : context_(std::move(context)),
      compute_capability_(info.compute_capability),
      device_options_(ProgramOptions(info)),
      disk_(std::move(cache_directory)) {}

Device::ProgramStats CudaPrograms::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

Result<std::string> CudaPrograms::Ptx(const DeviceKernel& kernel) {
  const auto source = ProgramSource(kernel.program);
  if (!source) {
    return UsageError("there is no program " + kernel.program + " in kernels/ops");
  }
  const std::string options = device_options_ + " " + kernel.options;
  const std::string key =
      DiskCache::Key({*source, options, "ptx", std::to_string(compute_capability_)});
  const auto lock = disk_.Acquire(key);  // other processes compile the same
  if (const auto stored = disk_.Load(key)) {
    ++stats_.from_disk;
    return std::string(stored->begin(), stored->end());
  }
  REPRISE_ASSIGN(std::string ptx, CompileToPtx(*source, options, compute_capability_));
  ++stats_.compiled;
  ptx = PtxTitle(kernel.program, options) + ptx;
  if (disk_.enabled()) {
    if (const Status stored = disk_.Store(key, {ptx.begin(), ptx.end()}); !stored) {
      LogWarning(stored.error().message);
    }
  }
  return ptx;
}

Result<CudaHandle> CudaPrograms::Module(const DeviceKernel& kernel) {
  const std::lock_guard lock(mutex_);
  CudaHandle& module = modules_[kernel.program + " " + kernel.options];
  if (module == nullptr) {
    REPRISE_ASSIGN(const std::string ptx, Ptx(kernel));
    REPRISE_TRY(
        context_->Check(context_->Use().load_module(&module, ptx.c_str(), 0, nullptr, nullptr),
                        "loading the program " + kernel.program));
  }
  return module;
}

Result<CudaHandle> CudaPrograms::Function(const DeviceKernel& kernel) {
  REPRISE_ASSIGN(const CudaHandle module, Module(kernel));
  CudaHandle function = nullptr;
  REPRISE_TRY(context_->Check(context_->Use().function(&function, module, kernel.entry.c_str()),
                              "looking for the kernel " + kernel.entry + " of " + kernel.program));
  return function;
}

Status CudaPrograms::Load(const DeviceKernel& kernel) {
  REPRISE_TRY(Module(kernel));
  return {};
}

}  // namespace reprise
