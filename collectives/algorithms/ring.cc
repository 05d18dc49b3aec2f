// ring: every member talks to its neighbours only; the least data per link, as many steps as
// members. Rooted kinds run along a chain, all_to_all exchanges with one partner after the other.
#include "collectives/algorithms/team_phases.h"

namespace reprise {
namespace {

class Ring final : public Algorithm {
 public:
  [[nodiscard]] std::string_view name() const override { return "ring"; }
  [[nodiscard]] std::string_view about() const override {
    return "neighbours only; chains for broadcast and reduce, partner by partner for all_to_all";
  }
  [[nodiscard]] bool Supports(CommKind kind) const override {
    return kind == CommKind::kAllReduce || kind == CommKind::kReduceScatter ||
           kind == CommKind::kAllGather || kind == CommKind::kReduce ||
           kind == CommKind::kBroadcast || kind == CommKind::kAllToAll;
  }
  [[nodiscard]] std::int64_t LaneBytes(CommKind kind, int size,
                                       std::int64_t chunk_bytes) const override {
    const bool chain = kind == CommKind::kReduce || kind == CommKind::kBroadcast;
    return chain ? chunk_bytes : chunk_bytes * size;
  }

  [[nodiscard]] Lane Plan(const LaneShape& shape) const override {
    Lane lane;
    const Team team = Everyone(shape);
    switch (shape.kind) {
      case CommKind::kAllReduce: {
        const std::vector<Part> parts = Singly(Cut(shape.whole, shape.size, shape.unit_bytes));
        RingReduceScatter(lane, team, shape.in_place ? Area::kOut : Area::kIn, Area::kOut, parts);
        RingAllGather(lane, team, Area::kOut, parts);
        break;
      }
      case CommKind::kReduceScatter:
        ReduceScatter(shape, team, lane);
        break;
      case CommKind::kAllGather:
        lane.Copy({Area::kIn, shape.own.offset},
                  {Area::kOut, shape.blocks[static_cast<std::size_t>(shape.rank)].offset},
                  shape.own.bytes);
        RingAllGather(lane, team, Area::kOut, Singly(shape.blocks));
        break;
      case CommKind::kReduce:
        ChainReduce(shape, team, lane);
        break;
      case CommKind::kBroadcast:
        ChainBroadcast(shape, team, lane);
        break;
      default:
        PartnerByPartner(shape, lane);
    }
    return lane;
  }

 private:
  // As RingReduceScatter, but In stays as it is: partial sums travel in scratch.
  static void ReduceScatter(const LaneShape& shape, const Team& team, Lane& lane) {
    const auto block = [&](int i) {
      return shape.blocks[static_cast<std::size_t>(((i % shape.size) + shape.size) % shape.size)];
    };
    std::int64_t longest = 0;
    for (const ByteRange& range : shape.blocks) {
      longest = std::max(longest, range.bytes);
    }
    const Ref partial[2] = {lane.Scratch(longest), lane.Scratch(longest)};
    for (int step = 0; step + 1 < shape.size; ++step) {
      lane.NextRound();
      const ByteRange leaves = block(shape.rank - step - 1);
      const ByteRange comes = block(shape.rank - step - 2);
      lane.Send(team.At(shape.rank + 1),
                step == 0 ? Ref{Area::kIn, leaves.offset} : partial[(step + 1) % 2], leaves.bytes);
      lane.Recv(team.At(shape.rank - 1), partial[step % 2], comes.bytes);
      lane.Reduce({Area::kIn, comes.offset}, partial[step % 2], comes.bytes);
    }
    lane.Copy(partial[shape.size % 2], {Area::kOut, shape.own.offset}, shape.own.bytes);
  }

  static void ChainReduce(const LaneShape& shape, const Team& team, Lane& lane) {
    const std::int64_t bytes = shape.whole.bytes;
    const Ref in{Area::kIn, shape.whole.offset};
    const int place = (shape.rank - shape.root + shape.size) % shape.size;
    if (place == shape.size - 1) {
      lane.Send(team.At(shape.rank - 1), in, bytes);
      return;
    }
    const Ref partial = lane.Scratch(bytes);
    lane.Recv(team.At(shape.rank + 1), partial, bytes);
    lane.Reduce(in, partial, bytes);
    if (place == 0) {
      lane.Copy(partial, {Area::kOut, shape.whole.offset}, bytes);
      return;
    }
    lane.NextRound();
    lane.Send(team.At(shape.rank - 1), partial, bytes);
  }

  static void ChainBroadcast(const LaneShape& shape, const Team& team, Lane& lane) {
    const bool is_root = shape.rank == shape.root;
    const Ref data{is_root ? Area::kIn : Area::kOut, shape.whole.offset};
    if (!is_root) {
      lane.Recv(team.At(shape.rank - 1), data, shape.whole.bytes);
      lane.NextRound();
    }
    if ((shape.rank + 1) % shape.size != shape.root) {
      lane.Send(team.At(shape.rank + 1), data, shape.whole.bytes);
    }
  }

  static void PartnerByPartner(const LaneShape& shape, Lane& lane) {
    const auto me = static_cast<std::size_t>(shape.rank);
    lane.Copy({Area::kIn, shape.blocks[me].offset}, {Area::kOut, shape.out_blocks[me].offset},
              shape.blocks[me].bytes);
    for (int step = 1; step < shape.size; ++step) {
      lane.NextRound();
      const int to = (shape.rank + step) % shape.size;
      const int from = (shape.rank - step + shape.size) % shape.size;
      const ByteRange leaves = shape.blocks[static_cast<std::size_t>(to)];
      const ByteRange comes = shape.out_blocks[static_cast<std::size_t>(from)];
      lane.Recv(from, {Area::kOut, comes.offset}, comes.bytes);
      lane.Send(to, {Area::kIn, leaves.offset}, leaves.bytes);
    }
  }
};

}  // namespace

std::unique_ptr<Algorithm> MakeRing() { return std::make_unique<Ring>(); }

}  // namespace reprise
