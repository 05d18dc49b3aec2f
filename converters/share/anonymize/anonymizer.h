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

  // A field of fields.def by what its row says; what Kept::kOwn is, others do. `node` is where the
  // field stands, or nullptr: in the header.
  template <Kept kKept, typename T>
  void Share(Field field, Written written, const T& in, const std::type_identity_t<T>& absent,
             T& out, const Node* node);
  void Who(const Node& in, Node& out);
  void Edges(const Node& in, Node& out);
  void Times(const Node& in, Node& out);
  [[nodiscard]] DeviceWork Device(const Node& node);
  [[nodiscard]] CommSpec Comm(const Node& node);
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

template <Kept kKept, typename T>
void Anonymizer::Share(Field field, Written written, const T& in,
                       const std::type_identity_t<T>& absent, T& out, const Node* node) {
  // The default of a time or a size says that there is none.
  const bool present = in != absent || (written.always && kKept == Kept::kPlain);
  if (kKept == Kept::kOwn || !present) {
    return;
  }
  const Action action = Take(field);
  const TimeMap& times = setting_.times;
  if constexpr (kKept == Kept::kName) {
    out = action == Action::kKeep      ? in
          : action == Action::kMap     ? MappedName(in)
          : action == Action::kCoarsen ? ClassOf(*node)
                                       : absent;
  } else if (action == Action::kKeep) {
    if constexpr (kKept == Kept::kPlain) {
      out = in;
    } else if constexpr (kKept == Kept::kSize) {
      out = setting_.sizes.At(in);
    } else if constexpr (kKept == Kept::kTime) {
      out = times.At(in);
    } else if constexpr (kKept == Kept::kUntilEnd) {
      const std::int64_t end_ns = node->start_ns + node->duration_ns;
      out = times.At(end_ns) - times.At(end_ns - in);
    } else if constexpr (kKept == Kept::kUntilStart) {
      out = times.At(node->start_ns) - times.At(node->start_ns - in);
    }
  }
}

}  // namespace reprise
