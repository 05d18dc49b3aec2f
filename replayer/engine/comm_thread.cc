#include "replayer/engine/comm_thread.h"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/checked_data.h"
#include "core/clock.h"
#include "replayer/engine/exceptions.h"

namespace reprise {
namespace {

constexpr std::int64_t kPollOthersNs = 1'000'000;

std::string SequenceName(const CommSpec& spec) {
  return IsPointToPoint(spec.kind) ? fmt::format("{}/{}/{}", spec.group, Name(spec.kind), spec.peer)
                                   : spec.group;
}

// A simulator's send: what waits for it goes on as soon as it is on its way.
bool EndsWhenSent(const CommSpec& spec) {
  return spec.kind == CommKind::kSend && spec.send_end != SendEnd::kReceived;
}

std::string TransferText(const Graph& graph, Graph::Index node) {
  const CommSpec& spec = *graph.comm(node);
  const std::string peer =
      IsPointToPoint(spec.kind) ? fmt::format(" (peer rank {})", spec.peer) : "";
  return fmt::format("node {} {} #{} of group {}{}, {} bytes", graph.id(node), Name(spec.kind),
                     spec.index, spec.group, peer, std::max(spec.in_bytes, spec.out_bytes));
}

}  // namespace

CommThread::CommThread(const Graph& graph, const Plan& plan, Communicator& communicator,
                       RankGroups& groups, CommThreadOptions options, Callbacks callbacks)
    : graph_(graph),
      plan_(plan),
      communicator_(communicator),
      groups_(groups),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)) {}

Result<std::unique_ptr<CommThread>> CommThread::Create(
    const Graph& graph, const Plan& plan, Communicator& communicator, RankGroups& groups,
    const DeviceMemory* memory, Device* device, CommThreadOptions options, Callbacks callbacks) {
  std::unique_ptr<CommThread> self(
      new CommThread(graph, plan, communicator, groups, std::move(options), std::move(callbacks)));
  REPRISE_TRY(self->PrepareTransfers(memory, device));
  self->thread_ = std::thread([raw = self.get()] { raw->Loop(); });
  return self;
}

CommThread::~CommThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

Status CommThread::PrepareTransfers(const DeviceMemory* memory, Device* device) {
  if (device != nullptr) {
    REPRISE_ASSIGN(stream_, device->CreateStream(false));
  }
  for (std::size_t k = 0; k < plan_.transfers.size(); ++k) {
    const Graph::Index node = plan_.transfers[k];
    const CommSpec& spec = specs_.emplace(node, options_.transfers[k].spec).first->second;
    if (!plan_.work[node].alone && !groups_.contains(spec.group)) {
      return BadInput(fmt::format("{}: this rank is not in group {} of the trace set",
                                  TransferText(graph_, node), spec.group));
    }
    REPRISE_ASSIGN(const OpCall call, graph_.Call(node));
    if (plan_.work[node].mode == ReplayMode::kReal && !IsLinked(node)) {
      REPRISE_ASSIGN(
          Staging staging,
          // With --check the data is made on the host, and the tensors are left alone.
          Staging::Create(spec, call, device == nullptr || options_.check ? nullptr : memory,
                          options_.check ? nullptr : device,
                          // What follows such a send may overwrite its tensors.
                          !Cut(node) && !EndsWhenSent(spec)));
      staging_.emplace(node, std::move(staging));
    }
    Sequence& sequence = sequences_[SequenceName(spec)];
    sequence.nodes.push_back(node);
  }
  return {};
}

void CommThread::BeginIteration() {
  const std::lock_guard lock(mutex_);
  for (auto& [name, sequence] : sequences_) {
    sequence.next = 0;
  }
}

void CommThread::Submit(Graph::Index node, std::int64_t earliest_ns) {
  {
    const std::lock_guard lock(mutex_);
    submitted_.emplace(node, earliest_ns);
  }
  changed_.notify_all();
}

// False when the thread is to end. Polls while anything is under way, sleeps otherwise.
bool CommThread::WaitForWork() {
  std::unique_lock lock(mutex_);
  if (outstanding_.empty() && submitted_.empty()) {
    changed_.wait_for(lock, std::chrono::milliseconds(5),
                      [&] { return stop_ || !submitted_.empty(); });
  } else {
    lock.unlock();
    poll_wait_.Once();
    lock.lock();
  }
  return !stop_;
}

void CommThread::Loop() {
  PollWait::Prepare();
  while (WaitForWork()) {
    if (failed_) {
      const std::lock_guard lock(mutex_);
      submitted_.clear();
      continue;
    }
    if (const Status status = Turn(); !status) {
      failed_ = true;
      callbacks_.failed(status.error());
      if (options_.links != nullptr) {
        options_.links->Abort();  // no other rank waits for them any more
      }
    }
  }
}

