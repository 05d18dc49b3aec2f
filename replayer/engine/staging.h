// Host memory through which a transfer's tensors pass on their way between device and network.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/comm.h"
#include "core/result.h"
#include "core/value.h"
#include "kernels/device.h"
#include "kernels/kernel.h"

namespace reprise {

// The send and receive areas of one transfer, and the device pieces they mirror. Made once, used in
// every iteration. On a CPU device a tensor in one piece is its own area: nothing is copied.
class Staging {
 public:
  // `memory` and `device` null: no device, areas are zero. `may_map` false: always through areas.
  // Bad input if a tensor was never allocated.
  static Result<Staging> Create(const CommSpec& spec, const OpCall& call, const Bindings* memory,
                                Device* device, bool may_map);

  // The areas hold what is on the device; blocks until so.
  [[nodiscard]] Status Download(Stream& stream);
  // The device holds what is in the receive area; blocks until so.
  [[nodiscard]] Status Upload(Stream& stream);
  // Between the two (at any time where nothing is mapped).
  [[nodiscard]] std::span<std::byte> in() { return in_place_ ? out() : in_.bytes; }
  [[nodiscard]] std::span<std::byte> out() { return out_.bytes; }
  [[nodiscard]] bool IsMapped() const { return mapped_; }

  // Bytes [begin, end) of the tensors, counted through all of one side, and their place in its
  // area, from `area_begin` on; only enqueued: the caller waits. Not for mapped ones.
  [[nodiscard]] Status EnqueueDownload(Stream& stream, std::int64_t begin, std::int64_t end,
                                       std::int64_t area_begin);
  [[nodiscard]] Status EnqueueUpload(Stream& stream, std::int64_t begin, std::int64_t end,
                                     std::int64_t area_begin);

 private:
  struct Piece {
    Buffer* buffer;
    std::int64_t device_offset_bytes;
    std::int64_t begin_bytes;  // after the pieces before it
    std::int64_t bytes;
  };
  struct Area {
    std::vector<Piece> pieces;           // one after the other, none empty
    std::unique_ptr<HostMemory> memory;  // null: mapped, or nothing
    std::span<std::byte> bytes;
  };
  // Whether both areas can be the tensors themselves.
  [[nodiscard]] static bool CanMap(const Area& in, const Area& out, const CommSpec& spec,
                                   bool in_place);
  // Each piece's share of [begin, end): copy(buffer, device offset, bytes before it, bytes).
  template <typename Copy>
  static Status CopyPieces(const std::vector<Piece>& pieces, std::int64_t begin, std::int64_t end,
                           Copy copy);
  static Status Allocate(std::int64_t bytes, Device* device, Area& area);
  static Status Map(Stream& stream, Area& area);
  static Status Unmap(Stream& stream, Area& area);

  bool in_place_ = false;
  bool mapped_ = false;
  Area in_, out_;
};

}  // namespace reprise
