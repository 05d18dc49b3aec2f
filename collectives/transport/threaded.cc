// Ranks as threads of several processes: what passes between two of one process is copied, the rest
// travels between the processes, with the two ranks' places in the tag.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <numeric>

#include "collectives/byte_text.h"
#include "collectives/layout.h"
#include "collectives/local/local_compute.h"
#include "collectives/local/mailbox.h"

namespace reprise {
namespace {

// Tags of a pair of ranks: the algorithms', then one for send and recv.
constexpr int kThreadedPairTag = kMessageTags;
constexpr int kTagsOfPair = 1024;
static_assert(kThreadedPairTag < kTagsOfPair);
static_assert(kMaxRanksPerProcess * kMaxRanksPerProcess * kTagsOfPair <= kTransportTags);

// The tag of a message between processes: the places of the two ranks, and their own tag.
constexpr int WireTag(int from_place, int to_place, int tag) {
  return (from_place * kMaxRanksPerProcess + to_place) * kTagsOfPair + tag;
}

// Which process has which ranks: each has a block of consecutive ones.
struct Folding {
  int ranks;
  int processes;
  [[nodiscard]] int First(int process) const {
    return static_cast<int>(std::int64_t{ranks} * process / processes);
  }
  [[nodiscard]] int ProcessOf(int rank) const {
    auto process = static_cast<int>(std::int64_t{rank} * processes / ranks);
    while (First(process + 1) <= rank) {
      ++process;
    }
    return process;
  }
  [[nodiscard]] int PlaceOf(int rank) const { return rank - First(ProcessOf(rank)); }
};

// A group as one process sees it.
struct ThreadedGroup {
  std::vector<std::int32_t> ranks;
  std::vector<int> process;         // by member: position in `link`
  std::vector<int> place;           // by member: within its process
  std::unique_ptr<GroupComm> link;  // of the members' processes; null: none of them is here
  std::shared_ptr<Mailbox> messages;
};

// State that the ranks of this process share.
struct ThreadedWorld {
  ThreadedWorld(Communicator& the_processes, int ranks)
      : processes(the_processes), folding{ranks, the_processes.size()} {
    const auto process_nodes = processes.nodes();
    for (int rank = 0; rank < ranks; ++rank) {
      const auto process = static_cast<std::size_t>(folding.ProcessOf(rank));
      nodes.push_back(folding.First(process_nodes[process]));
    }
  }
  [[nodiscard]] int first() const { return folding.First(processes.rank()); }
  [[nodiscard]] int here() const { return folding.First(processes.rank() + 1) - first(); }

  Communicator& processes;
  const Folding folding;
  std::vector<std::int32_t> nodes;

  std::mutex groups_mutex;                             // guards the next two; held while creating
  std::vector<std::shared_ptr<ThreadedGroup>> groups;  // by order of creation
  std::vector<std::size_t> created;                    // by place: groups it has asked for

  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::vector<std::string> gathering;
  int gathered = 0;
  std::uint64_t generation = 0;
  std::shared_ptr<const Result<std::vector<std::string>>> last_gathered;

  std::mutex notes_mutex;               // guards `notes` and the process's TakeNote
  std::vector<std::deque<Note>> notes;  // by place
};

// A note between processes begins with its sender's and its receiver's rank.
std::string Addressed(int from, int to, const std::string& text) {
  return fmt::format("{} {} {}", from, to, text);
}
// False for a note without such a beginning.
bool ReadAddress(const std::string& text, Note& note, int& to) {
  int length = 0;
  if (std::sscanf(text.c_str(), "%d %d%n", &note.from, &to, &length) != 2 ||
      static_cast<std::size_t>(length) >= text.size()) {
    return false;
  }
  note.text = text.substr(static_cast<std::size_t>(length) + 1);
  return true;
}

class DoneTransfer final : public Transfer {
 public:
  Result<bool> Test() override { return true; }
};

class ThreadedGroupComm final : public GroupComm {
 public:
  ThreadedGroupComm(std::shared_ptr<ThreadedGroup> group, int rank)
      : group_(std::move(group)), rank_(rank) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(group_->ranks.size()); }

