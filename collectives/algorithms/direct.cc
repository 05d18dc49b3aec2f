// direct: every member exchanges with every other at once; the fewest steps, the most messages.
#include "collectives/algorithms/team_phases.h"

namespace reprise {
namespace {

class Direct final : public Algorithm {
 public:
  [[nodiscard]] std::string_view name() const override { return "direct"; }
  [[nodiscard]] std::string_view about() const override {
    return "all pairs at once; two steps for all_reduce, one for everything else";
  }
  [[nodiscard]] bool Supports(CommKind kind) const override {
    return kind != CommKind::kBarrier && !IsPointToPoint(kind);
  }
  [[nodiscard]] std::int64_t LaneBytes(CommKind kind, int size,
                                       std::int64_t chunk_bytes) const override {
    const bool one_part = kind == CommKind::kReduce || kind == CommKind::kBroadcast;
    return one_part ? chunk_bytes : chunk_bytes * size;
  }

  [[nodiscard]] Lane Plan(const LaneShape& shape) const override {
    Lane lane;
    switch (shape.kind) {
      case CommKind::kAllReduce: {
        const std::vector<ByteRange> parts = Cut(shape.whole, shape.size, shape.unit_bytes);
        ReduceOwn(shape, parts, parts[static_cast<std::size_t>(shape.rank)].offset, lane);
        lane.NextRound();
        GatherBlocks(shape, parts, Area::kOut, parts[static_cast<std::size_t>(shape.rank)], lane);
        break;
      }
      case CommKind::kReduceScatter:
        ReduceOwn(shape, shape.blocks, shape.own.offset, lane);
        break;
      case CommKind::kAllGather:
        lane.Copy({Area::kIn, shape.own.offset}, {Area::kOut, OwnBlock(shape).offset},
                  shape.own.bytes);
        GatherBlocks(shape, shape.blocks, Area::kIn, shape.own, lane);
        break;
      case CommKind::kReduce:
        ToRoot(shape, lane);
        break;
      case CommKind::kBroadcast:
        FromRoot(shape, lane);
        break;
      case CommKind::kGather:
        Gather(shape, lane);
        break;
      case CommKind::kScatter:
        Scatter(shape, lane);
        break;
      default:
        Exchange(shape, lane);
    }
    return lane;
  }

 private:
  static ByteRange OwnBlock(const LaneShape& shape) {
    return shape.blocks[static_cast<std::size_t>(shape.rank)];
  }
  // All members but this rank; each rank begins with its neighbour.
  template <typename Visit>
  static void Others(const LaneShape& shape, Visit visit) {
    for (int step = 1; step < shape.size; ++step) {
      visit((shape.rank + step) % shape.size);
    }
  }

  // blocks[i] of In to member i; the own one, reduced, to Out.
  static void ReduceOwn(const LaneShape& shape, std::span<const ByteRange> blocks,
                        std::int64_t out_offset, Lane& lane) {
    const ByteRange own = blocks[static_cast<std::size_t>(shape.rank)];
    lane.Copy({Area::kIn, own.offset}, {Area::kOut, out_offset}, own.bytes);
    Others(shape, [&](int peer) {
      const Ref arrived = lane.Scratch(own.bytes);
      const ByteRange theirs = blocks[static_cast<std::size_t>(peer)];
      lane.Recv(peer, arrived, own.bytes);
      lane.Send(peer, {Area::kIn, theirs.offset}, theirs.bytes);
      lane.Reduce(arrived, {Area::kOut, out_offset}, own.bytes);
    });
  }

  static void GatherBlocks(const LaneShape& shape, std::span<const ByteRange> blocks, Area own_area,
                           ByteRange own, Lane& lane) {
    Others(shape, [&](int peer) {
      const ByteRange theirs = blocks[static_cast<std::size_t>(peer)];
      lane.Recv(peer, {Area::kOut, theirs.offset}, theirs.bytes);
      lane.Send(peer, {own_area, own.offset}, own.bytes);
    });
  }

  static void ToRoot(const LaneShape& shape, Lane& lane) {
    const Ref in{Area::kIn, shape.whole.offset};
    const Ref out{Area::kOut, shape.whole.offset};
    if (shape.rank != shape.root) {
      lane.Send(shape.root, in, shape.whole.bytes);
      return;
    }
    lane.Copy(in, out, shape.whole.bytes);
    Others(shape, [&](int peer) {
      const Ref arrived = lane.Scratch(shape.whole.bytes);
      lane.Recv(peer, arrived, shape.whole.bytes);
      lane.Reduce(arrived, out, shape.whole.bytes);
    });
  }

  static void FromRoot(const LaneShape& shape, Lane& lane) {
    if (shape.rank != shape.root) {
      lane.Recv(shape.root, {Area::kOut, shape.whole.offset}, shape.whole.bytes);
      return;
    }
    Others(shape, [&](int peer) {
      lane.Send(peer, {Area::kIn, shape.whole.offset}, shape.whole.bytes);
    });
  }

  static void Gather(const LaneShape& shape, Lane& lane) {
    if (shape.rank != shape.root) {
      lane.Send(shape.root, {Area::kIn, shape.own.offset}, shape.own.bytes);
      return;
    }
    lane.Copy({Area::kIn, shape.own.offset}, {Area::kOut, OwnBlock(shape).offset}, shape.own.bytes);
    Others(shape, [&](int peer) {
      const ByteRange theirs = shape.blocks[static_cast<std::size_t>(peer)];
      lane.Recv(peer, {Area::kOut, theirs.offset}, theirs.bytes);
    });
  }

  static void Scatter(const LaneShape& shape, Lane& lane) {
    if (shape.rank != shape.root) {
      lane.Recv(shape.root, {Area::kOut, shape.own.offset}, shape.own.bytes);
      return;
    }
    lane.Copy({Area::kIn, OwnBlock(shape).offset}, {Area::kOut, shape.own.offset}, shape.own.bytes);
    Others(shape, [&](int peer) {
      const ByteRange theirs = shape.blocks[static_cast<std::size_t>(peer)];
      lane.Send(peer, {Area::kIn, theirs.offset}, theirs.bytes);
    });
  }

  static void Exchange(const LaneShape& shape, Lane& lane) {
    const auto me = static_cast<std::size_t>(shape.rank);
    lane.Copy({Area::kIn, shape.blocks[me].offset}, {Area::kOut, shape.out_blocks[me].offset},
              shape.blocks[me].bytes);
    Others(shape, [&](int peer) {
      const auto at = static_cast<std::size_t>(peer);
      lane.Recv(peer, {Area::kOut, shape.out_blocks[at].offset}, shape.out_blocks[at].bytes);
      lane.Send(peer, {Area::kIn, shape.blocks[at].offset}, shape.blocks[at].bytes);
    });
  }
};

}  // namespace

std::unique_ptr<Algorithm> MakeDirect() { return std::make_unique<Direct>(); }

}  // namespace reprise
