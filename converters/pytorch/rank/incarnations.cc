#include "converters/pytorch/rank/incarnations.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "converters/pytorch/rank/sort_runs.h"

namespace reprise::pytorch {
namespace {

struct Storage {
  std::int64_t incarnation = -1;
  std::int64_t born_ns = 0;
  std::int64_t bytes = -1;   // -1: older than the trace, size unknown
  std::uint32_t dtypes = 0;  // bit per DType seen through it
  std::string device;
};

// By storage id. The host trace takes ids of nodes, tensors and storages from one counter: a table
// for those, and a hash map for what is far above (addresses, as older versions wrote them).
class Storages {
 public:
  explicit Storages(std::uint64_t highest_node_id)
      : table_ids_(std::min<std::uint64_t>(highest_node_id, kMaxInTable) + 1) {}

  // nullptr: not seen yet.
  [[nodiscard]] Storage* Find(std::int64_t id) {
    if (!InTable(id)) {
      const auto at = others_.find(id);
      return at == others_.end() ? nullptr : &storages_[at->second];
    }
    const auto i = static_cast<std::size_t>(id);
    return i >= table_.size() || table_[i] == kNone ? nullptr : &storages_[table_[i]];
  }

  void Set(std::int64_t id, Storage storage) {
    if (Storage* known = Find(id)) {
      *known = std::move(storage);
      return;
    }
    const auto place = static_cast<std::uint32_t>(storages_.size());
    storages_.push_back(std::move(storage));
    if (!InTable(id)) {
      others_.emplace(id, place);
      return;
    }
    const auto i = static_cast<std::size_t>(id);
    if (i >= table_.size()) {
      table_.resize(std::min<std::size_t>(table_ids_, std::max(i + 1, 2 * table_.size())), kNone);
    }
    table_[i] = place;
  }

 private:
  static constexpr std::uint64_t kMaxInTable = 1 << 24;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  [[nodiscard]] bool InTable(std::int64_t id) const {
    return static_cast<std::uint64_t>(id) < table_ids_;
  }

