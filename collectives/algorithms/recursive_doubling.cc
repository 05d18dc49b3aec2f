// recursive_doubling: partners at distance 1, 2, 4, … ; the fewest steps, whole messages each time:
// for small sizes (Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations
// in MPICH, 2005). all_gather is Bruck's, which takes any number of members.
#include "collectives/algorithms/power_of_two.h"
#include "collectives/algorithms/team_phases.h"

namespace reprise {
namespace {

class RecursiveDoubling final : public Algorithm {
 public:
  [[nodiscard]] std::string_view name() const override { return "recursive_doubling"; }
  [[nodiscard]] std::string_view about() const override {
    return "partners at distance 1, 2, 4, ...: log2(n) steps, whole messages";
  }
  [[nodiscard]] bool Supports(CommKind kind) const override {
    return kind == CommKind::kAllReduce || kind == CommKind::kAllGather ||
           kind == CommKind::kBarrier;
  }
  [[nodiscard]] std::int64_t LaneBytes(CommKind kind, int /*size*/,
                                       std::int64_t chunk_bytes) const override {
    // The last step of an all_gather sends half of everything.
    return kind == CommKind::kAllGather ? 2 * chunk_bytes : chunk_bytes;
  }

  [[nodiscard]] Lane Plan(const LaneShape& shape) const override {
    Lane lane;
    if (shape.kind == CommKind::kAllReduce) {
      AllReduce(shape, lane);
    } else if (shape.kind == CommKind::kAllGather) {
      AllGather(shape, lane);
    } else {
      Barrier(shape, lane);
    }
    return lane;
  }

 private:
  static void AllReduce(const LaneShape& shape, Lane& lane) {
    const PowerOfTwoGroup group(shape.rank, shape.size);
    const std::int64_t bytes = shape.whole.bytes;
    const Ref data{Area::kOut, shape.whole.offset};
    lane.Copy({Area::kIn, shape.whole.offset}, data, bytes);
    lane.NextRound();
    if (!group.Sits()) {
      lane.Send(group.Partner(), data, bytes);
      lane.NextRound();
      lane.Recv(group.Partner(), data, bytes);
      return;
    }
    const Ref arrived = lane.Scratch(bytes);
    if (group.Shares()) {
      lane.Recv(group.Partner(), arrived, bytes);
      lane.Reduce(arrived, data, bytes);
    }
    for (int distance = 1; distance < group.seats(); distance <<= 1) {
      lane.NextRound();
      const int partner = group.MemberAt(group.Seat() ^ distance);
      lane.Send(partner, data, bytes);
      lane.Recv(partner, arrived, bytes);
      lane.Reduce(arrived, data, bytes);
    }
    if (group.Shares()) {
      lane.NextRound();
      lane.Send(group.Partner(), data, bytes);
    }
  }

  // Blocks collect in scratch in the order rank, rank + 1, …; the count doubles each time.
  static void AllGather(const LaneShape& shape, Lane& lane) {
    const int n = shape.size;
    const auto block = [&](int i) { return shape.blocks[static_cast<std::size_t>(i % n)]; };
    std::vector<std::int64_t> end = {0};  // of the first i blocks from here on
    for (int i = 0; i < n; ++i) {
      end.push_back(end.back() + block(shape.rank + i).bytes);
    }
    const auto until = [&](int count) { return end[static_cast<std::size_t>(count)]; };
    const Ref collected = lane.Scratch(until(n));
    lane.Copy({Area::kIn, shape.own.offset}, collected, shape.own.bytes);
    for (int have = 1; have < n; have *= 2) {
      lane.NextRound();
      const int wanted = std::min(have, n - have);
      lane.Send((shape.rank - have + n) % n, collected, until(wanted));
      lane.Recv((shape.rank + have) % n, collected.At(until(have)),
                until(have + wanted) - until(have));
    }
    lane.NextRound();
    for (int i = 0; i < n; ++i) {
      const ByteRange to = block(shape.rank + i);
      lane.Copy(collected.At(until(i)), {Area::kOut, to.offset}, to.bytes);
    }
  }

  static void Barrier(const LaneShape& shape, Lane& lane) {
    for (int distance = 1; distance < shape.size; distance <<= 1) {
      lane.SendSignal((shape.rank + distance) % shape.size);
      lane.RecvSignal((shape.rank - distance + shape.size) % shape.size);
      lane.NextRound();
    }
  }
};

}  // namespace

std::unique_ptr<Algorithm> MakeRecursiveDoubling() { return std::make_unique<RecursiveDoubling>(); }

}  // namespace reprise
