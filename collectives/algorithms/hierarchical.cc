// hierarchical: within each node first, then between one leader of each node, then within again:
// what crosses the network is what one member a node would send. For rooted kinds the root leads.
#include "collectives/algorithms/team_phases.h"

namespace reprise {
namespace {

// The group as nodes see it.
struct Nodes {
  explicit Nodes(const LaneShape& shape) {
    for (int member = 0; member < shape.size; ++member) {
      const auto node = static_cast<std::size_t>(shape.nodes[static_cast<std::size_t>(member)]);
      if (node >= members.size()) {
        members.resize(node + 1);
      }
      members[node].push_back(member);
      if (member == shape.rank) {
        mine = static_cast<int>(node);
      }
    }
    for (std::size_t node = 0; node < members.size(); ++node) {
      const auto& here = members[node];
      const bool has_root = std::ranges::find(here, shape.root) != here.end();
      leaders.members.push_back(has_root ? shape.root : here.front());
      root_node = has_root ? static_cast<int>(node) : root_node;
    }
    leaders.me = mine;
    local.members = members[static_cast<std::size_t>(mine)];
    const auto place = [&](int member) {
      return static_cast<int>(std::ranges::find(local.members, member) - local.members.begin());
    };
    local.me = place(shape.rank);
    leader = place(leaders.members[static_cast<std::size_t>(mine)]);
  }
  [[nodiscard]] bool Leads() const { return local.me == leader; }
  // One part for each node: its members' blocks.
  [[nodiscard]] std::vector<Part> Parts(std::span<const ByteRange> blocks) const {
    std::vector<Part> parts;
    for (const std::vector<int>& node : members) {
      Part part;
      for (const int member : node) {
        part.push_back(blocks[static_cast<std::size_t>(member)]);
      }
      parts.push_back(std::move(part));
    }
    return parts;
  }

  std::vector<std::vector<int>> members;  // by node
  Team leaders;                           // by node; only a leader is one of them
  Team local;
  int mine = 0;
  int leader = 0;  // of this node, its place in `local`
  int root_node = 0;
};

class Hierarchical final : public Algorithm {
 public:
  [[nodiscard]] std::string_view name() const override { return "hierarchical"; }
  [[nodiscard]] std::string_view about() const override {
    return "trees within nodes, a ring of one leader a node between them";
  }
  [[nodiscard]] bool Supports(CommKind kind) const override {
    return kind == CommKind::kAllReduce || kind == CommKind::kReduce ||
           kind == CommKind::kBroadcast || kind == CommKind::kAllGather ||
           kind == CommKind::kReduceScatter;
  }
  [[nodiscard]] std::int64_t LaneBytes(CommKind /*kind*/, int /*size*/,
                                       std::int64_t chunk_bytes) const override {
    return chunk_bytes;  // whole shares travel within a node
  }

  [[nodiscard]] Lane Plan(const LaneShape& shape) const override {
    Lane lane;
    const Nodes nodes(shape);
    switch (shape.kind) {
      case CommKind::kAllReduce:
        AllReduce(shape, nodes, lane);
        break;
      case CommKind::kReduce:
        Reduce(shape, nodes, lane);
        break;
      case CommKind::kBroadcast:
        Broadcast(shape, nodes, lane);
        break;
      case CommKind::kAllGather:
        AllGather(shape, nodes, lane);
        break;
      default:
        ReduceScatter(shape, nodes, lane);
    }
    return lane;
  }

 private:
  static void AllReduce(const LaneShape& shape, const Nodes& nodes, Lane& lane) {
    const Ref data{Area::kOut, shape.whole.offset};
    lane.Copy({Area::kIn, shape.whole.offset}, data, shape.whole.bytes);
    TreeReduce(lane, nodes.local, nodes.leader, data, shape.whole.bytes);
    if (nodes.Leads()) {
      const std::vector<Part> parts =
          Singly(Cut(shape.whole, nodes.leaders.size(), shape.unit_bytes));
      RingReduceScatter(lane, nodes.leaders, Area::kOut, Area::kOut, parts);
      RingAllGather(lane, nodes.leaders, Area::kOut, parts);
    }
    TreeBroadcast(lane, nodes.local, nodes.leader, Area::kOut, {shape.whole});
  }

