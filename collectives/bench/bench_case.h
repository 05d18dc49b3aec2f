// One size of one collective with its memory on one rank: what bench and sweep run again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/bench/collective_bench.h"

namespace reprise {

[[nodiscard]] bool HasInPlace(CommKind kind);

class BenchCase {
 public:
  // `bytes` as in BenchRow: cut to whole blocks. The row's sizes, type, op and root are filled in.
  BenchCase(CommKind kind, std::int64_t bytes, DType dtype, ReduceOp op, int root,
            const GroupPlace& place);

  [[nodiscard]] const BenchRow& row() const { return row_; }
  // One spec, or a recv and a send.
  [[nodiscard]] std::span<const CommSpec> specs() const { return specs_; }
  [[nodiscard]] std::span<std::byte> In(std::size_t i);
  [[nodiscard]] std::span<std::byte> Out(std::size_t i);

  void Allocate(bool in_place);
  void Fill();
  // Starts everything and tests until it is over.
  [[nodiscard]] Status RunOnce(GroupComm& group);
  [[nodiscard]] std::int64_t CountWrong();

 private:
  struct Offsets {
    std::int64_t in = 0;
    std::int64_t out = 0;
  };
  [[nodiscard]] std::vector<CommSpec> MakeSpecs(CommKind kind, ReduceOp op) const;
  [[nodiscard]] Offsets OffsetsOf(const CommSpec& spec, bool in_place) const;
  [[nodiscard]] std::int64_t BlockBytes() const { return row_.count * SizeOf(row_.dtype); }

  GroupPlace place_;
  BenchRow row_;
  std::vector<CommSpec> specs_;
  std::vector<Offsets> offsets_;
  std::vector<std::byte> memory_;
};

// Mean time of `mine_ns` over ranks, total of `wrong`, and the rates that follow. Collective.
[[nodiscard]] Result<BenchTiming> CombineRanks(Communicator& communicator, const BenchRow& row,
                                               CommKind kind, std::int64_t mine_ns,
                                               std::int64_t wrong);
void SetRates(const BenchRow& row, CommKind kind, int ranks, BenchTiming& timing);

}  // namespace reprise
