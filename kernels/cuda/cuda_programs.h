// Our programs on a CUDA device, compiled once, and kept on disk.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "kernels/backend.h"
#include "kernels/cuda/cuda_buffer.h"
#include "kernels/disk_cache.h"

namespace reprise {

// Thread-safe.
class CudaPrograms {
 public:
  CudaPrograms(std::shared_ptr<CudaContext> context, const DeviceInfo& info,
               const DeviceOptions& options);
  // As long as the context. Environment error where it can't be compiled.
  [[nodiscard]] Result<CudaHandle> Function(const DeviceKernel& kernel);
  // The same for all its kernels.
  [[nodiscard]] Status Load(const DeviceKernel& kernel);
  [[nodiscard]] Device::ProgramStats stats() const;

 private:
  [[nodiscard]] Result<CudaHandle> Module(const DeviceKernel& kernel);
  [[nodiscard]] Result<std::string> Ptx(const DeviceKernel& kernel);

  const std::shared_ptr<CudaContext> context_;
  const int target_;
  const std::string device_options_;
  const DiskCache compiled_;  // in advance
  const DiskCache disk_;
  mutable std::mutex mutex_;
  std::map<std::string, CudaHandle> modules_;  // by program and options
  Device::ProgramStats stats_;
};

}  // namespace reprise
