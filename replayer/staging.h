// Host memory through which a transfer's tensors pass on their way between device and network.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/comm.h"
#include "core/result.h"
#include "core/value.h"
#include "kernels/device.h"
#include "kernels/kernel.h"

namespace reprise {

// Contiguous send and receive areas of one transfer, and the device pieces they mirror. Made once,
// used in every iteration.
class Staging {
 public:
  // `memory` null: no device, areas are zero. Bad input if a tensor was never allocated.
  static Result<Staging> Create(const CommSpec& spec, const OpCall& call, const Bindings* memory);

  // Device → send area; blocks until the data is there.
  [[nodiscard]] Status Download(Stream& stream);
  // Receive area → device; blocks until the data is there.
  [[nodiscard]] Status Upload(Stream& stream);
  [[nodiscard]] std::span<std::byte> in() { return in_place_ ? out() : std::span(in_); }
  [[nodiscard]] std::span<std::byte> out() { return out_; }

 private:
  struct Piece {
    Buffer* buffer;
    std::int64_t device_offset_bytes;
    std::int64_t area_offset_bytes;
    std::int64_t bytes;
  };
  bool in_place_ = false;
  std::vector<std::byte> in_, out_;
  std::vector<Piece> in_pieces_, out_pieces_;
};

}  // namespace reprise
