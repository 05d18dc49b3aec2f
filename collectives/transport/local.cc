// Ranks as threads of one process: for tests, and for replays without MPI.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "collectives/layout.h"
#include "collectives/transport/local_world.h"

namespace reprise {
namespace {

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
    return MakeLocalGroupComm(world_, group, position);
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

  void AbortNow(int /*exit_code*/) override { Communicator::RaiseAbort(std::string("ended")); }

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
