#include "tests/collectives/spmd.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "collectives/algorithms/algorithm.h"
#include "collectives/algorithms/group.h"
#include "collectives/checked_data.h"
#include "collectives/host_reduction.h"
#include "collectives/layout.h"
#include "core/clock.h"

namespace reprise::testing {
namespace {

constexpr std::byte kUntouched{0xEE};
constexpr std::size_t kGuardBytes = 64;

constexpr DType kDTypes[] = {
    DType::kFloat32,   DType::kFloat64,    DType::kFloat16,    DType::kBFloat16,  DType::kInt8,
    DType::kUInt8,     DType::kInt16,      DType::kInt32,      DType::kInt64,     DType::kBool,
    DType::kComplex64, DType::kComplex128, DType::kFloat8E4M3, DType::kFloat8E5M2};
constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kAvg,  ReduceOp::kMin,
                             ReduceOp::kMax, ReduceOp::kProd, ReduceOp::kBand,
                             ReduceOp::kBor, ReduceOp::kBxor, ReduceOp::kPremulSum};

// Some members have nothing.
std::vector<std::int64_t> UnevenSplits(int size, std::int64_t elements) {
  std::vector<std::int64_t> splits;
  for (int i = 0; i < size; ++i) {
    splits.push_back((i * 2 + 1) % 4 * elements / 2);
    if (i % 3 == 2) {
      splits.back() = 0;
    }
  }
  return splits;
}

std::int64_t PairElements(int from, int to, std::int64_t elements) {
  return (from * 3 + to * 2) % 5 * elements / 3;
}

std::int64_t Sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

void SetBlocks(const Case& c, const GroupPlace& place, CommSpec& spec) {
  const std::int64_t width = SizeOf(c.dtype);
  const int n = place.size();
  std::vector<std::int64_t> splits(static_cast<std::size_t>(n), c.elements);
  if (c.uneven) {
    splits = UnevenSplits(n, c.elements);
  }
  const std::int64_t own = splits[static_cast<std::size_t>(place.rank)] * width;
  const std::int64_t total = Sum(splits) * width;
  const bool gathers = c.kind == CommKind::kAllGather || c.kind == CommKind::kGather;
  spec.in_bytes = gathers ? own : total;
  spec.out_bytes = gathers ? total : own;
  if (c.uneven) {
    (gathers ? spec.out_splits : spec.in_splits) = splits;
  }
}

void SetAllToAll(const Case& c, const GroupPlace& place, CommSpec& spec) {
  const std::int64_t width = SizeOf(c.dtype);
  const int n = place.size();
  spec.in_bytes = spec.out_bytes = c.elements * width * n;
  if (c.uneven) {
    for (int i = 0; i < n; ++i) {
      spec.in_splits.push_back(PairElements(place.rank, i, c.elements));
      spec.out_splits.push_back(PairElements(i, place.rank, c.elements));
    }
    spec.in_bytes = Sum(spec.in_splits) * width;
    spec.out_bytes = Sum(spec.out_splits) * width;
  }
}

// One rank's memory of one transfer.
class Buffers {
 public:
  Buffers(const Case& c, const CommSpec& spec, const GroupPlace& place) {
    const auto in = static_cast<std::size_t>(spec.in_bytes);
    const auto out = static_cast<std::size_t>(spec.out_bytes);
    std::size_t in_at = kGuardBytes;
    std::size_t out_at = kGuardBytes;
    if (c.placement == Placement::kApart) {
      out_at = in_at + in + kGuardBytes;
    } else if (c.placement == Placement::kSlot) {
      const auto block = std::min(in, out);
      (in < out ? in_at : out_at) += block * static_cast<std::size_t>(place.rank);
    }
    memory_.assign(std::max(in_at + in, out_at + out) + kGuardBytes, kUntouched);
    in_ = std::span(memory_).subspan(in_at, in);
    out_ = std::span(memory_).subspan(out_at, out);
  }
  [[nodiscard]] std::span<std::byte> in() const { return in_; }
  [[nodiscard]] std::span<std::byte> out() const { return out_; }
  void Remember() { before_.assign(in_.begin(), in_.end()); }
  [[nodiscard]] bool InputUnchanged() const {
    return std::equal(in_.begin(), in_.end(), before_.begin());
  }
  [[nodiscard]] bool GuardsUntouched() const {
    const auto untouched = [](std::byte b) { return b == kUntouched; };
    return std::all_of(memory_.begin(), memory_.begin() + kGuardBytes, untouched) &&
           std::all_of(memory_.end() - kGuardBytes, memory_.end(), untouched);
  }
  [[nodiscard]] bool OutputUntouched() const {
    return std::all_of(out_.begin(), out_.end(), [](std::byte b) { return b == kUntouched; });
  }

