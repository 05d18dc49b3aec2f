#include "converters/share/anonymize/anonymizer.h"
#include "et_schema/node_fields.h"
#include "et_schema/storage_fields.h"

// Fields that a policy cannot drop are taken too: what is counted is the whole trace.

namespace reprise {

Node Anonymizer::Apply(const Node& node) {
  Node out;
  Take(Field::kId);
  out.id = *renaming_.NewId(node.id);
  Keep(Field::kType);
  out.type = node.type;
  const Action name = Take(Field::kName);
  const bool kernel = node.device_work || node.actor.kind == Actor::Kind::kStream;
  out.name = name == Action::kKeep  ? node.name
             : name != Action::kMap ? ClassOf(node)
             : kernel               ? MappedKernel(node.name)
                                    : MappedName(node.name);
  Who(node, out);
  Edges(node, out);
  Times(node, out);
  ForEachMember(kNodeFields, [&](const auto& row) { Share(row, node, out, &node); });
  // Counted operations would give rounded sizes away.
  if (Keep(Field::kNumOps, node.num_ops >= 0) && setting_.sizes.Exact()) {
    out.num_ops = node.num_ops;
  }
  out.inputs = Arguments(node.inputs, false);
  out.outputs = Arguments(node.outputs, true);
  if (node.device_work) {
    out.device_work = Device(node);
  }
  if (node.comm) {
    out.comm = Comm(node);
  }
  if (node.storage) {
    out.storage = Storage(*node.storage);
  }
  return out;
}

void Anonymizer::Who(const Node& in, Node& out) {
  Keep(Field::kActor);
  out.actor.kind = in.actor.kind;
  switch (in.actor.kind) {
    case Actor::Kind::kThread:
      out.actor.id =
          Take(Field::kTid) == Action::kKeep ? in.actor.id : renaming_.threads.Of(in.actor.id) + 1;
      break;
    case Actor::Kind::kStream:
      out.actor.id =
          Take(Field::kStream) == Action::kKeep ? in.actor.id : renaming_.streams.Of(in.actor.id);
      out.actor.device = Take(Field::kDevice) == Action::kKeep
                             ? in.actor.device
                             : static_cast<std::int32_t>(renaming_.devices.Of(in.actor.device));
      break;
    case Actor::Kind::kGroup:
      break;  // its id says nothing
  }
}

void Anonymizer::Edges(const Node& in, Node& out) {
  for (const Dependency& dep : in.deps) {
    if (!Keep(Field::kDataDeps)) {
      continue;
    }
    Dependency to{.node_id = renaming_.NewId(dep.node_id).value_or(renaming_.nodes)};
    if (Keep(Field::kDepReasons)) {
      to.reason = dep.reason;
      to.inferred = dep.inferred;
    }
    out.deps.push_back(to);
  }
}

void Anonymizer::Times(const Node& in, Node& out) {
  const TimeMap& times = setting_.times;
  Keep(Field::kStartNs);
  Keep(Field::kDurationNs);
  const std::int64_t end_ns = in.start_ns + in.duration_ns;
  out.start_ns = times.At(in.start_ns);
  out.duration_ns = times.At(end_ns) - out.start_ns;
  if (Keep(Field::kDelayNs)) {
    // A node whose edges went waits for nothing but its start.
    out.delay_ns = out.deps.empty() && !in.deps.empty()
                       ? out.start_ns
                       : out.start_ns - times.At(in.start_ns - in.delay_ns);
  }
}

DeviceWork Anonymizer::Device(const Node& node) {
  const DeviceWork& in = *node.device_work;
  DeviceWork out;
  ForEachMember(kDeviceFields, [&](const auto& row) { Share(row, in, out, &node); });
  if (in.correlation >= 0) {
    const Action action = Take(Field::kCorrelation);
    out.correlation = action == Action::kKeep  ? in.correlation
                      : action == Action::kMap ? renaming_.correlations.Of(in.correlation)
                                               : -1;
  }
  return out;
}

// Pages and sectors would give rounded bytes away.
StorageWork Anonymizer::Storage(const StorageWork& in) {
  StorageWork out;
  if (!Keep(Field::kStorageOp)) {
    return out;
  }
  out.level = in.level;
  VisitDetail(in, [&]<typename Operation>(const Operation& detail) {
    auto& to = out.detail.template emplace<std::remove_const_t<Operation>>();
    ForEachStorageField<std::remove_const_t<Operation>>([&]<typename Row>(const Row& row) {
      const auto& value = row.Of(detail);
      const bool present = value != typename Row::Value{};
      const bool kept = row.shared == Field::kStorageOp ||
                        (Keep(row.shared, present) &&
                         (row.shared != Field::kStorageBytes || setting_.sizes.Exact()));
      if (kept) {
        row.Of(to) = value;
      } else if constexpr (std::is_same_v<Row, StorageField<&FileOperation::size_bytes>>) {
        if (present && setting_.policy.Of(row.shared) == Action::kKeep) {
          row.Of(to) = static_cast<std::uint64_t>(
              setting_.sizes.At(std::max<std::int64_t>(OperationBytes(in), 0)));
        }
      }
    });
  });
  return out;
}

CommSpec Anonymizer::Comm(const Node& node) {
  const CommSpec& in = *node.comm;
  CommSpec out;
  ForEachMember(kTransferFields, [&](const auto& row) { Share(row, in, out, &node); });
  out.group = Take(Field::kPgName) == Action::kKeep ? in.group : MappedGroup(in.group);
  out.bytes_known = in.bytes_known && setting_.policy.Of(Field::kCommBytes) == Action::kKeep;
  Keep(Field::kCommBytes);
  Keep(Field::kCommSplits, !in.in_splits.empty() || !in.out_splits.empty());
  setting_.sizes.Apply(out);
  return out;
}

}  // namespace reprise
