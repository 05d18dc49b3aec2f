// Programs by (file, options): compiled once per process, and kept on disk between processes.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "kernels/device.h"
#include "kernels/disk_cache.h"
#include "kernels/opencl/cl.h"

namespace reprise {

// Thread-safe; threads that ask for different programs do not wait for each other.
class ProgramCache {
 public:
  ProgramCache(cl::Context context, cl::Device device, const DeviceInfo& info,
               std::string directory);
  [[nodiscard]] Result<cl::Program> Get(const std::string& program, const std::string& options);
  // Compiles or loads it unless another process is compiling it right now.
  [[nodiscard]] Status TryGet(const std::string& program, const std::string& options);
  [[nodiscard]] Device::ProgramStats stats() const;

 private:
  struct Entry {
    std::mutex mutex;
    std::optional<cl::Program> program;
  };

  // Nothing if it would have to wait for another process and `wait` is false; so is Build's.
  Result<std::optional<cl::Program>> GetOrBuild(const std::string& program,
                                                const std::string& options, bool wait);
  Result<std::optional<cl::Program>> Build(const std::string& program, const std::string& options,
                                           bool wait);
  Result<cl::Program> Compile(const std::string& name, const std::string& source,
                              const std::string& options);
  std::optional<cl::Program> FromDisk(const std::string& key, const std::string& options);
  void ToDisk(const std::string& key, const cl::Program& program);

  cl::Context context_;
  cl::Device device_;
  std::string device_key_;
  std::string device_options_;
  DiskCache disk_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // addresses stay
  Device::ProgramStats stats_;
};

}  // namespace reprise