 private:
  std::vector<std::byte> memory_;
  std::span<std::byte> in_;
  std::span<std::byte> out_;
  std::vector<std::byte> before_;
};

Status CheckAfter(const Case& c, const CommSpec& spec, const GroupPlace& place,
                  const Buffers& buffers) {
  REPRISE_TRY(VerifyOutput(spec, place, buffers.out()));
  if (!buffers.GuardsUntouched()) {
    return CheckFailed(c.Show() + " writes outside of its buffers");
  }
  if (c.placement == Placement::kApart && !buffers.InputUnchanged()) {
    return CheckFailed(c.Show() + " changes its input");
  }
  const bool receives_nothing =
      (c.kind == CommKind::kReduce || c.kind == CommKind::kGather) && c.root != place.rank;
  if (c.placement == Placement::kApart && receives_nothing && !buffers.OutputUntouched()) {
    return CheckFailed(c.Show() + " writes on a rank that receives nothing");
  }
  return {};
}

Status RunRing(GroupComm& group, const GroupPlace& place, const Case& c) {
  Case send = c;
  send.kind = CommKind::kSend;
  Case recv = c;
  recv.kind = CommKind::kRecv;
  const CommSpec send_spec = SpecOf(send, place);
  const CommSpec recv_spec = SpecOf(recv, place);
  Buffers send_buffers(send, send_spec, place);
  Buffers recv_buffers(recv, recv_spec, place);
  FillInput(send_spec, place, send_buffers.in());
  send_buffers.Remember();
  REPRISE_ASSIGN(const auto sending, group.Start(send_spec, send_buffers.in(), send_buffers.out()));
  REPRISE_ASSIGN(const auto receiving,
                 group.Start(recv_spec, recv_buffers.in(), recv_buffers.out()));
  REPRISE_TRY(Await(*receiving));
  REPRISE_TRY(Await(*sending));
  REPRISE_TRY(CheckAfter(send, send_spec, place, send_buffers));
  recv_buffers.Remember();
  return CheckAfter(recv, recv_spec, place, recv_buffers);
}

void AddVariants(Case c, int group_size, std::vector<Case>& cases) {
  const bool blocks = c.kind == CommKind::kAllGather || c.kind == CommKind::kGather ||
                      c.kind == CommKind::kScatter || c.kind == CommKind::kAllToAll ||
                      c.kind == CommKind::kReduceScatter;
  const bool slots = blocks && c.kind != CommKind::kAllToAll;
  for (const bool uneven : {false, true}) {
    if (uneven && !blocks) {
      continue;
    }
    for (const Placement placement : {Placement::kApart, Placement::kSame, Placement::kSlot}) {
      if (placement == Placement::kSlot && (!slots || uneven)) {
        continue;
      }
      c.uneven = uneven;
      c.placement = IsPointToPoint(c.kind) ? Placement::kApart : placement;
      c.root = HasRoot(c.kind) ? static_cast<int>(cases.size()) % group_size : 0;
      cases.push_back(c);
    }
  }
}

}  // namespace

