// Communicator over MPI.
#include <dlfcn.h>
#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>

#include "collectives/communicator.h"
#include "collectives/layout.h"
#include "collectives/transport/mpi_state.h"
#include "collectives/transport/mpi_transfer.h"
#include "core/clock.h"
#include "core/log.h"

namespace reprise {
namespace {

// Ends all processes of the job. The caller has said why, so Open MPI's own abort is called, which
// MPI_Abort calls after six lines of its own on stderr. An exit after MPI_Finalize gets such lines
// from mpirun. Returns where the MPI is another one.
void EndQuietly(int exit_code) {
  using OpenMpiAbort = int (*)(MPI_Comm, int);
  std::fflush(nullptr);
  if (auto* const end = reinterpret_cast<OpenMpiAbort>(dlsym(RTLD_DEFAULT, "ompi_mpi_abort"))) {
    end(MPI_COMM_WORLD, exit_code);
  }
}

void EndAllProcesses(int exit_code) {
  EndQuietly(exit_code);
  MPI_Abort(MPI_COMM_WORLD, exit_code);
}

// Ends all processes where a call that waits for other ranks, and that cannot be given up, takes
// longer than the patience; a negative one: never.
class CallLimit {
 public:
  CallLimit(const char* call, std::int64_t patience_ns) {
    if (patience_ns >= 0) {
      thread_ = std::jthread([call, patience_ns](const std::stop_token& stop) {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any wake;
        wake.wait_for(lock, stop, std::chrono::nanoseconds(patience_ns), [] { return false; });
        if (!stop.stop_requested()) {
          LogError(
              fmt::format("{} has not returned for {} s: some rank does not come to it: it is "
                          "stuck or stopped",
                          call, patience_ns / 1'000'000'000));
          EndAllProcesses(static_cast<int>(ErrorKind::kEnvironment));
        }
      });
    }
  }

 private:
  std::jthread thread_;
};

class MpiGroupComm final : public GroupComm {
 public:
  MpiGroupComm(std::shared_ptr<MpiState> state, MPI_Comm comm, std::vector<std::int32_t> ranks,
               int rank)
      : state_(std::move(state)), comm_(comm), ranks_(std::move(ranks)), rank_(rank) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(ranks_.size()); }

  Result<std::unique_ptr<Transfer>> Start(const CommSpec& spec, std::span<const std::byte> in,
                                          std::span<std::byte> out) override {
    const GroupPlace place{.ranks = ranks_, .rank = rank_};
    REPRISE_ASSIGN(const TransferLayout layout, LayoutOf(spec, place));
    REPRISE_TRY(CheckBuffers(spec, layout, in.size(), out.size()));
    if (state_->Aborted()) {
      return tl::unexpected<Error>(*state_->PollAbort());
    }
    auto transfer = std::make_unique<MpiTransfer>(state_, spec);
    MpiCall call{.state = *state_,
                 .transfer = *transfer,
                 .comm = comm_,
                 .spec = spec,
                 .layout = layout,
                 .place = place,
                 .in = in.first(static_cast<std::size_t>(layout.in_bytes)),
                 .out = out.first(static_cast<std::size_t>(layout.out_bytes))};
    const auto guard = state_->Guard();
    REPRISE_TRY(Issue(call));
    return transfer;
  }

  Result<std::unique_ptr<Transfer>> Send(int peer, int tag,
                                         std::span<const std::byte> data) override {
    return Message(CommKind::kSend, peer, tag, data, {});
  }
  Result<std::unique_ptr<Transfer>> Recv(int peer, int tag, std::span<std::byte> data) override {
    return Message(CommKind::kRecv, peer, tag, {}, data);
  }

 private:
  Result<std::unique_ptr<Transfer>> Message(CommKind kind, int peer, int tag,
                                            std::span<const std::byte> in,
                                            std::span<std::byte> out) {
    if (state_->Aborted()) {
      return tl::unexpected<Error>(*state_->PollAbort());
    }
    REPRISE_TRY(CheckTag(kMessageTagBase + tag, state_->most_tag));
    auto transfer = std::make_unique<MpiTransfer>(state_, CommSpec{.kind = kind});
    const auto guard = state_->Guard();
    REPRISE_TRY(StartMessage(*transfer, state_->max_message_bytes, comm_, peer,
                             kMessageTagBase + tag, in, out));
    return transfer;
  }

  static Status Issue(MpiCall& call) {
    switch (call.spec.kind) {
      case CommKind::kAllReduce:
      case CommKind::kReduce:
      case CommKind::kReduceScatter:
        return call.StartReduction();
      case CommKind::kAllGather:
      case CommKind::kGather:
      case CommKind::kScatter:
      case CommKind::kAllToAll:
        return call.layout.uneven ? call.StartUnevenBlocks() : call.StartEvenBlocks();
      case CommKind::kBroadcast:
        return call.StartBroadcast();
      case CommKind::kBarrier:
        return CheckMpi(MPI_Ibarrier(call.comm, call.transfer.NewRequest()), "MPI_Ibarrier");
      case CommKind::kSend:
      case CommKind::kRecv:
        return call.StartPointToPoint();
      case CommKind::kUnknown:
        break;
    }
    return UsageError("unknown kind of transfer");
  }

  std::shared_ptr<MpiState> state_;
  MPI_Comm comm_;
  std::vector<std::int32_t> ranks_;
  int rank_;
};

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(std::shared_ptr<MpiState> state) : state_(std::move(state)) {}
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  [[nodiscard]] Status FindHost();

