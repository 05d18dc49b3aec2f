// recursive_halving: halves change hands with partners at distance n/2, n/4, …, and for all_reduce
// come back the same way; a ring's data in log2(n) steps (Rabenseifner's algorithm: Thakur,
// Rabenseifner, Gropp, Optimization of Collective Communication Operations in MPICH, 2005).
#include "collectives/algorithms/power_of_two.h"
#include "collectives/algorithms/team_phases.h"

namespace reprise {
namespace {

class RecursiveHalving final : public Algorithm {
 public:
  [[nodiscard]] std::string_view name() const override { return "recursive_halving"; }
  [[nodiscard]] std::string_view about() const override {
    return "halving, then doubling: a ring's data in log2(n) steps";
  }
  [[nodiscard]] bool Supports(CommKind kind) const override {
    return kind == CommKind::kAllReduce || kind == CommKind::kReduceScatter;
  }
  [[nodiscard]] std::int64_t LaneBytes(CommKind /*kind*/, int /*size*/,
                                       std::int64_t chunk_bytes) const override {
    return 2 * chunk_bytes;  // the first step sends half
  }

  [[nodiscard]] Lane Plan(const LaneShape& shape) const override {
    Lane lane;
    const PowerOfTwoGroup group(shape.rank, shape.size);
    if (shape.kind == CommKind::kAllReduce) {
      const Ref data{Area::kOut, shape.whole.offset};
      lane.Copy({Area::kIn, shape.whole.offset}, data, shape.whole.bytes);
      AllReduce(shape, group, data, lane);
    } else {
      ReduceScatter(shape, group, lane);
    }
    return lane;
  }

 private:
  // Bounds of the seats' parts of `data`, relative to it.
  using Bounds = std::vector<std::int64_t>;

  // What is exchanged at one distance: this seat keeps one half of its window.
  struct Step {
    int partner;
    ByteRange keeps;
    ByteRange gives;
  };
  static std::vector<Step> StepsOf(const PowerOfTwoGroup& group, const Bounds& bounds) {
    std::vector<Step> steps;
    int first = 0;
    for (int half = group.seats() / 2; half > 0; half /= 2) {
      const auto at = [&](int seat) { return bounds[static_cast<std::size_t>(seat)]; };
      const ByteRange low{at(first), at(first + half) - at(first)};
      const ByteRange high{at(first + half), at(first + 2 * half) - at(first + half)};
      const bool keeps_high = (group.Seat() & half) != 0;
      steps.push_back(
          {group.MemberAt(group.Seat() ^ half), keeps_high ? high : low, keeps_high ? low : high});
      first += keeps_high ? half : 0;
    }
    return steps;
  }

  // The seat's part of `data` ends reduced over all members; requires Sits().
  static void Halve(const PowerOfTwoGroup& group, Ref data, std::int64_t bytes,
                    const std::vector<Step>& steps, Lane& lane) {
    const Ref arrived = lane.Scratch(bytes);
    if (group.Shares()) {
      lane.Recv(group.Partner(), arrived, bytes);
      lane.Reduce(arrived, data, bytes);
    }
    for (const Step& step : steps) {
      lane.NextRound();
      lane.Send(step.partner, data.At(step.gives.offset), step.gives.bytes);
      lane.Recv(step.partner, arrived, step.keeps.bytes);
      lane.Reduce(arrived, data.At(step.keeps.offset), step.keeps.bytes);
    }
    lane.NextRound();
  }

  static void AllReduce(const LaneShape& shape, const PowerOfTwoGroup& group, Ref data,
                        Lane& lane) {
    const std::int64_t bytes = shape.whole.bytes;
    lane.NextRound();
    if (!group.Sits()) {
      lane.Send(group.Partner(), data, bytes);
      lane.NextRound();
      lane.Recv(group.Partner(), data, bytes);
      return;
    }
    Bounds bounds = {0};
    for (const ByteRange& part : Cut({0, bytes}, group.seats(), shape.unit_bytes)) {
      bounds.push_back(part.end());
    }
    std::vector<Step> steps = StepsOf(group, bounds);
    Halve(group, data, bytes, steps, lane);
    std::ranges::reverse(steps);
    for (const Step& step : steps) {
      lane.Send(step.partner, data.At(step.keeps.offset), step.keeps.bytes);
      lane.Recv(step.partner, data.At(step.gives.offset), step.gives.bytes);
      lane.NextRound();
    }
    if (group.Shares()) {
      lane.Send(group.Partner(), data, bytes);
    }
  }

  static void ReduceScatter(const LaneShape& shape, const PowerOfTwoGroup& group, Lane& lane) {
    // In stays as it is: the blocks are summed in scratch, packed in rank order.
    Bounds at = {0};
    for (const ByteRange& block : shape.blocks) {
      at.push_back(at.back() + block.bytes);
    }
    const Ref data = lane.Scratch(at.back());
    for (std::size_t i = 0; i < shape.blocks.size(); ++i) {
      lane.Copy({Area::kIn, shape.blocks[i].offset}, data.At(at[i]), shape.blocks[i].bytes);
    }
    lane.NextRound();
    const Ref own{Area::kOut, shape.own.offset};
    if (!group.Sits()) {
      lane.Send(group.Partner(), data, at.back());
      lane.NextRound();
      lane.Recv(group.Partner(), own, shape.own.bytes);
      return;
    }
    Bounds bounds;
    for (int seat = 0; seat < group.seats(); ++seat) {
      bounds.push_back(at[static_cast<std::size_t>(group.FirstOf(seat))]);
    }
    bounds.push_back(at.back());
    Halve(group, data, at.back(), StepsOf(group, bounds), lane);
    const auto offset = [&](int rank) { return at[static_cast<std::size_t>(rank)]; };
    if (group.Shares()) {
      lane.Send(group.Partner(), data.At(offset(group.Partner())),
                offset(group.Partner() + 1) - offset(group.Partner()));
    }
    lane.Copy(data.At(offset(shape.rank)), own, shape.own.bytes);
  }
};

}  // namespace

std::unique_ptr<Algorithm> MakeRecursiveHalving() { return std::make_unique<RecursiveHalving>(); }

}  // namespace reprise
