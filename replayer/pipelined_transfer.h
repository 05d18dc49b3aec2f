// A long transfer in chunks: while one is on the network, the next comes from the device and the
// one before goes back to it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "collectives/communicator.h"
#include "kernels/device.h"
#include "replayer/staging.h"

namespace reprise {

// Whether a transfer is cut: it is longer than a chunk, and can be cut anywhere, since every byte
// of the result comes from the same place of the inputs; kinds with a block for each member cannot.
// The answer is the same on every member.
[[nodiscard]] bool IsPipelined(const CommSpec& spec, std::int64_t chunk_bytes);

class PipelinedTransfer final : public Transfer {
 public:
  // Every member of the group cuts alike. `staging` is not mapped; `stream` null: nothing of it is
  // on a device. All references must outlive the transfer.
  PipelinedTransfer(GroupComm& group, const CommSpec& spec, Staging& staging, Stream* stream,
                    std::int64_t chunk_bytes);

  // Done once the result is on the device.
  Result<bool> Test() override;
  // Whether every chunk is on its way: only then may the group's next transfer start, since all
  // members must start theirs in the same order.
  [[nodiscard]] bool AllStarted() const { return started_ == chunks_.size(); }

 private:
  struct Chunk {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    EventPtr arrived;  // on the host; null: it always was
    std::unique_ptr<Transfer> transfer;
    bool over = false;
  };
  Status EnqueueDownloads();
  Status StartArrived();
  [[nodiscard]] CommSpec SpecOf(const Chunk& chunk) const;

  GroupComm& group_;
  CommSpec spec_;
  Staging& staging_;
  Stream* stream_;
  std::vector<Chunk> chunks_;
  bool begun_ = false;
  std::size_t started_ = 0;
  std::size_t over_ = 0;
  EventPtr uploaded_;  // the last chunk's
};

}  // namespace reprise
