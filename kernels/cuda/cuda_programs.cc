#include "kernels/cuda/cuda_programs.h"

#include <utility>

#include "core/log.h"
#include "kernels/cuda/ptx_compiler.h"
#include "kernels/program_options.h"

namespace reprise {

CudaPrograms::CudaPrograms(std::shared_ptr<CudaContext> context, const DeviceInfo& info,
                           const DeviceOptions& options)
    : context_(std::move(context)),
      target_(PtxTarget(info.compute_capability)),
      device_options_(ProgramOptions(info)),
      compiled_(options.compiled_programs),
      disk_(options.cache_directory) {}

Device::ProgramStats CudaPrograms::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

Result<std::string> CudaPrograms::Ptx(const DeviceKernel& kernel) {
  const std::string options = device_options_ + " " + kernel.options;
  REPRISE_ASSIGN(const std::string key, PtxKey(kernel.program, options, target_));
  auto stored = compiled_.Load(key);
  const auto lock = stored ? std::nullopt : disk_.Acquire(key);  // others may compile the same
  stored = stored ? std::move(stored) : disk_.Load(key);
  if (stored) {
    ++stats_.from_disk;
    return std::string(stored->begin(), stored->end());
  }
  REPRISE_ASSIGN(std::string ptx, CompileToPtx(kernel.program, options, target_));
  ++stats_.compiled;
  if (disk_.enabled()) {
    if (const Status kept = disk_.Store(key, {ptx.begin(), ptx.end()}); !kept) {
      LogWarning(kept.error().message);
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