  [[nodiscard]] int rank() const override { return state_->rank; }
  [[nodiscard]] int size() const override { return state_->size; }
  [[nodiscard]] std::string_view transport() const override { return "mpi"; }
  [[nodiscard]] const std::string& host() const override { return host_; }
  [[nodiscard]] int local_rank() const override { return local_rank_; }
  [[nodiscard]] int local_size() const override { return local_size_; }
  [[nodiscard]] std::span<const std::int32_t> nodes() const override { return nodes_; }
  Result<std::unique_ptr<GroupComm>> CreateGroup(const std::vector<std::int32_t>& ranks) override;
  Result<std::vector<std::string>> AllGather(const std::string& mine) override;
  Status Barrier() override {
    REPRISE_ASSIGN(const bool all_came, BarrierUntil(state_->coordination, DeadlineNs(), true));
    return all_came ? Status{} : tl::unexpected<Error>(GiveUpWaiting());
  }
  void RaiseAbort(const Error& why) override { state_->RaiseAbort(why); }
  std::optional<Error> PollAbort() override { return state_->PollAbort(); }
  void PostNote(int to, std::string text) override { state_->PostNote(to, std::move(text)); }
  std::optional<Note> TakeNote() override { return state_->TakeNote(); }
  void AbortNow(int exit_code, std::string_view unsaid) override;

 private:
  [[nodiscard]] std::int64_t DeadlineNs() const {
    return patience_ns() < 0 ? -1 : MonotonicNs() + patience_ns();
  }
  // False when the deadline passed first.
  Result<bool> BarrierUntil(MPI_Comm comm, std::int64_t deadline_ns, bool heed_abort);

