#include "collectives/bench/bench_case.h"

#include <algorithm>
#include <array>

#include "collectives/checked_data.h"
#include "collectives/gathered.h"

namespace reprise {

bool HasInPlace(CommKind kind) {
  return !IsPointToPoint(kind) && kind != CommKind::kAllToAll && kind != CommKind::kBarrier;
}

BenchCase::BenchCase(CommKind kind, std::int64_t bytes, DType dtype, ReduceOp op, int root,
                     const GroupPlace& place)
    : place_(place) {
  const std::int64_t width = SizeOf(dtype);
  const std::int64_t parts = HasBlocks(kind) ? place_.size() : 1;
  row_.count = bytes / (width * parts);
  row_.dtype = dtype;
  row_.bytes = row_.count * width * parts;
  if (IsReduction(kind)) {
    row_.op = op;
  }
  if (HasRoot(kind)) {
    row_.root = root;
  }
  specs_ = MakeSpecs(kind, op);
}

std::vector<CommSpec> BenchCase::MakeSpecs(CommKind kind, ReduceOp op) const {
  CommSpec spec{.kind = kind, .group = "bench", .dtype = row_.dtype, .op = op};
  const int n = place_.size();
  spec.root = row_.root.value_or(-1);
  switch (kind) {
    case CommKind::kSend: {
      spec.in_bytes = BlockBytes();
      spec.peer = (place_.rank + 1) % n;
      CommSpec recv = spec;
      recv.kind = CommKind::kRecv;
      recv.peer = (place_.rank + n - 1) % n;
      recv.in_bytes = 0;
      recv.out_bytes = BlockBytes();
      return {recv, spec};
    }
    case CommKind::kBarrier:
      break;
    default:
      spec.in_bytes = IsGathering(kind) ? BlockBytes() : row_.bytes;
      spec.out_bytes = IsScattering(kind) ? BlockBytes() : row_.bytes;
  }
  return {spec};
}

// nccl-tests' meaning of in place: the own block's slot in the larger buffer, else the same memory.
BenchCase::Offsets BenchCase::OffsetsOf(const CommSpec& spec, bool in_place) const {
  if (!in_place) {
    return {.in = 0, .out = spec.in_bytes};
  }
  const std::int64_t own = BlockBytes() * place_.rank;
  return {.in = IsGathering(spec.kind) ? own : 0, .out = IsScattering(spec.kind) ? own : 0};
}

void BenchCase::Allocate(bool in_place) {
  std::int64_t needed = 0;
  offsets_.clear();
  for (const CommSpec& spec : specs_) {
    Offsets offsets = OffsetsOf(spec, in_place);
    if (IsPointToPoint(spec.kind)) {
      offsets = {.in = needed, .out = needed};
    }
    offsets_.push_back(offsets);
    needed = std::max({needed, offsets.in + spec.in_bytes, offsets.out + spec.out_bytes});
  }
  memory_.resize(static_cast<std::size_t>(needed));
}

std::span<std::byte> BenchCase::In(std::size_t i) {
  return std::span(memory_).subspan(static_cast<std::size_t>(offsets_[i].in),
                                    static_cast<std::size_t>(specs_[i].in_bytes));
}

std::span<std::byte> BenchCase::Out(std::size_t i) {
  return std::span(memory_).subspan(static_cast<std::size_t>(offsets_[i].out),
                                    static_cast<std::size_t>(specs_[i].out_bytes));
}

Status BenchCase::RunOnce(GroupComm& group) {
  std::array<std::unique_ptr<Transfer>, 2> transfers;
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    REPRISE_ASSIGN(transfers[i], group.Start(specs_[i], In(i), Out(i)));
  }
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    bool done = false;
    while (!done) {
      REPRISE_ASSIGN(done, transfers[i]->Test());
    }
  }
  return {};
}

void BenchCase::Fill() {
  // What is not written must show: everything else is neither input nor a likely result.
  std::ranges::fill(memory_, std::byte{0xEE});
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    FillInput(specs_[i], place_, In(i));
  }
}

std::int64_t BenchCase::CountWrong() {
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    wrong += CheckOutput(specs_[i], place_, Out(i)).wrong;
  }
  return wrong;
}

void SetRates(const BenchRow& row, CommKind kind, int ranks, BenchTiming& timing) {
  if (timing.time_ns > 0) {
    timing.algbw_gb_per_s = static_cast<double>(row.bytes) / static_cast<double>(timing.time_ns);
    timing.busbw_gb_per_s = timing.algbw_gb_per_s * BusFactor(kind, ranks);
  }
}

Result<BenchTiming> CombineRanks(Communicator& communicator, const BenchRow& row, CommKind kind,
                                 std::int64_t mine_ns, std::int64_t wrong) {
  struct Mine {
    std::int64_t time_ns, wrong;
  };
  REPRISE_ASSIGN(const auto all, GatherValues(communicator, Mine{mine_ns, wrong}));
  BenchTiming timing{.wrong = 0};
  for (const Mine& theirs : all) {
    timing.time_ns += theirs.time_ns / communicator.size();
    timing.wrong += theirs.wrong;
  }
  SetRates(row, kind, communicator.size(), timing);
  return timing;
}

}  // namespace reprise
