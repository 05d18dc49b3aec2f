#include "predict/simulator/slowed_kernels.h"

#include <algorithm>

#include "core/nanoseconds.h"

namespace reprise {

SlowedKernels::SlowedKernels(std::span<const std::uint32_t> device) : device_of_(device) {
  if (!device.empty()) {
    devices_.resize(*std::ranges::max_element(device) + std::size_t{1});
  }
}

void SlowedKernels::Touch(std::uint32_t device) {
  if (!devices_[device].touched) {
    devices_[device].touched = true;
    touched_.push_back(device);
  }
}

void SlowedKernels::Begin(std::uint32_t node, std::int64_t duration_ns, double beside,
                          std::int64_t now_ns) {
  const std::uint32_t device = device_of_[node];
  devices_[device].running.push_back(
      {node, 0, static_cast<double>(duration_ns), beside, now_ns, true});
  Touch(device);
}

bool SlowedKernels::Ends(std::uint32_t node, std::uint32_t version) {
  std::vector<Kernel>& running = devices_[device_of_[node]].running;
  const auto at = std::ranges::find_if(running, [&](const Kernel& kernel) {
    return kernel.node == node && kernel.version == version;
  });
  if (at == running.end()) {
    return false;
  }
  *at = running.back();
  running.pop_back();
  return true;
}

void SlowedKernels::ChangeTransfers(std::uint32_t node, std::int64_t by) {
  if (!devices_.empty()) {
    devices_[device_of_[node]].transfers += by;
    Touch(device_of_[node]);
  }
}

void SlowedKernels::Settle(std::int64_t now_ns, const Expect& expect) {
  for (const std::uint32_t number : touched_) {
    Device& device = devices_[number];
    device.touched = false;
    const bool busy = device.transfers > 0;
    const bool changed = busy != device.busy;
    for (Kernel& kernel : device.running) {
      if (!kernel.fresh && !changed) {
        continue;
      }
      if (!kernel.fresh) {
        kernel.left_ns -=
            static_cast<double>(now_ns - kernel.since_ns) / (device.busy ? kernel.beside : 1);
      }
      kernel.fresh = false;
      kernel.since_ns = now_ns;
      kernel.version = ++versions_;
      const double left_ns = std::max(kernel.left_ns, 0.0) * (busy ? kernel.beside : 1);
      expect(kernel.node, now_ns + NsOf(left_ns), kernel.version);
    }
    device.busy = busy;
  }
  touched_.clear();
}

}  // namespace reprise