  std::shared_ptr<MpiState> state_;
  std::string host_;
  int local_rank_ = 0;
  int local_size_ = 1;
  std::vector<std::int32_t> nodes_;
  int next_group_tag_ = 0;
  bool may_leave_ = false;  // AbortNow found every rank ready to leave
};

Status MpiCommunicator::FindHost() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  REPRISE_TRY(CheckMpi(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name"));
  host_.assign(name.data(), static_cast<std::size_t>(length));
  MPI_Comm local = MPI_COMM_NULL;
  REPRISE_TRY(CheckMpi(
      MPI_Comm_split_type(state_->base, MPI_COMM_TYPE_SHARED, state_->rank, MPI_INFO_NULL, &local),
      "MPI_Comm_split_type"));
  MPI_Comm_rank(local, &local_rank_);
  MPI_Comm_size(local, &local_size_);
  std::int32_t lowest = state_->rank;
  REPRISE_TRY(CheckMpi(MPI_Bcast(&lowest, 1, MPI_INT32_T, 0, local), "MPI_Bcast"));
  nodes_.resize(static_cast<std::size_t>(state_->size));
  REPRISE_TRY(
      CheckMpi(MPI_Allgather(&lowest, 1, MPI_INT32_T, nodes_.data(), 1, MPI_INT32_T, state_->base),
               "MPI_Allgather"));
  return CheckMpi(MPI_Comm_free(&local), "MPI_Comm_free");
}

Result<std::unique_ptr<GroupComm>> MpiCommunicator::CreateGroup(
    const std::vector<std::int32_t>& ranks) {
  REPRISE_TRY(CheckGroup(ranks, size()));
  // Only members take part; the tag keeps groups that share members apart.
  constexpr int kTags = 32'000;
  const int tag = next_group_tag_++ % kTags;
  const int position = PositionOf(rank(), ranks);
  if (position < 0) {
    return std::unique_ptr<GroupComm>();
  }
  const auto guard = state_->Guard();
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group members = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_group(state_->base, &all);
  MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &members);
  Status created;
  {
    const CallLimit limit("MPI_Comm_create_group", patience_ns());
    created =
        CheckMpi(MPI_Comm_create_group(state_->base, members, tag, &comm), "MPI_Comm_create_group");
  }
  MPI_Group_free(&members);
  MPI_Group_free(&all);
  REPRISE_TRY(created);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  state_->groups.push_back(comm);
  return std::make_unique<MpiGroupComm>(state_, comm, ranks, position);
}

Result<bool> MpiCommunicator::BarrierUntil(MPI_Comm comm, std::int64_t deadline_ns,
                                           bool heed_abort) {
  MPI_Request request = MPI_REQUEST_NULL;
  {
    const auto guard = state_->Guard();
    REPRISE_TRY(CheckMpi(MPI_Ibarrier(comm, &request), "MPI_Ibarrier"));
  }
  return state_->WaitFor(request, deadline_ns, heed_abort);
}

// Sizes first, then the bytes in rounds that MPI's int counts allow.
Result<std::vector<std::string>> MpiCommunicator::AllGather(const std::string& mine) {
  const auto n = static_cast<std::size_t>(size());
  const auto size_bytes = sizeof(std::uint64_t);
  // Where an abort breaks off, MPI may still write here: kept then.
  std::vector<std::byte> memory((n + 1) * size_bytes);
  const auto gather = [&](std::int64_t bytes) -> Status {
    MPI_Request request = MPI_REQUEST_NULL;
    {
      const auto guard = state_->Guard();
      REPRISE_TRY(CheckMpi(
          MPI_Iallgather(memory.data(), static_cast<int>(bytes), MPI_BYTE, memory.data() + bytes,
                         static_cast<int>(bytes), MPI_BYTE, state_->coordination, &request),
          "MPI_Iallgather"));
    }
    const Result<bool> done = state_->WaitFor(request, DeadlineNs(), true);
    if (done.value_or(false)) {
      return {};
    }
    state_->Keep(std::move(memory));
    return tl::unexpected<Error>(done ? GiveUpWaiting() : done.error());
  };
  const std::uint64_t my_bytes = mine.size();
  std::memcpy(memory.data(), &my_bytes, size_bytes);
  REPRISE_TRY(gather(static_cast<std::int64_t>(size_bytes)));
  std::vector<std::uint64_t> sizes(n);
  std::memcpy(sizes.data(), memory.data() + size_bytes, n * size_bytes);
  const std::uint64_t longest = *std::ranges::max_element(sizes);
  // Every rank's share is padded to the longest: one simple call, at most 64 MiB a round.
  const std::uint64_t round =
      std::min<std::uint64_t>(longest, std::max<std::uint64_t>(1, (64U << 20) / n));
  std::vector<std::string> all(n);
  memory.resize(static_cast<std::size_t>((n + 1) * round));
  for (std::uint64_t offset = 0; offset < longest; offset += round) {
    const auto share = [&](std::uint64_t total) {
      return static_cast<std::size_t>(total <= offset ? 0 : std::min(round, total - offset));
    };
    std::copy_n(mine.begin() + static_cast<std::ptrdiff_t>(std::min(offset, my_bytes)),
                share(my_bytes), reinterpret_cast<char*>(memory.data()));
    REPRISE_TRY(gather(static_cast<std::int64_t>(round)));
    for (std::size_t r = 0; r < n; ++r) {
      all[r].append(reinterpret_cast<const char*>(memory.data() + (r + 1) * round),
                    share(sizes[r]));
    }
  }
  return all;
}

void MpiCommunicator::AbortNow(int exit_code, std::string_view unsaid) {
  if (may_leave_) {
    return;
  }
  const std::int64_t deadline_ns = MonotonicNs() + kAbortGraceNs;
  if (state_->Unfinished()) {
    // Progress could write into freed buffers: wait without progress, then end all processes.
    WaitUntilNs(deadline_ns, 0);
  } else if (BarrierUntil(state_->farewell, deadline_ns, false).value_or(false)) {
    if (state_->rank != 0) {
      // One abort is enough. Where several come, mpirun warns of files that are closed.
      std::this_thread::sleep_for(std::chrono::nanoseconds(kAbortGraceNs));
    }
    EndQuietly(exit_code);
    may_leave_ = true;
    return;  // all ranks are here, none has anything outstanding
  }
  if (!unsaid.empty()) {
    LogError(unsaid);
  }
  EndAllProcesses(exit_code);
}

MpiCommunicator::~MpiCommunicator() {
  if (!state_->Aborted() && state_->Unfinished()) {
    RaiseAbort(Error{ErrorKind::kCheckFailed, "left with transfers outstanding"});
  }
  const CallLimit limit("MPI_Finalize", patience_ns() < 0 ? -1 : 2 * patience_ns());
  // An abort may still come while this rank waits for the others.
  if (state_->Aborted() || !Barrier()) {
    AbortNow(1, {});
  } else {
    state_->Close();
  }
  MPI_Finalize();
}

}  // namespace

Result<std::unique_ptr<Communicator>> CreateMpiCommunicator(int* argc, char*** argv,
                                                            std::int64_t max_message_bytes) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized != 0) {
    return UsageError("MPI runs once in a process, and it has run already");
  }
  int provided = MPI_THREAD_SINGLE;
  REPRISE_TRY(
      CheckMpi(MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread"));
  if (provided < MPI_THREAD_SERIALIZED) {
    MPI_Finalize();
    return EnvironmentError("this MPI allows no second thread (MPI_THREAD_SERIALIZED or more)");
  }
  auto state = std::make_shared<MpiState>();
  state->multiple = provided >= MPI_THREAD_MULTIPLE;
  state->max_message_bytes = max_message_bytes;
  REPRISE_TRY(state->Open());
  auto communicator = std::make_unique<MpiCommunicator>(state);
  REPRISE_TRY(communicator->FindHost());
  return communicator;
}

void EndMpiJob(int exit_code) {
  constexpr std::chrono::seconds kForFirstRank{5};
  int started = 0;
  MPI_Initialized(&started);
  if (started != 0 || MPI_Init(nullptr, nullptr) != MPI_SUCCESS) {
    return;
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) {
    std::this_thread::sleep_for(kForFirstRank);  // it ends all
  }
  EndQuietly(exit_code);
  MPI_Finalize();
}

std::string MpiLibraryVersion() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  if (MPI_Get_library_version(text.data(), &length) != MPI_SUCCESS) {
    return "unknown";
  }
  const std::string all(text.data(), static_cast<std::size_t>(length));
  // "Open MPI v4.1.4, package: Debian OpenMPI, ident: …", others go on in a second line.
  return all.substr(0, all.find_first_of(",\n"));
}

}  // namespace reprise
