#include "kernels/host/host_device.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/kernel_origin.h"
#include "core/parallel.h"
#include "core/processor_name.h"
#include "kernels/cpu/blas.h"
#include "kernels/cpu/onednn.h"
#include "kernels/host/host_baselines.h"
#include "kernels/host/host_buffer.h"
#include "kernels/host/host_lowering.h"
#include "kernels/host/host_stream.h"
#include "kernels/torch/torch_baseline.h"
#include "kernels/torch/torch_provider.h"

namespace reprise {
namespace {

class HostDevice : public Device {
 public:
  HostDevice(std::shared_ptr<const Blas> blas, std::shared_ptr<const TorchProvider> torch)
      : info_(DescribeHost()),
        blas_(std::move(blas)),
        torch_(std::move(torch)),
        lowering_(blas_, torch_) {
    if (blas_ != nullptr) {
      info_.driver = blas_->description();
    }
    if (torch_ != nullptr) {
      info_.driver += (info_.driver.empty() ? "" : "; ") + torch_->description();
      info_.kernels = kTorchKernels;
      fresh_ = std::make_shared<FreshMemory>();
    }
  }
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] const CallLowering& lowering() const override { return lowering_; }
  [[nodiscard]] const OperatorProvider* provider() const override { return torch_.get(); }
  [[nodiscard]] Baselines OpenBaselines(const BackendSettings& settings) const override {
    Baselines baselines;
    baselines.Add(OpenOpenBlas(blas_.get()));
    baselines.Add(OpenTorchBaseline(settings.Text(kTorchSetting), {},
                                    [](const TorchLibrary& /*library*/, HostTask task) {
                                      return std::make_unique<HostLaunch>(std::move(task));
                                    }));
    return baselines;
  }

  [[nodiscard]] Result<std::unique_ptr<Buffer>> Allocate(std::int64_t bytes) override {
    return HostBuffer::Allocate(bytes, fresh_);
  }

  [[nodiscard]] Result<std::unique_ptr<Stream>> CreateStream(bool profiling) override {
    return std::make_unique<HostStream>(profiling);
  }

  [[nodiscard]] Result<std::unique_ptr<PreparedLaunch>> Prepare(const Launch& launch) override {
    if (const auto* task = std::get_if<HostTask>(&launch)) {
      return std::make_unique<HostLaunch>(*task);
    }
    if (const auto* copy = std::get_if<DeviceCopy>(&launch)) {
      return PrepareCopy(*copy);
    }
    if (const auto* fill = std::get_if<DeviceFill>(&launch)) {
      return PrepareFill(*fill);
    }
    return UsageError("an OpenCL kernel (" + std::get<DeviceKernel>(launch).program +
                      ") cannot run on the host backend");
  }

  void BeginIteration(std::int64_t page_faults) override {
    if (fresh_ != nullptr && page_faults >= 0) {
      fresh_->BeginIteration(page_faults);
    }
  }

  [[nodiscard]] std::int64_t clock_uncertainty_ns() const override { return 0; }

 private:
  static Result<std::unique_ptr<PreparedLaunch>> PrepareCopy(const DeviceCopy& copy) {
    if (!copy.dst->Holds(copy.dst_offset_bytes, copy.bytes) ||
        !copy.src->Holds(copy.src_offset_bytes, copy.bytes)) {
      return UsageError("copy beyond the end of a buffer");
    }
    return std::make_unique<HostLaunch>([copy]() -> Status {
      std::memmove(copy.dst->host_data() + copy.dst_offset_bytes,
                   copy.src->host_data() + copy.src_offset_bytes,
                   static_cast<std::size_t>(copy.bytes));
      return {};
    });
  }

  static Result<std::unique_ptr<PreparedLaunch>> PrepareFill(const DeviceFill& fill) {
    if (!fill.dst->Holds(fill.offset_bytes, fill.bytes) || fill.pattern.empty() ||
        fill.bytes % static_cast<std::int64_t>(fill.pattern.size()) != 0) {
      return UsageError("fill beyond the end of a buffer, or not of whole patterns");
    }
    return std::make_unique<HostLaunch>([fill]() -> Status {
      std::byte* to = fill.dst->host_data() + fill.offset_bytes;
      const auto bytes = static_cast<std::size_t>(fill.bytes);
      std::size_t done = std::min(bytes, fill.pattern.size());
      std::memcpy(to, fill.pattern.data(), done);
      while (done < bytes) {  // what is there already is copied behind itself
        const std::size_t more = std::min(done, bytes - done);
        std::memcpy(to + done, to, more);
        done += more;
      }
      return {};
    });
  }

  DeviceInfo info_;
  std::shared_ptr<const Blas> blas_;
  std::shared_ptr<const TorchProvider> torch_;
  std::shared_ptr<FreshMemory> fresh_;  // with torch_
  HostLowering lowering_;
};

}  // namespace

DeviceInfo DescribeHost() {
  DeviceInfo info;
  info.backend = kHostBackend;
  info.name = ProcessorName();
  info.platform = kHostBackend;
  utsname kernel{};
  if (uname(&kernel) == 0) {
    info.version = std::string(kernel.sysname) + " " + kernel.release;
  }
  info.compute_units = OwnCores();
  info.memory_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  info.max_allocation_bytes = info.memory_bytes;
  info.max_work_group_size = 1;
  info.is_cpu = true;
  info.memory_is_host = true;
  info.kernels = std::string(kOwnKernelsPrefix) + kRatherTorch;
  info.fp16 = false;
  info.fp64 = true;
  return info;
}

Result<std::unique_ptr<Device>> OpenHostDevice(const BackendSettings& settings) {
  REPRISE_TRY(OpenOneDnn());
  std::shared_ptr<const Blas> blas;
  if (settings.Has(kBlasSetting)) {
    REPRISE_ASSIGN(blas, Blas::Open(settings.Text(kBlasSetting)));
  }
  std::shared_ptr<const TorchProvider> torch;
  if (settings.Has(kTorchSetting)) {
    REPRISE_ASSIGN(torch, TorchProvider::Open(settings.Text(kTorchSetting)));
  }
  return std::make_unique<HostDevice>(std::move(blas), std::move(torch));
}

}  // namespace reprise
