// What tests of staging and of pipelined transfers share.
#pragma once

#include <array>
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

inline constexpr std::int32_t kRoot = 0;
// Kinds with a block for each member.
inline constexpr std::array kBlockKinds = {CommKind::kAllGather, CommKind::kReduceScatter,
                                           CommKind::kAllToAll, CommKind::kGather,
                                           CommKind::kScatter};

// As one member takes part; what only the root has is empty elsewhere.
inline CommSpec BlockSpec(CommKind kind, DType dtype, std::int64_t block_bytes, int rank,
                          int size) {
  const bool gathers = kind == CommKind::kAllGather || kind == CommKind::kGather;
  const bool rooted = kind == CommKind::kGather || kind == CommKind::kScatter;
  const std::int64_t all = rooted && rank != kRoot ? 0 : block_bytes * size;
  const bool all_to_all = kind == CommKind::kAllToAll;
  return {.kind = kind,
          .group = "0",
          .dtype = dtype,
          .in_bytes = gathers ? block_bytes : all,
          .out_bytes = gathers || all_to_all ? all : block_bytes,
          .in_splits = {},
          .out_splits = {},
          .root = rooted ? kRoot : -1};
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
