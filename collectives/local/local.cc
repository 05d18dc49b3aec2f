// Ranks as threads of one process: for tests, and for replays without MPI.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "collectives/layout.h"
#include "collectives/local/local_compute.h"
#include "collectives/local/mailbox.h"
#include "collectives/matching/same_transfer.h"

namespace reprise {
namespace {

// One collective, or one send with its recv, on its way. Members arrive; the last one moves the
// data on its own thread.
struct LocalSlot {
  struct Arrival {
    CommSpec spec;
    LocalMember member;
    bool here = false;
  };
  std::vector<Arrival> arrivals;  // by group rank; of a pair: sender, receiver
  int missing = 0;
  bool abandoned = false;        // a member dropped its transfer: its buffers may be gone
  std::optional<Error> failure;  // set before `done`
  std::atomic<bool> done{false};
};

struct LocalGroup {
  std::vector<std::int32_t> ranks;
  std::vector<std::uint64_t> next;  // per member: number of its next collective
  std::map<std::uint64_t, std::shared_ptr<LocalSlot>> open;
  // (source, destination): sends or recvs that wait for their counterpart, oldest first.
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<LocalSlot>>> pairs;
  std::shared_ptr<Mailbox> messages;  // of positions in the group
};

// What the ranks of a run share.
struct LocalWorld {
  explicit LocalWorld(int world_size)
      : size(world_size),
        nodes(static_cast<std::size_t>(world_size), 0),
        created(static_cast<std::size_t>(world_size), 0),
        notes(static_cast<std::size_t>(world_size)) {}

  const int size;
  const std::vector<std::int32_t> nodes;  // all on one host
  std::mutex mutex;  // guards everything below, and every LocalGroup and LocalSlot
  std::condition_variable changed;

  std::vector<std::shared_ptr<LocalGroup>> groups;  // by order of creation
  std::vector<std::size_t> created;                 // per rank: groups it has asked for

  std::vector<std::string> gathering;  // the AllGather that is being filled
  int gathered = 0;
  std::uint64_t generation = 0;
  std::shared_ptr<const std::vector<std::string>> last_gathered;

  std::vector<std::deque<Note>> notes;  // by receiver

  std::optional<Error> abort;
  std::atomic<bool> aborted{false};  // lets Test() look without the lock
  [[nodiscard]] std::optional<Error> PollAbort() {
    if (!aborted.load(std::memory_order_acquire)) {
      return std::nullopt;
    }
    const std::lock_guard lock(mutex);
    return abort;
  }
};

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

class LocalCommunicator final : public Communicator {
 public:
  LocalCommunicator(std::shared_ptr<LocalWorld> world, int rank)
      : world_(std::move(world)), rank_(rank) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return world_->size; }
  [[nodiscard]] std::string_view transport() const override { return "local"; }
  [[nodiscard]] const std::string& host() const override { return host_; }
  [[nodiscard]] int local_rank() const override { return rank_; }
  [[nodiscard]] int local_size() const override { return world_->size; }
  [[nodiscard]] std::span<const std::int32_t> nodes() const override { return world_->nodes; }

  Result<std::unique_ptr<GroupComm>> CreateGroup(const std::vector<std::int32_t>& ranks) override {
    REPRISE_TRY(CheckGroup(ranks, world_->size));
    const std::lock_guard lock(world_->mutex);
    const std::size_t number = world_->created[static_cast<std::size_t>(rank_)]++;
    if (number == world_->groups.size()) {
      auto group = std::make_shared<LocalGroup>();
      group->ranks = ranks;
      group->next.assign(ranks.size(), 0);
      // The world outlives its groups; a shared pointer here would keep both alive for ever.
      group->messages =
          std::make_shared<Mailbox>([world = world_.get()] { return world->PollAbort(); });
      world_->groups.push_back(std::move(group));
    }
    const std::shared_ptr<LocalGroup>& group = world_->groups[number];
    if (group->ranks != ranks) {
      return UsageError(
          fmt::format("rank {} creates another group {} than the others", rank_, number));
    }
    const int position = PositionOf(rank_, ranks);
    if (position < 0) {
      return std::unique_ptr<GroupComm>();
    }
    return std::make_unique<LocalGroupComm>(world_, group, position);
  }

  Result<std::vector<std::string>> AllGather(const std::string& mine) override {
    std::unique_lock lock(world_->mutex);
    if (world_->abort) {
      return tl::unexpected<Error>(*world_->abort);
    }
    LocalWorld& world = *world_;
    world.gathering.resize(static_cast<std::size_t>(world.size));
    world.gathering[static_cast<std::size_t>(rank_)] = mine;
    const std::uint64_t generation = world.generation;
    if (++world.gathered == world.size) {
      world.last_gathered =
          std::make_shared<const std::vector<std::string>>(std::move(world.gathering));
      world.gathering.clear();
      world.gathered = 0;
      ++world.generation;
      world.changed.notify_all();
    }
    const auto over = [&] { return world.generation != generation || world.abort; };
    if (patience_ns() < 0) {
      world.changed.wait(lock, over);
    } else if (!world.changed.wait_for(lock, std::chrono::nanoseconds(patience_ns()), over)) {
      lock.unlock();
      return tl::unexpected<Error>(GiveUpWaiting());
    }
    if (world.generation == generation) {
      return tl::unexpected<Error>(*world.abort);
    }
    return *world.last_gathered;  // the next one can't end before this rank joins it
  }

  Status Barrier() override {
    REPRISE_TRY(AllGather({}));
    return {};
  }

  void RaiseAbort(const Error& why) override {
    const std::lock_guard lock(world_->mutex);
    if (!world_->abort) {
      world_->abort = Error{why.kind, fmt::format("rank {}: {}", rank_, why.message)};
      world_->aborted = true;
      world_->changed.notify_all();
    }
  }

  std::optional<Error> PollAbort() override { return world_->PollAbort(); }

  void PostNote(int to, std::string text) override {
    text.resize(std::min(text.size(), kNoteBytes));
    const std::lock_guard lock(world_->mutex);
    if (!world_->abort) {
      world_->notes.at(static_cast<std::size_t>(to)).push_back({rank_, std::move(text)});
    }
  }

  std::optional<Note> TakeNote() override {
    const std::lock_guard lock(world_->mutex);
    std::deque<Note>& mine = world_->notes[static_cast<std::size_t>(rank_)];
    if (mine.empty() || world_->abort) {
      return std::nullopt;
    }
    Note note = std::move(mine.front());
    mine.pop_front();
    return note;
  }

  void AbortNow(int /*exit_code*/, std::string_view /*unsaid*/) override {
    Communicator::RaiseAbort(std::string("ended"));
  }

 private:
  std::shared_ptr<LocalWorld> world_;
  int rank_;
  std::string host_ = "local";
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> CreateLocalCommunicators(int size) {
  const auto world = std::make_shared<LocalWorld>(size);
  std::vector<std::unique_ptr<Communicator>> communicators;
  communicators.reserve(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    communicators.push_back(std::make_unique<LocalCommunicator>(world, rank));
  }
  return communicators;
}

}  // namespace reprise