  static void Reduce(const LaneShape& shape, const Nodes& nodes, Lane& lane) {
    const Ref data = shape.rank == shape.root ? Ref{Area::kOut, shape.whole.offset}
                                              : lane.Scratch(shape.whole.bytes);
    lane.Copy({Area::kIn, shape.whole.offset}, data, shape.whole.bytes);
    TreeReduce(lane, nodes.local, nodes.leader, data, shape.whole.bytes);
    if (nodes.Leads()) {
      TreeReduce(lane, nodes.leaders, nodes.root_node, data, shape.whole.bytes);
    }
  }

  static void Broadcast(const LaneShape& shape, const Nodes& nodes, Lane& lane) {
    const Area area = shape.rank == shape.root ? Area::kIn : Area::kOut;
    if (nodes.Leads()) {
      TreeBroadcast(lane, nodes.leaders, nodes.root_node, area, {shape.whole});
    }
    TreeBroadcast(lane, nodes.local, nodes.leader, area, {shape.whole});
  }

  static void AllGather(const LaneShape& shape, const Nodes& nodes, Lane& lane) {
    const ByteRange block = shape.blocks[static_cast<std::size_t>(shape.rank)];
    const int leader = nodes.local.At(nodes.leader);
    if (nodes.Leads()) {
      lane.Copy({Area::kIn, shape.own.offset}, {Area::kOut, block.offset}, block.bytes);
      for (const int member : nodes.local.members) {
        if (member != shape.rank) {
          const ByteRange theirs = shape.blocks[static_cast<std::size_t>(member)];
          lane.Recv(member, {Area::kOut, theirs.offset}, theirs.bytes);
        }
      }
      RingAllGather(lane, nodes.leaders, Area::kOut, nodes.Parts(shape.blocks));
    } else {
      lane.Send(leader, {Area::kIn, shape.own.offset}, shape.own.bytes);
    }
    TreeBroadcast(lane, nodes.local, nodes.leader, Area::kOut, shape.blocks);
  }

  // Sums in scratch, packed in rank order.
  static void ReduceScatter(const LaneShape& shape, const Nodes& nodes, Lane& lane) {
    std::vector<ByteRange> packed;
    std::int64_t total = 0;
    for (const ByteRange& block : shape.blocks) {
      packed.push_back({total, block.bytes});
      total += block.bytes;
    }
    const Ref data = lane.Scratch(total);  // the lane's first: offset 0, as `packed` has it
    for (std::size_t i = 0; i < packed.size(); ++i) {
      lane.Copy({Area::kIn, shape.blocks[i].offset}, data.At(packed[i].offset), packed[i].bytes);
    }
    TreeReduce(lane, nodes.local, nodes.leader, data, total);
    const Ref own{Area::kOut, shape.own.offset};
    if (!nodes.Leads()) {
      lane.Recv(nodes.local.At(nodes.leader), own, shape.own.bytes);
      return;
    }
    RingReduceScatter(lane, nodes.leaders, Area::kScratch, Area::kScratch, nodes.Parts(packed));
    for (const int member : nodes.local.members) {
      const ByteRange block = packed[static_cast<std::size_t>(member)];
      if (member == shape.rank) {
        lane.Copy(data.At(block.offset), own, block.bytes);
      } else {
        lane.Send(member, data.At(block.offset), block.bytes);
      }
    }
  }
};

}  // namespace

std::unique_ptr<Algorithm> MakeHierarchical() { return std::make_unique<Hierarchical>(); }

}  // namespace reprise