Status CommThread::Turn() {
  try {
    REPRISE_TRY(IssueReady());
    REPRISE_TRY(TestOutstanding());
  } catch (const std::exception& exception) {
    return tl::unexpected<Error>(ErrorOf(exception, "while transferring"));
  }
  return PollOthers();
}

Status CommThread::IssueReady() {
  const std::int64_t now_ns = MonotonicNs();
  std::vector<Graph::Index> turn;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, sequence] : sequences_) {
      while (sequence.next < sequence.nodes.size() && LastHasStarted(sequence)) {
        const Graph::Index node = sequence.nodes[sequence.next];
        const auto it = submitted_.find(node);
        if (it == submitted_.end() || it->second > now_ns || !callbacks_.inputs_ready(node)) {
          break;
        }
        submitted_.erase(it);
        ++sequence.next;
        turn.push_back(node);
        if (IsLinked(node) || Cut(node)) {
          sequence.starting = node;
          break;  // the next one starts after all of it has
        }
      }
    }
  }
  for (const Graph::Index node : turn) {
    REPRISE_TRY(Issue(node));
  }
  return {};
}

std::optional<TransferCut> CommThread::Cut(Graph::Index node) const {
  const Work& work = plan_.work[node];
  if (work.mode != ReplayMode::kReal || work.alone || options_.check || IsLinked(node)) {
    return std::nullopt;
  }
  const CommSpec& spec = specs_.at(node);
  return CutOf(spec, groups_.at(spec.group).comm->size(), options_.chunk_bytes);
}

bool CommThread::IsLinked(Graph::Index node) const {
  return options_.links != nullptr && options_.links->transfers.contains(node);
}

std::unique_ptr<DeviceSideTransfer> CommThread::DeviceSide(Graph::Index node,
                                                           const CommSpec& spec) {
  if (IsLinked(node)) {
    return std::make_unique<LinkedTransfer>(
        options_.links->transfers.at(node),
        options_.links->of_sequence.at(SequenceOf(spec, communicator_.rank())),
        TransferText(graph_, node));
  }
  const std::optional<TransferCut> cut = Cut(node);
  return !cut ? nullptr
              : std::make_unique<PipelinedTransfer>(*groups_.at(spec.group).comm, spec,
                                                    staging_.at(node), stream_.get(), *cut);
}

bool CommThread::LastHasStarted(const Sequence& sequence) const {
  return !sequence.starting ||
         std::none_of(outstanding_.begin(), outstanding_.end(), [&](const Outstanding& one) {
           return one.node == *sequence.starting && one.device_side != nullptr &&
                  !one.device_side->AllStarted();
         });
}

Status CommThread::Issue(Graph::Index node) {
  const Work& work = plan_.work[node];
  if (work.mode == ReplayMode::kSkip) {
    const std::int64_t now_ns = MonotonicNs();
    callbacks_.done({node, now_ns, now_ns});
    return {};
  }
  if (work.alone) {
    const std::int64_t now_ns = MonotonicNs();
    callbacks_.ends_at(now_ns + work.host_ns);
    const std::lock_guard lock(mutex_);
    outstanding_.push_back(
        {.node = node, .issued_ns = now_ns, .release_ns = now_ns + work.host_ns});
    return {};
  }
  CommSpec spec = specs_.at(node);
  const RankGroup& group = groups_.at(spec.group);
  Outstanding outstanding{.node = node};
  std::unique_ptr<DeviceSideTransfer> device_side = DeviceSide(node, spec);
  if (work.mode == ReplayMode::kTimed) {
    // Everyone's arrival is real, the transfer itself is only waited for.
    if (!IsPointToPoint(spec.kind)) {
      spec.kind = CommKind::kBarrier;
    }
    spec.in_bytes = spec.out_bytes = 0;
    outstanding.release_ns = -1;
  } else if (device_side == nullptr) {
    outstanding.staging = &staging_.at(node);
    if (options_.check) {
      FillInput(spec, {group.ranks, group.comm->rank()}, outstanding.staging->in());
    } else if (stream_ != nullptr) {
      REPRISE_TRY(outstanding.staging->Download(*stream_));
    }
  }
  outstanding.issued_ns = MonotonicNs();
  if (device_side != nullptr) {
    outstanding.device_side = device_side.get();
    outstanding.transfer = std::move(device_side);
  } else {
    REPRISE_ASSIGN(outstanding.transfer, Start(spec, *group.comm, outstanding));
  }
  if (EndsWhenSent(spec)) {
    const bool timed = work.mode == ReplayMode::kTimed;
    outstanding.report_ns = outstanding.issued_ns + (timed ? work.host_ns : 0);
    callbacks_.ends_at(*outstanding.report_ns);
  }
  const std::lock_guard lock(mutex_);
  outstanding_.push_back(std::move(outstanding));
  return {};
}