  Result<std::unique_ptr<Transfer>> Start(const CommSpec& spec, std::span<const std::byte> in,
                                          std::span<std::byte> out) override {
    const GroupPlace place{.ranks = group_->ranks, .rank = rank_};
    REPRISE_ASSIGN(const TransferLayout layout, LayoutOf(spec, place));
    REPRISE_TRY(CheckBuffers(spec, layout, in.size(), out.size()));
    in = in.first(static_cast<std::size_t>(layout.in_bytes));
    out = out.first(static_cast<std::size_t>(layout.out_bytes));
    if (spec.kind == CommKind::kSend) {
      return in.empty() ? std::make_unique<DoneTransfer>()
                        : Send(layout.peer, kThreadedPairTag, in);
    }
    if (spec.kind == CommKind::kRecv) {
      return out.empty() ? std::make_unique<DoneTransfer>()
                         : Recv(layout.peer, kThreadedPairTag, out);
    }
    if (size() > 1) {
      return UsageError(fmt::format(
          "{}: ranks as threads have no collectives of MPI's own; choose another --algo for {}",
          Describe(spec), Name(spec.kind)));
    }
    const LocalMember alone{.spec = &spec, .layout = layout, .in = in, .out = out};
    MoveLocally({&alone, 1});
    return std::make_unique<DoneTransfer>();
  }

  Result<std::unique_ptr<Transfer>> Send(int peer, int tag,
                                         std::span<const std::byte> data) override {
    const auto to = static_cast<std::size_t>(peer);
    if (IsHere(to)) {
      return group_->messages->Send({rank_, peer, tag}, data);
    }
    return group_->link->Send(group_->process[to], TagBetween(Me(), to, tag), data);
  }
  Result<std::unique_ptr<Transfer>> Recv(int peer, int tag, std::span<std::byte> data) override {
    const auto from = static_cast<std::size_t>(peer);
    if (IsHere(from)) {
      return group_->messages->Recv({peer, rank_, tag}, data);
    }
    return group_->link->Recv(group_->process[from], TagBetween(from, Me(), tag), data);
  }

 private:
  [[nodiscard]] std::size_t Me() const { return static_cast<std::size_t>(rank_); }
  [[nodiscard]] bool IsHere(std::size_t member) const {
    return group_->process[member] == group_->process[Me()];
  }
  [[nodiscard]] int TagBetween(std::size_t from, std::size_t to, int tag) const {
    return WireTag(group_->place[from], group_->place[to], tag);
  }

  std::shared_ptr<ThreadedGroup> group_;
  int rank_;
};

class ThreadedCommunicator final : public Communicator {
 public:
  ThreadedCommunicator(std::shared_ptr<ThreadedWorld> world, int place)
      : world_(std::move(world)), place_(place) {
    const std::int32_t node = world_->nodes[static_cast<std::size_t>(rank())];
    local_size_ = static_cast<int>(std::ranges::count(world_->nodes, node));
    local_rank_ =
        static_cast<int>(std::count(world_->nodes.begin(), world_->nodes.begin() + rank(), node));
  }

  [[nodiscard]] int rank() const override { return world_->first() + place_; }
  [[nodiscard]] int size() const override { return world_->folding.ranks; }
  [[nodiscard]] std::string_view transport() const override { return "threaded"; }
  [[nodiscard]] const std::string& host() const override { return world_->processes.host(); }
  [[nodiscard]] int local_rank() const override { return local_rank_; }
  [[nodiscard]] int local_size() const override { return local_size_; }
  [[nodiscard]] std::span<const std::int32_t> nodes() const override { return world_->nodes; }
  [[nodiscard]] bool HasCollectives() const override { return false; }

