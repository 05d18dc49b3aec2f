// A long transfer in chunks: while one is on the network, the next comes from the device and the
// one before goes back to it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collectives/communicator.h"
#include "kernels/device.h"
#include "replayer/engine/device_side_transfer.h"
#include "replayer/engine/staging.h"

namespace reprise {

// How a transfer is cut. Each side of it is one block, or one for each member; chunk c carries
// bytes [c0, c1) of every block and is itself a transfer of the same kind, with shorter blocks.
struct TransferCut {
  std::int64_t in_blocks = 1;
  std::int64_t out_blocks = 1;
  std::int64_t block_bytes = 0;
  std::int64_t step_bytes = 0;  // c1 - c0 of all chunks but the last; whole elements
};

// Nothing if the transfer moves whole: it is not longer than a chunk, or its blocks differ. A chunk
// is `chunk_bytes` long, all blocks of the longer side together. Pieces of blocks are separate
// copies: none is shorter than kMinPieceBytes (or `chunk_bytes`, if less). The answer depends on
// block size and group size only, so it is the same on every member. An all_to_all with splits is
// therefore never cut, even if this member's splits are equal.
[[nodiscard]] std::optional<TransferCut> CutOf(const CommSpec& spec, int group_size,
                                               std::int64_t chunk_bytes);
// An estimate, not measured: at PCIe's 25 GB/s it takes 10 µs, about what enqueueing a copy does.
inline constexpr std::int64_t kMinPieceBytes = 256 << 10;

class PipelinedTransfer final : public DeviceSideTransfer {
 public:
  // Every member of the group cuts alike. `staging` is not mapped; `stream` null: nothing of it is
  // on a device. All references must outlive the transfer. On the host the areas hold chunk after
  // chunk, and each chunk block after block.
  PipelinedTransfer(GroupComm& group, const CommSpec& spec, Staging& staging, Stream* stream,
                    const TransferCut& cut);

  // Done once the result is on the device.
  Result<bool> Test() override;
  [[nodiscard]] bool AllStarted() const override { return started_ == chunks_.size(); }

 private:
  struct Chunk {
    std::int64_t begin = 0;  // within each block
    std::int64_t end = 0;
    EventPtr arrived = nullptr;  // on the host; null: it always was
    std::unique_ptr<Transfer> transfer = nullptr;
    bool over = false;
  };
  Status EnqueueDownloads();
  Status EnqueueUpload(const Chunk& chunk);
  Status StartArrived();
  [[nodiscard]] CommSpec SpecOf(const Chunk& chunk) const;

  GroupComm& group_;
  CommSpec spec_;
  Staging& staging_;
  Stream* stream_;
  TransferCut cut_;
  std::vector<Chunk> chunks_;
  bool begun_ = false;
  std::size_t started_ = 0;
  std::size_t over_ = 0;
  EventPtr uploaded_;  // the last chunk's
};

}  // namespace reprise