bool CommThread::IsBusy() const {
  const std::lock_guard lock(mutex_);
  return !outstanding_.empty();
}

Result<std::unique_ptr<Transfer>> CommThread::Start(const CommSpec& spec, GroupComm& group,
                                                    const Outstanding& outstanding) const {
  Staging* const staging = outstanding.staging;
  auto transfer = group.Start(spec, staging == nullptr ? std::span<std::byte>{} : staging->in(),
                              staging == nullptr ? std::span<std::byte>{} : staging->out());
  if (!transfer) {
    return Fail(transfer.error().kind, fmt::format("{}: {}", TransferText(graph_, outstanding.node),
                                                   transfer.error().message));
  }
  return transfer;
}

Status CommThread::TestOutstanding() {
  for (std::size_t k = 0; k < outstanding_.size();) {
    Outstanding& one = outstanding_[k];
    const std::int64_t now_ns = MonotonicNs();
    if (one.report_ns && !one.reported && now_ns >= *one.report_ns) {
      one.reported = true;
      callbacks_.done({one.node, one.issued_ns, now_ns});
    }
    if (one.transfer != nullptr) {
      REPRISE_ASSIGN(const bool done, one.transfer->Test());
      if (!done) {
        ++k;
        continue;
      }
      one.transfer.reset();
      if (one.release_ns != 0 && !one.report_ns) {
        one.release_ns = now_ns + plan_.work[one.node].host_ns;
        callbacks_.ends_at(one.release_ns);
      }
    }
    if (now_ns < one.release_ns) {
      ++k;
      continue;
    }
    Outstanding finished = std::move(one);
    {
      const std::lock_guard lock(mutex_);
      outstanding_.erase(outstanding_.begin() + static_cast<std::ptrdiff_t>(k));
    }
    REPRISE_TRY(Finish(finished));
  }
  return {};
}

Status CommThread::Finish(Outstanding& outstanding) {
  const std::int64_t ended_ns = MonotonicNs();
  if (outstanding.staging != nullptr) {
    if (options_.check) {
      REPRISE_TRY(Check(outstanding));
    } else if (stream_ != nullptr) {
      REPRISE_TRY(outstanding.staging->Upload(*stream_));
    }
  }
  if (!outstanding.reported) {
    callbacks_.done({outstanding.node, outstanding.issued_ns, ended_ns});
  }
  return {};
}

Status CommThread::Check(const Outstanding& outstanding) {
  const CommSpec& spec = specs_.at(outstanding.node);
  const RankGroup& group = groups_.at(spec.group);
  const Status verified =
      VerifyOutput(spec, {group.ranks, group.comm->rank()}, outstanding.staging->out());
  if (!verified) {
    return CheckFailed(fmt::format("--check: {}: {}", TransferText(graph_, outstanding.node),
                                   verified.error().message));
  }
  checked_.fetch_add(1);
  return {};
}

Status CommThread::PollOthers() {
  const std::int64_t now_ns = MonotonicNs();
  if (now_ns < next_poll_ns_) {
    return {};
  }
  next_poll_ns_ = now_ns + kPollOthersNs;
  const std::optional<Error> why = communicator_.PollAbort();
  return why ? tl::unexpected<Error>(*why) : Status{};
}

std::vector<SequenceState> CommThread::Sequences() const {
  const auto state = [this](Graph::Index node, SequenceState::At at) {
    const CommSpec& spec = specs_.at(node);
    return SequenceState{at,
                         spec.group,
                         spec.kind,
                         spec.index,
                         spec.peer,
                         graph_.id(node),
                         std::max(spec.in_bytes, spec.out_bytes)};
  };
  const std::lock_guard lock(mutex_);
  std::vector<SequenceState> states;
  for (const Outstanding& one : outstanding_) {
    states.push_back(state(one.node, SequenceState::At::kIssued));
  }
  for (const auto& [name, sequence] : sequences_) {
    if (sequence.next < sequence.nodes.size()) {
      const Graph::Index node = sequence.nodes[sequence.next];
      states.push_back(state(node, submitted_.contains(node) ? SequenceState::At::kReady
                                                             : SequenceState::At::kNotReached));
    }
  }
  return states;
}

}  // namespace reprise
