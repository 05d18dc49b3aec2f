// The incarnation of each tensor's storage.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <unordered_set>
#include <vector>

#include "converters/pytorch/host/id_index.h"
#include "converters/pytorch/rank/sort_runs.h"
#include "converters/pytorch/rank/stages.h"
#include "converters/tensors_in.h"

namespace reprise::pytorch {
namespace {

struct Storage {
  std::int64_t incarnation = -1;
  std::int64_t born_ns = 0;
  std::int64_t bytes = -1;   // -1: older than the trace, size unknown
  std::uint32_t dtypes = 0;  // bit per DType seen through it
  std::string device;
};

// By storage id.
class Storages {
 public:
  explicit Storages(const HostTrace& host) : places_(host.highest_id, host.nodes.size()) {}

  // nullptr: not seen yet.
  [[nodiscard]] Storage* Find(std::int64_t id) {
    const std::int32_t place = places_.Find(static_cast<std::uint64_t>(id));
    return place == IdIndex::kNone ? nullptr : &storages_[static_cast<std::size_t>(place)];
  }

  void Set(std::int64_t id, Storage storage) {
    if (places_.Insert(static_cast<std::uint64_t>(id),
                       static_cast<std::int32_t>(storages_.size()))) {
      storages_.push_back(std::move(storage));
    } else {
      *Find(id) = std::move(storage);
    }
  }

 private:
  IdIndex places_;  // in storages_
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

// Starts and ends of all operations by time; callers around what they call where times tie.
std::vector<Event> InOrder(const OperationList& list) {
  std::vector<Event> events;
  events.reserve(list.operations.size() * 2);
  std::vector<std::int32_t> open;
  const auto close = [&] {
    events.push_back({list.Op(open.back()).end_ns, open.back(), true});
    open.pop_back();
  };
  for (const OperationThread& thread : list.threads) {
    for (std::int32_t i = thread.first; i < thread.last; ++i) {
      while (!open.empty() && list.Op(open.back()).subtree <= i) {
        close();
      }
      events.push_back({list.Op(i).start_ns, i, false});
      open.push_back(i);
    }
    while (!open.empty()) {
      close();
    }
  }
  for (auto i = list.loose; i < static_cast<std::int32_t>(list.operations.size()); ++i) {
    events.push_back({list.Op(i).start_ns, i, false});
  }
  SortRuns(events, [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
  return events;
}

class IncarnationAssigner {
 public:
  explicit IncarnationAssigner(RankCapture& rank)
      : label_(rank.label), diagnostics_(rank.diagnostics), storages_(rank.host) {}

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

void AssignIncarnations(RankCapture& rank) {
  IncarnationAssigner assigner(rank);
  for (const Event& event : InOrder(rank.list)) {
    HostNode* const node = rank.HostOf(event.operation);
    if (node == nullptr || rank.roles[static_cast<std::size_t>(event.operation)].subclass) {
      continue;
    }
    const Role role = rank.RoleOf(event.operation);
    if (!event.end) {
      ForEachTensor(node->inputs, [&](TensorDesc& tensor) {
        assigner.Resolve(tensor, *node->name, role == Role::kPart);
      });
    } else {
      const bool may_allocate = MayAllocate(*node, role);
      ForEachTensor(node->outputs, [&](TensorDesc& tensor) {
        assigner.Output(tensor, rank.Op(event.operation), node->inputs, may_allocate);
      });
    }
  }
}

}  // namespace reprise::pytorch