  Result<std::unique_ptr<GroupComm>> CreateGroup(const std::vector<std::int32_t>& ranks) override;
  Result<std::vector<std::string>> AllGather(const std::string& mine) override;
  Status Barrier() override {
    REPRISE_TRY(AllGather({}));
    return {};
  }
  void RaiseAbort(const Error& why) override {
    world_->processes.RaiseAbort(
        Error{why.kind, fmt::format("trace rank {}: {}", rank(), why.message)});
    world_->changed.notify_all();
  }
  std::optional<Error> PollAbort() override { return world_->processes.PollAbort(); }
  void PostNote(int to, std::string text) override;
  std::optional<Note> TakeNote() override;
  void AbortNow(int /*exit_code*/, std::string_view /*unsaid*/) override {
    Communicator::RaiseAbort(std::string("ended"));
  }

 private:
  [[nodiscard]] Result<std::vector<std::string>> GatherBetweenProcesses(
      const std::vector<std::string>& here) const;

  std::shared_ptr<ThreadedWorld> world_;
  int place_;
  int local_rank_ = 0;
  int local_size_ = 1;
};

Result<std::unique_ptr<GroupComm>> ThreadedCommunicator::CreateGroup(
    const std::vector<std::int32_t>& ranks) {
  REPRISE_TRY(CheckGroup(ranks, size()));
  ThreadedWorld& world = *world_;
  const std::lock_guard lock(world.groups_mutex);
  const std::size_t number = world.created[static_cast<std::size_t>(place_)]++;
  if (number == world.groups.size()) {
    // The first rank of this process creates it, together with the first rank of every other.
    auto group = std::make_shared<ThreadedGroup>();
    group->ranks = ranks;
    std::vector<std::int32_t> processes;
    for (const std::int32_t rank : ranks) {
      const int process = world.folding.ProcessOf(rank);
      if (PositionOf(process, processes) < 0) {
        processes.push_back(process);
      }
      group->process.push_back(PositionOf(process, processes));
      group->place.push_back(world.folding.PlaceOf(rank));
    }
    REPRISE_ASSIGN(group->link, world.processes.CreateGroup(processes));
    group->messages =
        std::make_shared<Mailbox>([of = &world.processes] { return of->PollAbort(); });
    world.groups.push_back(std::move(group));
  }
  const std::shared_ptr<ThreadedGroup>& group = world.groups[number];
  if (group->ranks != ranks) {
    return UsageError(
        fmt::format("rank {} creates another group {} than the others", rank(), number));
  }
  const int position = PositionOf(rank(), ranks);
  if (position < 0) {
    return std::unique_ptr<GroupComm>();
  }
  return std::make_unique<ThreadedGroupComm>(group, position);
}

void ThreadedCommunicator::PostNote(int to, std::string text) {
  text.resize(std::min(text.size(), kNoteBytes));
  const int process = world_->folding.ProcessOf(to);
  if (process != world_->processes.rank()) {
    world_->processes.PostNote(process, Addressed(rank(), to, text));
    return;
  }
  const std::lock_guard lock(world_->notes_mutex);
  world_->notes[static_cast<std::size_t>(world_->folding.PlaceOf(to))].push_back(
      {.from = rank(), .text = std::move(text)});
}

// The calling rank also receives the notes for the other ranks of this process.
std::optional<Note> ThreadedCommunicator::TakeNote() {
  const std::lock_guard lock(world_->notes_mutex);
  while (const auto note = world_->processes.TakeNote()) {
    Note for_rank;
    int to = -1;
    if (ReadAddress(note->text, for_rank, to) && to >= world_->first() &&
        to < world_->first() + world_->here()) {
      world_->notes[static_cast<std::size_t>(to - world_->first())].push_back(std::move(for_rank));
    }
  }
  std::deque<Note>& mine = world_->notes[static_cast<std::size_t>(place_)];
  if (mine.empty()) {
    return std::nullopt;
  }
  Note first = std::move(mine.front());
  mine.pop_front();
  return first;
}

// The last rank of this process to arrive gathers for all of them.
Result<std::vector<std::string>> ThreadedCommunicator::AllGather(const std::string& mine) {
  ThreadedWorld& world = *world_;
  std::unique_lock lock(world.mutex);
  world.gathering.resize(static_cast<std::size_t>(world.here()));
  world.gathering[static_cast<std::size_t>(place_)] = mine;
  const std::uint64_t generation = world.generation;
  if (++world.gathered == world.here()) {
    world.processes.SetPatience(patience_ns());
    const std::vector<std::string> here = std::exchange(world.gathering, {});
    world.gathered = 0;
    lock.unlock();
    auto all = std::make_shared<Result<std::vector<std::string>>>(GatherBetweenProcesses(here));
    lock.lock();
    world.last_gathered = std::move(all);
    ++world.generation;
    world.changed.notify_all();
    return *world.last_gathered;
  }
  // Wakes at intervals: another process may raise an abort.
  constexpr std::chrono::milliseconds kLook(20);
  const auto begin = std::chrono::steady_clock::now();
  while (!world.changed.wait_for(lock, kLook, [&] { return world.generation != generation; })) {
    lock.unlock();
    if (const auto why = PollAbort()) {
      return tl::unexpected<Error>(*why);
    }
    if (patience_ns() >= 0 &&
        std::chrono::steady_clock::now() - begin > std::chrono::nanoseconds(patience_ns())) {
      return tl::unexpected<Error>(GiveUpWaiting());
    }
    lock.lock();
  }
  return *world.last_gathered;  // the next one can't end before this rank joins it
}

// A process's share: the bytes of each of its ranks.
Result<std::vector<std::string>> ThreadedCommunicator::GatherBetweenProcesses(
    const std::vector<std::string>& here) const {
  ByteWriter share;
  for (const std::string& text : here) {
    share.Put(text);
  }
  REPRISE_ASSIGN(const auto shares, world_->processes.AllGather(share.Take()));
  std::vector<std::string> all;
  for (const std::string& theirs : shares) {
    for (ByteReader reader(theirs); !reader.AtEnd();) {
      all.push_back(reader.Get<std::string>());
    }
  }
  return all;
}

// A message with the highest tag goes around the processes: a transport that does not take it fails
// here, on all of them, and not where some already wait for what the others cannot send.
Status TryHighestTag(Communicator& processes, int ranks_per_process) {
  const int size = processes.size();
  if (size == 1) {
    return {};
  }
  std::vector<std::int32_t> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  REPRISE_ASSIGN(const auto link, processes.CreateGroup(all));
  const int tag = WireTag(ranks_per_process - 1, ranks_per_process - 1, kThreadedPairTag);
  const auto sent = link->Send((processes.rank() + 1) % size, tag, {});
  REPRISE_TRY(processes.Agree(sent ? Status{} : tl::unexpected<Error>(sent.error())));
  REPRISE_ASSIGN(const auto received, link->Recv((processes.rank() + size - 1) % size, tag, {}));
  REPRISE_TRY(processes.Await(**sent));
  return processes.Await(*received);
}

}  // namespace

Result<std::vector<std::unique_ptr<Communicator>>> CreateThreadedCommunicators(
    Communicator& processes, int ranks) {
  if (ranks < processes.size()) {
    return UsageError(fmt::format("{} ranks cannot be threads of {} processes: start fewer", ranks,
                                  processes.size()));
  }
  const int most = (ranks + processes.size() - 1) / processes.size();
  if (most > kMaxRanksPerProcess) {
    return UsageError(fmt::format("{} ranks on {} processes are {} in one; at most {}: start more",
                                  ranks, processes.size(), most, kMaxRanksPerProcess));
  }
  REPRISE_TRY(TryHighestTag(processes, most));
  const auto world = std::make_shared<ThreadedWorld>(processes, ranks);
  world->created.assign(static_cast<std::size_t>(world->here()), 0);
  world->notes.resize(static_cast<std::size_t>(world->here()));
  std::vector<std::unique_ptr<Communicator>> communicators;
  communicators.reserve(static_cast<std::size_t>(world->here()));
  for (int place = 0; place < world->here(); ++place) {
    communicators.push_back(std::make_unique<ThreadedCommunicator>(world, place));
  }
  return communicators;
}

}  // namespace reprise
