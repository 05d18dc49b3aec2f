// One rank's trace under a policy: header and nodes, field by field. What is not copied here is not
// in the result.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "converters/share/anonymize/coarsening.h"
#include "converters/share/anonymize/keyed_hash.h"
#include "converters/share/anonymize/policy.h"
#include "converters/share/anonymize/renaming.h"
#include "converters/share/anonymize/vocabulary.h"
#include "et_schema/node.h"

namespace reprise {

// What all ranks of a set share. Read only while ranks are at work.
struct AnonymizerSetting {
  Policy policy;
  Vocabulary vocabulary;
  KeyedHash hash;
  TimeMap times;
  SizeMap sizes;
  std::map<std::string, std::string> groups;  // old → new id
  std::map<std::string, std::string> hosts;   // likewise
  std::int64_t origin_ns = 0;                 // the earliest base of the set on rank 0's clock
};

// How often each field was kept, mapped, coarsened, dropped (where it had a value at all).
struct FieldTally {
  std::array<std::array<std::uint64_t, kActionCount>, kFieldCount> counts{};
  void Add(const FieldTally& other);
  void Count(Field field, Action action) {
    ++counts[static_cast<std::size_t>(field)][static_cast<std::size_t>(action)];
  }
  // The policy's action for a field that has a value. Counts it.
  Action Take(const Policy& policy, Field field) {
    Count(field, policy.Of(field));
    return policy.Of(field);
  }
  [[nodiscard]] std::uint64_t Of(Field field, Action action) const {
    return counts[static_cast<std::size_t>(field)][static_cast<std::size_t>(action)];
  }
};

// Not thread-safe: one per rank and thread.
class Anonymizer {
 public:
  // Both must outlive this.
  Anonymizer(const AnonymizerSetting& setting, const RankRenaming& renaming)
      : setting_(setting), renaming_(renaming) {}
  [[nodiscard]] TraceMetadata Header();
  // A node of the file that `renaming` was read from.
  [[nodiscard]] Node Apply(const Node& node);
  [[nodiscard]] const FieldTally& tally() const { return tally_; }

 private:
  Action Take(Field field) { return tally_.Take(setting_.policy, field); }
  // Whether to copy it as it is.
  bool Keep(Field field, bool present = true) { return present && Take(field) == Action::kKeep; }

  [[nodiscard]] std::string HeaderText(Field field, const std::string& text);
  void Clock(const TraceMetadata& in, TraceMetadata& out);
  void Placement(const RankPlacement& in, RankPlacement& out);
  void Steps(const TraceMetadata& in, TraceMetadata& out);
  void Ranges(const TraceMetadata& in, TraceMetadata& out);
  void IndexRanges(const TraceMetadata& in, TraceMetadata& out);
  void Samples(const TraceMetadata& in, TraceMetadata& out);

  // The member of a row by the row's rule; what Kept::kOwn is, others do. `node` is where the
  // member is, or nullptr: in the header.
  template <typename Row, typename Owner>
  void Share(const Row& row, const Owner& in, Owner& out, const Node* node);
  // A time or size that a policy keeps.
  [[nodiscard]] std::int64_t KeptNumber(Kept kept, std::int64_t value, const Node* node) const;
  void Who(const Node& in, Node& out);
  void Edges(const Node& in, Node& out);
  void Times(const Node& in, Node& out);
  [[nodiscard]] DeviceWork Device(const Node& node);
  [[nodiscard]] CommSpec Comm(const Node& node);
  [[nodiscard]] StorageWork Storage(const StorageWork& in);
  [[nodiscard]] ValueList Arguments(const ValueList& in, bool results);
  [[nodiscard]] Value Argument(const Value& in, bool results);
  [[nodiscard]] Value Tensor(const TensorDesc& in);
  [[nodiscard]] Value Text(const std::string& in);

  // What a name becomes that is coarsened: "gemm", "all_reduce".
  [[nodiscard]] static std::string ClassOf(const Node& node) {
    return std::string(node.comm ? Name(node.comm->kind) : Name(node.op_class));
  }
  // The name itself if it is public, else its hash.
  const std::string& MappedName(const std::string& name);
  const std::string& MappedKernel(const std::string& name);
  [[nodiscard]] std::string MappedDevice(const std::string& device);
  [[nodiscard]] std::string MappedGroup(const std::string& id) const;

  const AnonymizerSetting& setting_;
  const RankRenaming& renaming_;
  FieldTally tally_;
  std::unordered_map<std::string, std::string> names_, kernels_;
};

template <typename Row, typename Owner>
void Anonymizer::Share(const Row& row, const Owner& in, Owner& out, const Node* node) {
  using Value = typename Row::Value;
  const auto& [field, may, presets, kept] = row.sharing;
  const Value& value = row.Of(in);
  Value& shared = row.Of(out);
  const bool is_part = may.empty();  // what has the rule is counted
  // The default of a time or a size says that there is none.
  const bool present = !row.IsDefault(in) || (row.written.always && kept == Kept::kPlain);
  if (kept == Kept::kOwn || !present) {
    return;
  }
  const Action action = is_part ? setting_.policy.Of(field) : Take(field);
  if constexpr (std::is_same_v<Value, std::string>) {
    if (action == Action::kMap) {
      shared = MappedName(value);
    } else if (action == Action::kCoarsen) {
      shared = ClassOf(*node);
    }
  }
  if (action == Action::kKeep) {
    if constexpr (std::is_same_v<Value, std::int64_t>) {
      shared = KeptNumber(kept, value, node);
    } else {
      shared = value;
    }
  }
}

}  // namespace reprise