  std::size_t table_ids_;
  std::vector<std::uint32_t> table_;  // places in storages_
  std::unordered_map<std::int64_t, std::uint32_t> others_;
  std::deque<Storage> storages_;
};

struct Event {
  std::int64_t time_ns = 0;
  std::int32_t operation = 0;
  bool end = false;
};

std::uint32_t Bit(DType dtype) { return 1U << static_cast<unsigned>(dtype); }

std::int64_t BytesReached(const TensorDesc& tensor) {
  return (tensor.offset + ExtentElements(tensor)) * SizeOf(tensor.dtype);
}

template <typename Visit>
void ForEachTensor(ValueList& values, const Visit& visit) {
  for (Value& value : values) {
    if (TensorDesc* tensor = value.AsTensor()) {
      visit(*tensor);
    } else if (auto* list = value.AsList()) {
      ForEachTensor(*list, visit);
    }
  }
}

// Starts and ends of all operations by time; callers around what they call where times tie.
std::vector<Event> InOrder(const OperationList& list) {
  std::vector<Event> events;
  events.reserve(list.operations.size() * 2);
  std::vector<std::int32_t> open;
  const auto& ops = list.operations;
  for (const OperationThread& thread : list.threads) {
    for (std::int32_t i = thread.first; i < thread.last; ++i) {
      while (!open.empty() && ops[static_cast<std::size_t>(open.back())].subtree <= i) {
        events.push_back({ops[static_cast<std::size_t>(open.back())].end_ns, open.back(), true});
        open.pop_back();
      }
      events.push_back({ops[static_cast<std::size_t>(i)].start_ns, i, false});
      open.push_back(i);
    }
    while (!open.empty()) {
      events.push_back({ops[static_cast<std::size_t>(open.back())].end_ns, open.back(), true});
      open.pop_back();
    }
  }
  for (auto i = list.loose; i < static_cast<std::int32_t>(ops.size()); ++i) {
    events.push_back({ops[static_cast<std::size_t>(i)].start_ns, i, false});
  }
  SortRuns(events, [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
  return events;
}

class IncarnationAssigner {
 public:
  IncarnationAssigner(const std::string& label, std::uint64_t highest_node_id,
                      Diagnostics& diagnostics)
      : label_(label), diagnostics_(diagnostics), storages_(highest_node_id) {}

  [[nodiscard]] std::int64_t count() const { return next_; }

  // A tensor that was there before.
  void Resolve(TensorDesc& tensor, const std::string& user, bool inside_node) {
    if (tensor.storage_id == 0) {
      return;  // undefined tensor
    }
    const Storage* const known = storages_.Find(tensor.storage_id);
    if (known == nullptr) {
      Begin(tensor, 0, -1);
      return;
    }
    const Storage& storage = *known;
    const std::int64_t reached = BytesReached(tensor);
    const bool fits = storage.bytes < 0 || reached <= storage.bytes;
    const bool same_type =
        tensor.dtype == DType::kUnknown || (storage.dtypes & Bit(tensor.dtype)) != 0;
    if (IsNewNumber(tensor, storage)) {
      diagnostics_.Count("storage_id_reused");
      Begin(tensor, 0, BytesReached(tensor));
      return;
    }
    if (storage.device != tensor.device || !fits || !same_type) {
      // Inside mm and addmm, children see the result before the capture shows its allocation.
      if (!inside_node) {
        diagnostics_.Count("storage_contradiction",
                           fmt::format("{}: {} storage {}", label_, user, tensor.storage_id));
      }
      Begin(tensor, 0, -1);
      return;
    }
    tensor.incarnation = storage.incarnation;
  }

  void Begin(TensorDesc& tensor, std::int64_t born_ns, std::int64_t bytes) {
    storages_.Set(tensor.storage_id, {.incarnation = next_,
                                      .born_ns = born_ns,
                                      .bytes = bytes,
                                      .dtypes = Bit(tensor.dtype),
                                      .device = tensor.device});
    tensor.incarnation = next_++;
  }

  void Output(TensorDesc& tensor, const Operation& op, const ValueList& inputs, bool may_allocate) {
    if (tensor.storage_id == 0) {
      return;
    }
    if (tensor.shape.empty()) {
      scalars_.insert(tensor.tensor_id);
    }
    Storage* const known = storages_.Find(tensor.storage_id);
    if (known != nullptr && (Aliases(tensor, inputs) || known->born_ns >= op.start_ns)) {
      // An in-place result, a view, or what a called allocation returned; views may change type.
      known->dtypes |= Bit(tensor.dtype);
      if (known->bytes >= 0) {
        known->bytes = std::max(known->bytes, BytesReached(tensor));
      }
      tensor.incarnation = known->incarnation;
      return;
    }
    if (!may_allocate) {
      Resolve(tensor, *op.name, false);
      return;
    }
    if (known != nullptr) {
      diagnostics_.Count("storage_id_reused");
    }
    Begin(tensor, op.end_ns, BytesReached(tensor));
  }

 private:
  // A Python number that an operation took is wrapped into a tensor without a record of it, in
  // memory that may have been freed before. An element of a larger tensor is the result of a view,
  // which is recorded.
  bool IsNewNumber(const TensorDesc& tensor, const Storage& storage) {
    return tensor.shape.empty() && scalars_.insert(tensor.tensor_id).second && tensor.offset == 0 &&
           storage.bytes > SizeOf(tensor.dtype);
  }

  static bool Aliases(const TensorDesc& tensor, const ValueList& inputs) {
    return std::any_of(inputs.begin(), inputs.end(), [&](const Value& value) {
      const TensorDesc* input = value.AsTensor();
      const ValueList* list = value.AsList();
      return input != nullptr ? input->storage_id == tensor.storage_id
                              : list != nullptr && Aliases(tensor, *list);
    });
  }

  const std::string& label_;
  Diagnostics& diagnostics_;
  Storages storages_;
  std::unordered_set<std::int64_t> scalars_;  // ids of tensors without dimensions seen so far
  std::int64_t next_ = 0;
};

// Frames only pass on what their children made; set_ hangs an existing storage into a tensor.
bool MayAllocate(const HostNode& node, Role role) {
  return role != Role::kFrame && role != Role::kCommCall && role != Role::kTransfer &&
         node.scope == Scope::kFunction && !node.op_schema->empty() && *node.name != "aten::set_";
}

}  // namespace

std::int64_t AssignIncarnations(const OperationList& list, const std::vector<Classified>& roles,
                                const std::string& label, HostTrace& host,
                                Diagnostics& diagnostics) {
  IncarnationAssigner assigner(label, host.highest_id, diagnostics);
  for (const Event& event : InOrder(list)) {
    const auto i = static_cast<std::size_t>(event.operation);
    const Operation& op = list.operations[i];
    if (op.host < 0 || roles[i].subclass) {
      continue;
    }
    HostNode& node = host.nodes[static_cast<std::size_t>(op.host)];
    const bool part = roles[i].role == Role::kPart;
    if (!event.end) {
      ForEachTensor(node.inputs,
                    [&](TensorDesc& tensor) { assigner.Resolve(tensor, *node.name, part); });
    } else {
      const bool may_allocate = MayAllocate(node, roles[i].role);
      ForEachTensor(node.outputs, [&](TensorDesc& tensor) {
        assigner.Output(tensor, op, node.inputs, may_allocate);
      });
    }
  }
  return assigner.count();
}

}  // namespace reprise::pytorch
