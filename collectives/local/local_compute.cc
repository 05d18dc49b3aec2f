#include "collectives/local/local_compute.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "collectives/host_reduction.h"

namespace reprise {
namespace {

using Bytes = std::vector<std::byte>;

std::int64_t BlockAt(const std::vector<std::int64_t>& blocks, std::int64_t even, int i) {
  return blocks.empty() ? even : blocks[static_cast<std::size_t>(i)];
}

std::int64_t OffsetOf(const std::vector<std::int64_t>& blocks, std::int64_t even, int i) {
  return blocks.empty() ? even * i
                        : std::accumulate(blocks.begin(), blocks.begin() + i, std::int64_t{0});
}

void Put(std::span<std::byte> out, std::int64_t offset, std::span<const std::byte> data) {
  if (!data.empty()) {
    std::memcpy(out.data() + offset, data.data(), data.size());
  }
}

class Movement {
 public:
  explicit Movement(std::span<const LocalMember> members) : members_(members) {
    for (const LocalMember& member : members) {
      inputs_.emplace_back(member.in.begin(), member.in.end());  // outputs may overlap them
    }
  }

  void Run() {
    const LocalMember& first = members_.front();
    const int root = first.layout.root;
    switch (first.spec->kind) {
      case CommKind::kAllReduce:
      case CommKind::kReduce:
      case CommKind::kReduceScatter:
        Reduce();
        break;
      case CommKind::kAllGather:
      case CommKind::kGather:
        for (int to = 0; to < size(); ++to) {
          for (int from = 0; from < size() && !At(to).out.empty(); ++from) {
            Put(At(to).out, OutOffset(to, from), Input(from));
          }
        }
        break;
      case CommKind::kScatter:
        for (int to = 0; to < size(); ++to) {
          Put(At(to).out, 0, Block(root, to));
        }
        break;
      case CommKind::kBroadcast:
        for (int to = 0; to < size(); ++to) {
          Put(At(to).out, 0, std::span(Input(root)).first(At(to).out.size()));
        }
        break;
      case CommKind::kAllToAll:
        for (int to = 0; to < size(); ++to) {
          for (int from = 0; from < size(); ++from) {
            Put(At(to).out, OutOffset(to, from), Block(from, to));
          }
        }
        break;
      default:
        break;  // barrier; send and recv are the transport's
    }
  }

 private:
  [[nodiscard]] int size() const { return static_cast<int>(members_.size()); }
  [[nodiscard]] const LocalMember& At(int i) const { return members_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] Bytes& Input(int i) { return inputs_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] std::int64_t OutOffset(int to, int from) const {
    const TransferLayout& layout = At(to).layout;
    return OffsetOf(layout.out_blocks, layout.block_bytes, from);
  }
  // What `from` has for `to`.
  [[nodiscard]] std::span<const std::byte> Block(int from, int to) {
    const TransferLayout& layout = At(from).layout;
    return std::span(Input(from))
        .subspan(static_cast<std::size_t>(OffsetOf(layout.in_blocks, layout.block_bytes, to)),
                 static_cast<std::size_t>(BlockAt(layout.in_blocks, layout.block_bytes, to)));
  }

  void Reduce() {
    const CommSpec& spec = *members_.front().spec;
    Bytes result = inputs_.front();
    for (int i = 1; i < size(); ++i) {
      ReduceInto(spec.dtype, spec.op, Input(i), result);
    }
    if (spec.op == ReduceOp::kAvg) {
      FinishAverage(spec.dtype, size(), result);
    }
    for (int to = 0; to < size(); ++to) {
      const TransferLayout& layout = At(to).layout;
      const bool scattered = spec.kind == CommKind::kReduceScatter;
      const std::int64_t from = scattered ? OffsetOf(layout.in_blocks, layout.block_bytes, to) : 0;
      Put(At(to).out, 0,
          std::span(result).subspan(static_cast<std::size_t>(from), At(to).out.size()));
    }
  }

  std::span<const LocalMember> members_;
  std::vector<Bytes> inputs_;
};

}  // namespace

void MoveLocally(std::span<const LocalMember> members) { Movement(members).Run(); }

}  // namespace reprise
