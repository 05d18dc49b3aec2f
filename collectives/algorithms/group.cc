#include "collectives/algorithms/group.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "collectives/algorithms/algorithm.h"
#include "collectives/algorithms/scheduled_transfer.h"
#include "collectives/host_reduction.h"
#include "collectives/layout.h"

namespace reprise {

// This rank's scheduled transfers that are not over: testing any of them advances another one too,
// so that a wait for one does not delay the others' partners.
class ActiveTransfers {
 public:
  void Join(Transfer* transfer) { active_.push_back(transfer); }
  void Leave(Transfer* transfer) { std::erase(active_, transfer); }
  [[nodiscard]] bool empty() const { return active_.empty(); }
  [[nodiscard]] Transfer* Next(const Transfer* other_than) {
    if (active_.empty()) {
      return nullptr;
    }
    next_ = (next_ + 1) % active_.size();
    return active_[next_] == other_than ? nullptr : active_[next_];
  }

 private:
  std::vector<Transfer*> active_;
  std::size_t next_ = 0;
};

namespace {

// Collectives under way of one group have tags of their own; one that would reuse those of an
// earlier one waits for it.
constexpr int kTagSlots = kMessageTags / kMaxChannels;

// A transfer with what must live as long: copied input, and its turn among those of its slot.
class GroupTransfer final : public Transfer {
 public:
  GroupTransfer(std::shared_ptr<ActiveTransfers> active, std::vector<std::byte> staged)
      : active_(std::move(active)),
        staged_(std::make_unique<std::vector<std::byte>>(std::move(staged))) {
    active_->Join(this);
  }
  ~GroupTransfer() override {
    active_->Leave(this);
    if (!over_) {
      // An abort: the transport may still read it until the process ends.
      static_cast<void>(staged_.release());
    }
  }
  GroupTransfer(const GroupTransfer&) = delete;
  GroupTransfer& operator=(const GroupTransfer&) = delete;

  [[nodiscard]] std::span<const std::byte> staged() const { return *staged_; }
  void Carry(std::unique_ptr<Transfer> inner) { inner_ = std::move(inner); }
  // `before`, if any, has to be over first; `mine` is set when this one is.
  void TakeTurn(std::shared_ptr<bool> before, std::shared_ptr<bool> mine) {
    before_ = std::move(before);
    mine_ = std::move(mine);
  }

  Result<bool> Test() override {
    if (Transfer* other = active_->Next(this)) {
      static_cast<GroupTransfer*>(other)->Advance();
    }
    Advance();
    if (failure_) {
      return tl::unexpected<Error>(*failure_);
    }
    return over_;
  }

 private:
  void Advance() {
    if (over_ || failure_ || (before_ != nullptr && !*before_)) {
      return;
    }
    Result<bool> tested = inner_->Test();
    if (!tested) {
      failure_ = tested.error();
    } else if (*tested) {
      over_ = true;
      if (mine_ != nullptr) {
        *mine_ = true;
      }
    }
  }

  std::shared_ptr<ActiveTransfers> active_;
  std::unique_ptr<std::vector<std::byte>> staged_;
  std::unique_ptr<Transfer> inner_;
  std::shared_ptr<bool> before_;
  std::shared_ptr<bool> mine_;
  std::optional<Error> failure_;
  bool over_ = false;
};

// Where In may lie in Out, or Out in In, without a copy: what algorithms allow.
bool MustCopy(const CommSpec& spec, const TransferLayout& layout, int rank,
              std::span<const std::byte> in, std::span<const std::byte> out) {
  if (!Overlap(in, out)) {
    return false;
  }
  switch (spec.kind) {
    case CommKind::kAllGather:
    case CommKind::kGather:
      return layout.uneven || in.data() != out.data() + layout.block_bytes * rank;
    case CommKind::kReduceScatter:
    case CommKind::kScatter:
      return layout.uneven || out.data() != in.data() + layout.block_bytes * rank;
    case CommKind::kAllToAll:
      return true;
    default:
      return in.data() != out.data();
  }
}

class AlgorithmGroup final : public GroupComm {
 public:
  // `nodes`: of every rank of the run, as Communicator::nodes().
  AlgorithmGroup(std::unique_ptr<GroupComm> transport, const std::vector<std::int32_t>& ranks,
                 std::span<const std::int32_t> nodes, std::shared_ptr<ActiveTransfers> active,
                 std::string name, std::shared_ptr<const AlgorithmChoices> choices)
      : transport_(std::move(transport)),
        ranks_(ranks),
        active_(std::move(active)),
        name_(std::move(name)),
        choices_(std::move(choices)) {
    for (const std::int32_t rank : ranks_) {
      hosts_.push_back(nodes[static_cast<std::size_t>(rank)]);
    }
    host_count_ = HostsOf(ranks_, nodes);
  }

  [[nodiscard]] int rank() const override { return transport_->rank(); }
  [[nodiscard]] int size() const override { return transport_->size(); }
  Result<std::unique_ptr<Transfer>> Send(int peer, int tag,
                                         std::span<const std::byte> data) override {
    return transport_->Send(peer, tag, data);
  }
  Result<std::unique_ptr<Transfer>> Recv(int peer, int tag, std::span<std::byte> data) override {
    return transport_->Recv(peer, tag, data);
  }