std::string Case::Show() const {
  return fmt::format("{} {} {} of {} elements{}{} root {}", Name(kind), Name(dtype), Name(op),
                     elements, uneven ? " uneven" : "",
                     placement == Placement::kApart  ? ""
                     : placement == Placement::kSame ? " in place"
                                                     : " in slot",
                     root);
}

CommSpec SpecOf(const Case& c, const GroupPlace& place) {
  CommSpec spec{.kind = c.kind, .group = "test", .dtype = c.dtype, .op = c.op};
  const auto at = [&](int i) { return place.ranks[static_cast<std::size_t>(i)]; };
  const std::int64_t bytes = c.elements * SizeOf(c.dtype);
  const int n = place.size();
  if (HasRoot(c.kind)) {
    spec.root = at(c.root);
  }
  switch (c.kind) {
    case CommKind::kBarrier:
      break;
    case CommKind::kSend:
      spec.peer = at((place.rank + 1) % n);
      spec.in_bytes = bytes;
      break;
    case CommKind::kRecv:
      spec.peer = at((place.rank + n - 1) % n);
      spec.out_bytes = bytes;
      break;
    case CommKind::kAllToAll:
      SetAllToAll(c, place, spec);
      break;
    case CommKind::kAllReduce:
    case CommKind::kReduce:
    case CommKind::kBroadcast:
      spec.in_bytes = spec.out_bytes = bytes;
      break;
    default:
      SetBlocks(c, place, spec);
  }
  return spec;
}

Status Await(Transfer& transfer) {
  const std::int64_t deadline_ns = MonotonicNs() + 60'000'000'000;
  while (MonotonicNs() < deadline_ns) {
    REPRISE_ASSIGN(const bool done, transfer.Test());
    if (done) {
      return {};
    }
    sched_yield();
  }
  return CheckFailed("a transfer does not end");
}

Status RunCase(GroupComm& group, const GroupPlace& place, const Case& c) {
  if (IsPointToPoint(c.kind)) {
    return place.size() > 1 ? RunRing(group, place, c) : Status();
  }
  const CommSpec spec = SpecOf(c, place);
  Buffers buffers(c, spec, place);
  FillInput(spec, place, buffers.in());
  buffers.Remember();
  REPRISE_ASSIGN(const auto transfer, group.Start(spec, buffers.in(), buffers.out()));
  REPRISE_TRY(Await(*transfer));
  return CheckAfter(c, spec, place, buffers);
}

std::vector<Case> AllCases(int group_size, bool thorough) {
  std::vector<Case> cases;
  for (const CommKind kind : kCommKinds) {
    for (const DType dtype : kDTypes) {
      for (const ReduceOp op : kOps) {
        Case c{.kind = kind, .dtype = dtype, .op = op};
        if (IsReduction(c.kind) ? !CanReduce(dtype, op) : op != ReduceOp::kSum) {
          continue;
        }
        if (!thorough && !IsReduction(c.kind) && dtype != DType::kFloat32 &&
            dtype != DType::kInt8) {
          continue;  // moved data has no type
        }
        AddVariants(c, group_size, cases);
      }
    }
    for (const std::int64_t elements : {0, 1, 5000}) {
      AddVariants({.kind = kind, .elements = elements}, group_size, cases);
    }
  }
  return cases;
}

namespace {

Status Conformance(Communicator& communicator, bool thorough, const AlgorithmChoices& choices,
                   const std::function<bool(const Case&)>& wanted) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(communicator.size()));
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::vector<std::int32_t>> groups = {all};
  if (all.size() > 1) {
    groups.emplace_back(all.rbegin(), all.rend());  // group order is not rank order
    groups.emplace_back(all.begin() + 1, all.end());
  }
  GroupMaker maker(communicator, choices);
  for (const std::vector<std::int32_t>& ranks : groups) {
    REPRISE_ASSIGN(const auto group, maker.Create(ranks, "test"));
    const int position = PositionOf(communicator.rank(), ranks);
    if ((group != nullptr) != (position >= 0)) {
      return CheckFailed("who is no member must get no group");
    }
    if (group == nullptr) {
      continue;
    }
    const GroupPlace place{.ranks = ranks, .rank = position};
    for (const Case& c : AllCases(place.size(), thorough && &ranks == &groups.front())) {
      if (!wanted(c)) {
        continue;
      }
      if (const Status status = RunCase(*group, place, c); !status) {
        return CheckFailed(
            fmt::format("{} on {} ranks: {}", c.Show(), ranks.size(), status.error().message));
      }
    }
  }
  return communicator.Barrier();
}

