#include "kernels/host/host_device.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/parallel.h"
#include "core/processor_name.h"
#include "kernels/cpu/blas.h"
#include "kernels/cpu/onednn.h"
#include "kernels/host/host_buffer.h"
#include "kernels/host/host_stream.h"
#include "kernels/host/torch_call.h"

namespace reprise {
namespace {

class HostDevice : public Device {
 public:
  HostDevice() : info_(DescribeHost()) {
    info_.driver = BlasInUse();
    info_.driver += (info_.driver.empty() || TorchInUse().empty() ? "" : "; ") + TorchInUse();
  }
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }

  [[nodiscard]] Result<std::unique_ptr<Buffer>> Allocate(std::int64_t bytes) override {
    return HostBuffer::Allocate(bytes, !TorchInUse().empty());
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
};

}  // namespace

DeviceInfo DescribeHost() {
  DeviceInfo info;
  info.backend = "host";
  info.name = ProcessorName();
  info.platform = "host";
  utsname kernel{};
  if (uname(&kernel) == 0) {
    info.version = std::string(kernel.sysname) + " " + kernel.release;
  }
  info.compute_units = OwnCores();
  info.memory_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  info.max_allocation_bytes = info.memory_bytes;
  info.max_work_group_size = 1;
  info.is_cpu = true;
  info.fp16 = false;
  info.fp64 = true;
  return info;
}

Result<std::unique_ptr<Device>> OpenHostDevice(const std::string& blas, const std::string& torch) {
  REPRISE_TRY(OpenOneDnn());
  REPRISE_TRY(UseBlas(blas));
  REPRISE_TRY(UseTorch(torch));
  return std::make_unique<HostDevice>();
}

}  // namespace reprise
