// Runs one call of a kernel on a device and on the Reference, from the same deterministic data.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace reprise {

// Host copies of the storages that a call touches.
class CallMemory : public HostBindings {
 public:
  // Every storage large enough for every tensor in it, filled with data that suits its dtype
  // (indices within IndexBounds), outputs included, so that what is not written shows.
  explicit CallMemory(const OpCall& call);
  [[nodiscard]] std::span<std::byte> Find(std::int64_t incarnation) const override;

  struct Storage {
    DType dtype = DType::kUnknown;  // of the first tensor in it
    mutable std::vector<std::byte> bytes;
  };
  std::map<std::int64_t, Storage> storages;
};

// A device with what LowerContext needs: buffers for a CallMemory and poisoned scratch.
class CallRunner {
 public:
  explicit CallRunner(Device& device) : device_(device) {}
  // Lowers, enqueues, finishes; `memory` holds what the device holds afterwards.
  [[nodiscard]] Status Run(const Kernel& kernel, const OpCall& call, CallMemory& memory);

 private:
  Device& device_;
};

// "" if equal within the kernel's tolerance, else what differs first.
[[nodiscard]] std::string Difference(const CallMemory& actual, const CallMemory& expected,
                                     const Kernel::Tolerance& tolerance);

// Runs the call and the kernel's Reference on data of their own: "" if they agree within its
// tolerance, else the first difference or what failed.
[[nodiscard]] std::string Mismatch(CallRunner& runner, const Kernel& kernel, const OpCall& call);

// "aten::add(float32[2,3], 4)"
[[nodiscard]] std::string Describe(const OpCall& call);

// Why the device cannot run our programs: it lacks a compiler. Empty: it can.
[[nodiscard]] std::string WhyNoPrograms(Device& device);

// The device that tests use, opened once, programs cached below the build directory; nullptr if
// there is none, and `why` then says so.
[[nodiscard]] Device* TestDevice(const std::string& backend, std::string* why);

}  // namespace reprise
