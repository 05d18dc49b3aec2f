// tree: binomial trees, log2(n) steps; chunks in flight at once (channels) make a pipeline of it.
#include "collectives/algorithms/team_phases.h"

namespace reprise {
namespace {

class Tree final : public Algorithm {
 public:
  [[nodiscard]] std::string_view name() const override { return "tree"; }
  [[nodiscard]] std::string_view about() const override {
    return "binomial tree: reduce to its root, then broadcast";
  }
  [[nodiscard]] bool Supports(CommKind kind) const override {
    return kind == CommKind::kAllReduce || kind == CommKind::kReduce ||
           kind == CommKind::kBroadcast || kind == CommKind::kGather ||
           kind == CommKind::kScatter || kind == CommKind::kBarrier;
  }
  [[nodiscard]] std::int64_t LaneBytes(CommKind kind, int /*size*/,
                                       std::int64_t chunk_bytes) const override {
    const bool blocks = kind == CommKind::kGather || kind == CommKind::kScatter;
    return blocks ? 2 * chunk_bytes : chunk_bytes;  // the root's largest child holds half
  }

  [[nodiscard]] Lane Plan(const LaneShape& shape) const override {
    Lane lane;
    const Team team = Everyone(shape);
    const Ref in{Area::kIn, shape.whole.offset};
    const Ref out{Area::kOut, shape.whole.offset};
    switch (shape.kind) {
      case CommKind::kAllReduce:
        lane.Copy(in, out, shape.whole.bytes);
        TreeReduce(lane, team, 0, out, shape.whole.bytes);
        TreeBroadcast(lane, team, 0, Area::kOut, {shape.whole});
        break;
      case CommKind::kReduce: {
        const Ref data = shape.rank == shape.root ? out : lane.Scratch(shape.whole.bytes);
        lane.Copy(in, data, shape.whole.bytes);
        TreeReduce(lane, team, shape.root, data, shape.whole.bytes);
        break;
      }
      case CommKind::kBroadcast:
        TreeBroadcast(lane, team, shape.root, shape.rank == shape.root ? Area::kIn : Area::kOut,
                      {shape.whole});
        break;
      case CommKind::kGather:
        Gather(shape, lane);
        break;
      case CommKind::kScatter:
        Scatter(shape, lane);
        break;
      default:
        Barrier(shape, lane);
    }
    return lane;
  }

 private:
  // Blocks in the order root, root + 1, …, packed: subtrees are contiguous in it.
  struct Packed {
    explicit Packed(const LaneShape& shape) : n(shape.size), root(shape.root) {
      place = (shape.rank - root + n) % n;
      end.push_back(0);
      for (int i = 0; i < n; ++i) {
        end.push_back(end.back() + shape.block_bytes[static_cast<std::size_t>(MemberAt(i))]);
      }
    }
    [[nodiscard]] int MemberAt(int i) const { return (i + root) % n; }
    [[nodiscard]] ByteRange Subtree(int first, int count) const {
      const auto at = static_cast<std::size_t>(first);
      const auto to = static_cast<std::size_t>(std::min(first + count, n));
      return {end[at], end[to] - end[at]};
    }
    int n;
    int root;
    int place;
    std::vector<std::int64_t> end;  // of the first i blocks
  };

  static void Gather(const LaneShape& shape, Lane& lane) {
    const Packed packed(shape);
    const Ref data = lane.Scratch(packed.end.back());
    lane.Copy({Area::kIn, shape.own.offset}, data.At(packed.Subtree(packed.place, 1).offset),
              shape.own.bytes);
    for (int mask = 1; mask < packed.n; mask <<= 1) {
      lane.NextRound();
      if ((packed.place & mask) != 0) {
        const ByteRange mine = packed.Subtree(packed.place, mask);
        lane.Send(packed.MemberAt(packed.place - mask), data.At(mine.offset), mine.bytes);
        return;
      }
      if (packed.place + mask < packed.n) {
        const ByteRange theirs = packed.Subtree(packed.place + mask, mask);
        lane.Recv(packed.MemberAt(packed.place + mask), data.At(theirs.offset), theirs.bytes);
      }
    }
    lane.NextRound();
    for (int i = 0; i < packed.n; ++i) {
      const ByteRange block = packed.Subtree(i, 1);
      const ByteRange to = shape.blocks[static_cast<std::size_t>(packed.MemberAt(i))];
      lane.Copy(data.At(block.offset), {Area::kOut, to.offset}, to.bytes);
    }
  }

  static void Scatter(const LaneShape& shape, Lane& lane) {
    const Packed packed(shape);
    const Ref data = lane.Scratch(packed.end.back());
    int mask = 1;
    while (mask < packed.n && (packed.place & mask) == 0) {
      mask <<= 1;
    }
    if (packed.place == 0) {
      for (int i = 0; i < packed.n; ++i) {
        const ByteRange from = shape.blocks[static_cast<std::size_t>(packed.MemberAt(i))];
        lane.Copy({Area::kIn, from.offset}, data.At(packed.Subtree(i, 1).offset), from.bytes);
      }
    } else {
      const ByteRange mine = packed.Subtree(packed.place, mask);
      lane.Recv(packed.MemberAt(packed.place - mask), data.At(mine.offset), mine.bytes);
    }
    lane.NextRound();
    for (mask >>= 1; mask > 0; mask >>= 1) {
      if (packed.place + mask < packed.n) {
        const ByteRange theirs = packed.Subtree(packed.place + mask, mask);
        lane.Send(packed.MemberAt(packed.place + mask), data.At(theirs.offset), theirs.bytes);
      }
    }
    lane.Copy(data.At(packed.Subtree(packed.place, 1).offset), {Area::kOut, shape.own.offset},
              shape.own.bytes);
  }

  // Up to member 0, and down again.
  static void Barrier(const LaneShape& shape, Lane& lane) {
    int mask = 1;
    for (; mask < shape.size && (shape.rank & mask) == 0; mask <<= 1) {
      if (shape.rank + mask < shape.size) {
        lane.RecvSignal(shape.rank + mask);
        lane.NextRound();
      }
    }
    if (shape.rank != 0) {
      lane.SendSignal(shape.rank - mask);
      lane.RecvSignal(shape.rank - mask);
      lane.NextRound();
    }
    for (mask >>= 1; mask > 0; mask >>= 1) {
      if (shape.rank + mask < shape.size) {
        lane.SendSignal(shape.rank + mask);
      }
    }
  }
};

}  // namespace

std::unique_ptr<Algorithm> MakeTree() { return std::make_unique<Tree>(); }

}  // namespace reprise