  Result<std::unique_ptr<Transfer>> Start(const CommSpec& spec, std::span<const std::byte> in,
                                          std::span<std::byte> out) override {
    const bool premultiplied = IsReduction(spec.kind) && spec.op == ReduceOp::kPremulSum;
    const ChosenTransfer chosen{.kind = spec.kind,
                                .group = name_,
                                .members = size(),
                                .hosts = host_count_,
                                .bytes = LargestBuffer(spec, size())};
    const AlgorithmChoice choice =
        size() > 1 ? choices_->Find(chosen).value_or(AlgorithmChoice()) : AlgorithmChoice();
    // Whoever waits for it may let those that were started before wait: there are none.
    if (choice.algorithm == nullptr && !premultiplied && active_->empty()) {
      return transport_->Start(spec, in, out);
    }
    const GroupPlace place{.ranks = ranks_, .rank = rank()};
    REPRISE_ASSIGN(const TransferLayout layout, LayoutOf(spec, place));
    REPRISE_TRY(CheckBuffers(spec, layout, in.size(), out.size()));
    in = in.first(static_cast<std::size_t>(layout.in_bytes));
    out = out.first(static_cast<std::size_t>(layout.out_bytes));
    std::vector<std::byte> staged;
    if (premultiplied || (choice.algorithm != nullptr && MustCopy(spec, layout, rank(), in, out))) {
      staged.assign(in.begin(), in.end());
    }
    CommSpec started = spec;
    if (premultiplied) {
      Premultiply(spec.dtype, staged);
      started.op = ReduceOp::kSum;
    }
    auto transfer = std::make_unique<GroupTransfer>(active_, std::move(staged));
    const std::span<const std::byte> from = transfer->staged().empty() ? in : transfer->staged();
    if (choice.algorithm == nullptr) {
      REPRISE_ASSIGN(auto inner, transport_->Start(started, from, out));
      transfer->Carry(std::move(inner));
    } else {
      Schedule(choice, started, layout, from, out, *transfer);
    }
    // Under way from here on, as the transports' own are.
    REPRISE_TRY(transfer->Test());
    return transfer;
  }

 private:
  void Schedule(const AlgorithmChoice& choice, const CommSpec& spec, const TransferLayout& layout,
                std::span<const std::byte> in, std::span<std::byte> out, GroupTransfer& transfer) {
    if (spec.kind == CommKind::kBroadcast && layout.root == rank() && !out.empty() &&
        out.data() != in.data()) {
      std::memmove(out.data(), in.data(), out.size());
    }
    const std::int64_t lane_bytes =
        choice.algorithm->LaneBytes(spec.kind, size(), choice.chunk_bytes);
    Slices slices(spec, layout, rank(), size(), NodesFor(choice.node_size), lane_bytes);
    const std::size_t slot = next_slot_++ % kTagSlots;
    auto mine = std::make_shared<bool>(false);
    transfer.TakeTurn(std::exchange(slots_[slot], mine), mine);
    transfer.Carry(std::make_unique<ScheduledTransfer>(
        *transport_, *choice.algorithm, std::move(slices), spec, in, out, choice.channels,
        static_cast<int>(slot) * kMaxChannels));
  }

  // By member: its node, numbered in order of appearance.
  std::span<const int> NodesFor(int node_size) {
    const auto [found, made] = nodes_.try_emplace(node_size);
    if (made) {
      std::map<std::int32_t, int> numbers;
      for (std::size_t i = 0; i < ranks_.size(); ++i) {
        const std::int32_t host = node_size > 0 ? ranks_[i] / node_size : hosts_[i];
        found->second.push_back(
            numbers.try_emplace(host, static_cast<int>(numbers.size())).first->second);
      }
    }
    return found->second;
  }

  std::unique_ptr<GroupComm> transport_;
  std::vector<std::int32_t> ranks_;
  std::shared_ptr<ActiveTransfers> active_;
  std::vector<std::int32_t> hosts_;  // by member
  std::string name_;
  std::shared_ptr<const AlgorithmChoices> choices_;
  int host_count_ = 1;
  std::map<int, std::vector<int>> nodes_;  // by AlgorithmChoice::node_size
  std::array<std::shared_ptr<bool>, kTagSlots> slots_;
  std::size_t next_slot_ = 0;
};

}  // namespace

int HostsOf(std::span<const std::int32_t> ranks, std::span<const std::int32_t> nodes) {
  std::set<std::int32_t> hosts;
  for (const std::int32_t rank : ranks) {
    hosts.insert(nodes[static_cast<std::size_t>(rank)]);
  }
  return static_cast<int>(hosts.size());
}

GroupMaker::GroupMaker(Communicator& communicator, const AlgorithmChoices& choices)
    : communicator_(communicator), active_(std::make_shared<ActiveTransfers>()) {
  Use(choices);
}

void GroupMaker::Use(const AlgorithmChoices& choices) {
  *choices_ =
      communicator_.HasCollectives() ? AlgorithmChoices() : AlgorithmChoices::ForMessagesOnly();
  choices_->Append(choices);
}

Result<std::unique_ptr<GroupComm>> GroupMaker::Create(const std::vector<std::int32_t>& ranks,
                                                      const std::string& name) {
  REPRISE_ASSIGN(auto transport, communicator_.CreateGroup(ranks));
  if (transport == nullptr) {
    return transport;
  }
  return std::make_unique<AlgorithmGroup>(std::move(transport), ranks, communicator_.nodes(),
                                          active_, name, choices_);
}

}  // namespace reprise
