#include <fmt/format.h>

#include <thread>

#include "collectives/layout.h"
#include "collectives/same_transfer.h"
#include "collectives/transport/local_world.h"

namespace reprise {
namespace {

class LocalTransfer final : public Transfer {
 public:
  LocalTransfer(std::shared_ptr<LocalWorld> world, std::shared_ptr<LocalSlot> slot)
      : world_(std::move(world)), slot_(std::move(slot)) {}
  ~LocalTransfer() override {
    const std::lock_guard lock(world_->mutex);
    slot_->abandoned = slot_->abandoned || !slot_->done;
  }
  LocalTransfer(const LocalTransfer&) = delete;
  LocalTransfer& operator=(const LocalTransfer&) = delete;

  Result<bool> Test() override {
    if (slot_->done.load(std::memory_order_acquire)) {
      if (slot_->failure) {
        return tl::unexpected<Error>(*slot_->failure);
      }
      return true;
    }
    if (const auto why = world_->PollAbort()) {
      return tl::unexpected<Error>(*why);
    }
    std::this_thread::yield();  // the missing rank may need this core
    return false;
  }

 private:
  std::shared_ptr<LocalWorld> world_;
  std::shared_ptr<LocalSlot> slot_;
};

// All members have arrived: moves the data, or returns why it can't. `ranks` are the group's.
void Complete(LocalSlot& slot, const std::vector<std::int32_t>& ranks,
              const std::vector<std::int32_t>& members) {
  if (slot.abandoned) {
    slot.failure = Error{ErrorKind::kCheckFailed,
                         fmt::format("{}: a member dropped it", Describe(slot.arrivals[0].spec))};
  }
  for (std::size_t i = 1; i < slot.arrivals.size() && !slot.failure; ++i) {
    const CommSpec& a = slot.arrivals[0].spec;
    const CommSpec& b = slot.arrivals[i].spec;
    const std::string what = DifferenceBetween(a, members[0], b, members[i], ranks);
    if (!what.empty()) {
      slot.failure = Error{ErrorKind::kBadInput,
                           fmt::format("{} on rank {} meets {} on rank {}: {}", Describe(a),
                                       members[0], Describe(b), members[i], what)};
    }
  }
  if (!slot.failure) {
    std::vector<LocalMember> movers;
    for (const LocalSlot::Arrival& arrival : slot.arrivals) {
      movers.push_back(arrival.member);
      movers.back().spec = &arrival.spec;
    }
    if (IsPointToPoint(slot.arrivals[0].spec.kind)) {
      std::copy(movers[0].in.begin(), movers[0].in.end(), movers[1].out.begin());
    } else {
      MoveLocally(movers);
    }
  }
  slot.done.store(true, std::memory_order_release);
}

class LocalGroupComm final : public GroupComm {
 public:
  LocalGroupComm(std::shared_ptr<LocalWorld> world, std::shared_ptr<LocalGroup> group, int rank)
      : world_(std::move(world)), group_(std::move(group)), rank_(rank) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(group_->ranks.size()); }

  Result<std::unique_ptr<Transfer>> Start(const CommSpec& spec, std::span<const std::byte> in,
                                          std::span<std::byte> out) override {
    const GroupPlace place{.ranks = group_->ranks, .rank = rank_};
    REPRISE_ASSIGN(TransferLayout layout, LayoutOf(spec, place));
    REPRISE_TRY(CheckBuffers(spec, layout, in.size(), out.size()));
    LocalSlot::Arrival arrival{.spec = spec, .here = true};
    arrival.member = {.layout = layout,
                      .in = in.first(static_cast<std::size_t>(layout.in_bytes)),
                      .out = out.first(static_cast<std::size_t>(layout.out_bytes))};
    const std::lock_guard lock(world_->mutex);
    if (world_->abort) {
      return tl::unexpected<Error>(*world_->abort);
    }
    std::shared_ptr<LocalSlot> slot = IsPointToPoint(spec.kind)
                                          ? JoinPair(std::move(arrival), layout.peer)
                                          : JoinCollective(std::move(arrival));
    return std::make_unique<LocalTransfer>(world_, slot);
  }

  Result<std::unique_ptr<Transfer>> Send(int peer, int tag,
                                         std::span<const std::byte> data) override {
    return group_->messages->Send({rank_, peer, tag}, data);
  }
  Result<std::unique_ptr<Transfer>> Recv(int peer, int tag, std::span<std::byte> data) override {
    return group_->messages->Recv({peer, rank_, tag}, data);
  }

 private:
  std::shared_ptr<LocalSlot> JoinCollective(LocalSlot::Arrival arrival) {
    const auto me = static_cast<std::size_t>(rank_);
    const std::uint64_t number = group_->next[me]++;
    std::shared_ptr<LocalSlot>& entry = group_->open[number];
    if (entry == nullptr) {
      entry = std::make_shared<LocalSlot>();
      entry->arrivals.resize(group_->ranks.size());
      entry->missing = size();
    }
    std::shared_ptr<LocalSlot> slot = entry;
    slot->arrivals[me] = std::move(arrival);
    if (--slot->missing == 0) {
      group_->open.erase(number);
      Complete(*slot, group_->ranks, group_->ranks);
    }
    return slot;
  }

  // Unbuffered: a send is done when its recv is. Stricter than MPI with small messages, so that
  // what only works by buffering shows.
  std::shared_ptr<LocalSlot> JoinPair(LocalSlot::Arrival arrival, int peer) {
    const bool sends = arrival.spec.kind == CommKind::kSend;
    const std::pair<int, int> way = sends ? std::pair(rank_, peer) : std::pair(peer, rank_);
    const std::size_t end = sends ? 0 : 1;
    auto& waiting = group_->pairs[way];
    if (waiting.empty() || waiting.front()->arrivals[end].here) {
      waiting.push_back(std::make_shared<LocalSlot>());
      waiting.back()->arrivals.resize(2);
      waiting.back()->arrivals[end] = std::move(arrival);
      return waiting.back();
    }
    std::shared_ptr<LocalSlot> slot = waiting.front();
    waiting.pop_front();
    slot->arrivals[end] = std::move(arrival);
    const auto global = [this](int i) { return group_->ranks[static_cast<std::size_t>(i)]; };
    Complete(*slot, group_->ranks, {global(way.first), global(way.second)});
    return slot;
  }

  std::shared_ptr<LocalWorld> world_;
  std::shared_ptr<LocalGroup> group_;
  int rank_;
};

}  // namespace

std::unique_ptr<GroupComm> MakeLocalGroupComm(std::shared_ptr<LocalWorld> world,
                                              std::shared_ptr<LocalGroup> group, int group_rank) {
  return std::make_unique<LocalGroupComm>(std::move(world), std::move(group), group_rank);
}

}  // namespace reprise
