// Kernels that run slower while a transfer of their device moves. Part of
// predict/simulator/event_schedule.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace reprise {

class SlowedKernels {
 public:
  using Expect = std::function<void(std::uint32_t node, std::int64_t ns, std::uint32_t version)>;

  // By node; empty: nothing is slowed, and calls do nothing.
  explicit SlowedKernels(std::span<const std::uint32_t> device);

  // `beside`: how many times as long it takes beside a transfer.
  void Begin(std::uint32_t node, std::int64_t duration_ns, double beside, std::int64_t now_ns);
  // An end that Settle announced: false if it is out of date. Else the kernel is done.
  bool Ends(std::uint32_t node, std::uint32_t version);
  void TransferBegins(std::uint32_t node) { ChangeTransfers(node, 1); }
  void TransferEnds(std::uint32_t node) { ChangeTransfers(node, -1); }
  // New rates, and the ends of kernels that are new or have another rate now.
  void Settle(std::int64_t now_ns, const Expect& expect);

 private:
  struct Kernel {
    std::uint32_t node = 0;
    std::uint32_t version = 0;
    double left_ns = 0;  // at `since_ns`, as time without transfers
    double beside = 1;
    std::int64_t since_ns = 0;
    bool fresh = true;
  };
  struct Device {
    std::vector<Kernel> running;
    std::int64_t transfers = 0;
    bool busy = false, touched = false;
  };

  void ChangeTransfers(std::uint32_t node, std::int64_t by);
  void Touch(std::uint32_t device);

  std::span<const std::uint32_t> device_of_;
  std::vector<Device> devices_;
  std::vector<std::uint32_t> touched_;
  std::uint32_t versions_ = 0;
};

}  // namespace reprise
