// What one rank does for one share of a collective: rounds of messages and local work. Algorithms
// write lanes, ScheduledTransfer runs them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace reprise {

// In: only read. Out: the transfer's output. Scratch: the lane's own, uninitialised.
enum class Area : std::uint8_t { kIn, kOut, kScratch };

struct Ref {
  Area area = Area::kOut;
  std::int64_t offset = 0;  // bytes
  [[nodiscard]] Ref At(std::int64_t bytes) const { return {area, offset + bytes}; }
};

struct ByteRange {
  std::int64_t offset = 0;  // bytes
  std::int64_t bytes = 0;
  [[nodiscard]] std::int64_t end() const { return offset + bytes; }
};

struct LaneAction {
  enum class Kind : std::uint8_t {
    kSend,    // from → peer
    kRecv,    // peer → to
    kCopy,    // from → to
    kReduce,  // to = from op to
  };
  Kind kind = Kind::kCopy;
  int peer = -1;  // position in the group
  Ref from;
  Ref to;
  std::int64_t bytes = 0;
};

// All messages of a round are on their way at once; when they are over, its copies and reductions
// run in order; then the next round begins.
struct Round {
  std::vector<LaneAction> messages;
  std::vector<LaneAction> local;
  [[nodiscard]] bool empty() const { return messages.empty() && local.empty(); }
};

// The i-th message of a lane from one member to another is the i-th that the other receives from
// it: both write them in the same order. What has no bytes is left out on both sides.
class Lane {
 public:
  void Send(int peer, Ref from, std::int64_t bytes) {
    Add(rounds_.back().messages, {LaneAction::Kind::kSend, peer, from, {}, bytes});
  }
  void Recv(int peer, Ref to, std::int64_t bytes) {
    Add(rounds_.back().messages, {LaneAction::Kind::kRecv, peer, {}, to, bytes});
  }
  // Messages without data, for barriers.
  void SendSignal(int peer) {
    rounds_.back().messages.push_back({.kind = LaneAction::Kind::kSend, .peer = peer});
  }
  void RecvSignal(int peer) {
    rounds_.back().messages.push_back({.kind = LaneAction::Kind::kRecv, .peer = peer});
  }
  void Copy(Ref from, Ref to, std::int64_t bytes) {
    Add(rounds_.back().local, {LaneAction::Kind::kCopy, -1, from, to, bytes});
  }
  void Reduce(Ref from, Ref to, std::int64_t bytes) {
    Add(rounds_.back().local, {LaneAction::Kind::kReduce, -1, from, to, bytes});
  }
  void NextRound() {
    if (!rounds_.back().empty()) {
      rounds_.emplace_back();
    }
  }
  // Where `bytes` of scratch begin that nothing else uses.
  [[nodiscard]] Ref Scratch(std::int64_t bytes) {
    constexpr std::int64_t kAlign = 64;
    const Ref at{Area::kScratch, scratch_bytes_};
    scratch_bytes_ += (bytes + kAlign - 1) / kAlign * kAlign;
    return at;
  }
  [[nodiscard]] std::span<const Round> rounds() const { return rounds_; }
  [[nodiscard]] std::int64_t scratch_bytes() const { return scratch_bytes_; }

 private:
  static void Add(std::vector<LaneAction>& actions, const LaneAction& action) {
    if (action.bytes > 0) {
      actions.push_back(action);
    }
  }
  std::vector<Round> rounds_ = std::vector<Round>(1);
  std::int64_t scratch_bytes_ = 0;
};

}  // namespace reprise
