// The tests' device, lowered to as if it were another: a GPU, one with tensor cores, a tuned one.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "kernels/device.h"
#include "kernels/ops/products/gemm_mma.h"

namespace reprise {

// Says that it is no CPU.
class PretendedGpu : public Device {
 public:
  explicit PretendedGpu(Device& device) : info_(device.info()), device_(device) {
    info_.is_cpu = false;
  }
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] const CallLowering& lowering() const override { return device_.lowering(); }
  [[nodiscard]] Result<std::unique_ptr<Buffer>> Allocate(std::int64_t bytes) override {
    return device_.Allocate(bytes);
  }
  [[nodiscard]] Result<std::unique_ptr<Stream>> CreateStream(bool profiling) override {
    return device_.CreateStream(profiling);
  }
  [[nodiscard]] Result<std::unique_ptr<PreparedLaunch>> Prepare(const Launch& launch) override {
    return device_.Prepare(launch);
  }
  [[nodiscard]] std::int64_t clock_uncertainty_ns() const override { return 0; }

 protected:
  DeviceInfo info_;

 private:
  Device& device_;
};

// Says that it has tensor cores, and runs their program with mma_emulated.cl.
class EmulatedTensorCores : public PretendedGpu {
 public:
  explicit EmulatedTensorCores(Device& device, std::string options = "")
      : PretendedGpu(device), options_(kMmaEmulated + std::move(options)) {
    info_.tensor_cores = true;
  }
  [[nodiscard]] KernelTuning& tuning() { return info_.tuning; }
  // Launches of the program so far.
  [[nodiscard]] int launches() const { return launches_; }
  [[nodiscard]] Result<std::unique_ptr<PreparedLaunch>> Prepare(const Launch& launch) override {
    const auto* kernel = std::get_if<DeviceKernel>(&launch);
    if (kernel == nullptr || kernel->program != "gemm_mma.cl") {
      return PretendedGpu::Prepare(launch);
    }
    ++launches_;
    DeviceKernel emulated = *kernel;
    emulated.options += options_;
    return PretendedGpu::Prepare(emulated);
  }

 private:
  std::string options_;
  int launches_ = 0;
};

// The device itself with tiles that were never measured.
class TunedDevice : public PretendedGpu {
 public:
  TunedDevice(Device& device, KernelTuning tuning) : PretendedGpu(device) {
    info_.is_cpu = device.info().is_cpu;
    info_.tuning = std::move(tuning);
  }
};

}  // namespace reprise
