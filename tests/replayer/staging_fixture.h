// What tests of staging and of pipelined transfers share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "collectives/communicator.h"
#include "core/clock.h"
#include "core/value.h"
#include "kernels/device.h"
#include "kernels/kernel.h"

namespace reprise::testing {

// Storages by number.
class Storages final : public Bindings {
 public:
  [[nodiscard]] Buffer* Find(std::int64_t incarnation) const override {
    const auto it = buffers.find(incarnation);
    return it == buffers.end() ? nullptr : it->second.get();
  }
  std::map<std::int64_t, std::unique_ptr<Buffer>> buffers;
};

// A part of storage `incarnation`, from element `offset` on.
inline TensorDesc Part(std::int64_t incarnation, std::int64_t offset, std::int64_t elements,
                       DType dtype = DType::kFloat32) {
  TensorDesc tensor;
  tensor.incarnation = incarnation;
  tensor.offset = offset;
  tensor.elements = elements;
  tensor.dtype = dtype;
  return tensor;
}

inline Status WaitFor(Transfer& transfer) {
  const std::int64_t deadline_ns = MonotonicNs() + 30'000'000'000;
  while (MonotonicNs() < deadline_ns) {
    REPRISE_ASSIGN(const bool done, transfer.Test());
    if (done) {
      return {};
    }
  }
  return CheckFailed("a transfer does not end");
}

}  // namespace reprise::testing
