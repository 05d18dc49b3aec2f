// Runs the lanes of a collective, a few at a time, over a group's messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collectives/algorithms/algorithm.h"
#include "collectives/algorithms/slices.h"
#include "collectives/communicator.h"

namespace reprise {

class ScheduledTransfer final : public Transfer {
 public:
  // `messages` must outlive the transfer; tags [first_tag, first_tag + channels) are its own while
  // it lasts. `in` and `out` as Algorithm::Plan wants them.
  ScheduledTransfer(GroupComm& messages, const Algorithm& algorithm, Slices slices,
                    const CommSpec& spec, std::span<const std::byte> in, std::span<std::byte> out,
                    int channels, int first_tag);
  ~ScheduledTransfer() override;
  ScheduledTransfer(const ScheduledTransfer&) = delete;
  ScheduledTransfer& operator=(const ScheduledTransfer&) = delete;

  Result<bool> Test() override;

 private:
  // One lane under way, and the memory that the lanes of its channel use one after the other.
  struct Channel {
    int tag = 0;
    Lane lane;
    std::size_t round = 0;
    std::vector<std::unique_ptr<Transfer>> messages;  // of this round, not yet over
    std::unique_ptr<std::byte[]> scratch;
    std::int64_t scratch_bytes = 0;
    std::int64_t next_lane = 0;  // a channel's lanes share its tag, one after the other
    bool done = false;
  };

  Status BeginLane(Channel& channel);
  Status StartRound(Channel& channel);
  void FinishRound(Channel& channel);
  // As far as it goes without waiting.
  Status Advance(Channel& channel);
  [[nodiscard]] std::byte* At(const Channel& channel, Ref ref) const;

  GroupComm& messages_;
  const Algorithm& algorithm_;
  Slices slices_;
  DType dtype_;
  ReduceOp op_;
  std::span<const std::byte> in_;
  std::span<std::byte> out_;
  std::vector<Channel> channels_;
  bool done_ = false;
};

}  // namespace reprise