// Many at once, and awaited in another order on every rank: whoever waits for one advances all.
Status ManyOutstanding(Communicator& communicator, const AlgorithmChoices& choices) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(communicator.size()));
  std::iota(all.begin(), all.end(), 0);
  GroupMaker maker(communicator, choices);
  REPRISE_ASSIGN(const auto group, maker.Create(all, "test"));
  const GroupPlace place{.ranks = all, .rank = communicator.rank()};
  const CommSpec spec = SpecOf({.kind = CommKind::kAllReduce, .elements = 100}, place);
  constexpr std::size_t kCount = 150;  // beyond the tags of a group
  const auto bytes = static_cast<std::size_t>(spec.in_bytes);
  std::vector<std::byte> in(bytes);
  FillInput(spec, place, in);
  std::vector<std::vector<std::byte>> out(kCount, std::vector<std::byte>(bytes));
  std::vector<std::unique_ptr<Transfer>> transfers;
  for (std::size_t i = 0; i < kCount; ++i) {
    REPRISE_ASSIGN(auto transfer, group->Start(spec, in, out[i]));
    transfers.push_back(std::move(transfer));
  }
  for (std::size_t k = 0; k < kCount; ++k) {
    const std::size_t i = (k * 7 + static_cast<std::size_t>(place.rank) * 31) % kCount;
    REPRISE_TRY(Await(*transfers[i]));
    REPRISE_TRY(VerifyOutput(spec, place, out[i]));
  }
  return communicator.Barrier();
}

}  // namespace

Status ConformanceBody(Communicator& communicator, bool thorough) {
  return Conformance(communicator, thorough, {}, [](const Case&) { return true; });
}

Status AlgorithmBody(Communicator& communicator, const std::string& algorithm) {
  AlgorithmChoices choices;
  REPRISE_TRY(choices.Add(algorithm));
  REPRISE_ASSIGN(const AlgorithmChoice choice, ParseAlgorithm(algorithm));
  // What algorithms may get wrong is where bytes go; every dtype and operation is ReduceInto's.
  const auto wanted = [&](const Case& c) {
    return choice.algorithm->Supports(c.kind) &&
           (c.dtype == DType::kFloat32 || c.dtype == DType::kInt8) &&
           (c.op == ReduceOp::kSum || c.op == ReduceOp::kAvg || c.op == ReduceOp::kPremulSum);
  };
  REPRISE_TRY(Conformance(communicator, false, choices, wanted));
  REPRISE_TRY(OverlappingGroupsWith(communicator, choices));
  return choice.algorithm->Supports(CommKind::kAllReduce) ? ManyOutstanding(communicator, choices)
                                                          : Status();
}

Status OnThreads(int size, const std::function<Status(Communicator&)>& body) {
  return OnEach(CreateLocalCommunicators(size), body);
}

Status OnEach(const std::vector<std::unique_ptr<Communicator>>& communicators,
              const std::function<Status(Communicator&)>& body) {
  std::vector<Status> outcomes(communicators.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    threads.emplace_back([&, rank] {
      outcomes[rank] = body(*communicators[rank]);
      if (!outcomes[rank]) {
        communicators[rank]->RaiseAbort(outcomes[rank].error());  // the others must not wait
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    if (!outcomes[rank]) {
      return Fail(outcomes[rank].error().kind,
                  fmt::format("on rank {}: {}", rank, outcomes[rank].error().message));
    }
  }
  return {};
}

}  // namespace reprise::testing
