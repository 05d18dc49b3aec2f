#include "converters/share/anonymize/set_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "converters/share/anonymize/coarsening.h"
#include "et_schema/node_fields.h"

namespace reprise {
namespace {

using Index = Graph::Index;
constexpr std::string_view kKeptByAllPresets = "kkk";
using DifferenceFound = std::optional<std::string>;

bool SameValue(const Value& a, const Value& b, bool results, Renaming<std::int64_t>& incarnations);

bool SameTensor(const TensorDesc& a, const TensorDesc& b, Renaming<std::int64_t>& incarnations) {
  return a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides &&
         a.offset == b.offset && a.elements == b.elements && a.IsDefined() == b.IsDefined() &&
         (!a.IsDefined() || incarnations.Pair(a.incarnation, b.incarnation));
}

bool SameValues(const ValueList& a, const ValueList& b, bool results,
                Renaming<std::int64_t>& incarnations) {
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i) {
    same = SameValue(a[i], b[i], results, incarnations);
  }
  return same;
}

// Numbers that were read out of tensors may be gone, and other numbers coarse: no kernel moves
// other bytes for them.
bool SameValue(const Value& a, const Value& b, bool results, Renaming<std::int64_t>& incarnations) {
  if (const ValueList* list = a.AsList()) {
    return b.AsList() != nullptr && SameValues(*list, *b.AsList(), results, incarnations);
  }
  if (const TensorDesc* tensor = a.AsTensor()) {
    return b.AsTensor() != nullptr && SameTensor(*tensor, *b.AsTensor(), incarnations);
  }
  if (a.AsString() != nullptr) {
    return results || b.AsString() != nullptr;
  }
  if (const auto* number = std::get_if<double>(&a.data)) {
    const auto* other = std::get_if<double>(&b.data);
    return results || (other != nullptr && (*number == *other || CoarseNumber(*number) == *other ||
                                            (*number != *number && *other != *other)));
  }
  return results || a == b;
}

// Whether both have groups of the same ranks, under whatever names.
bool SameMembers(const TraceSet& a, const TraceSet& b) {
  if ((a.classes != nullptr) != (b.classes != nullptr)) {
    return false;
  }
  if (a.classes) {
    const std::size_t roles = a.classes->roles().size();
    bool same = roles == b.classes->roles().size();
    for (std::size_t role = 0; same && role < roles; ++role) {
      same = a.classes->GroupsOfRole(role) == b.classes->GroupsOfRole(role);
    }
    return same;
  }
  const auto all_ranks = [](const TraceSet& set) {
    std::multiset<std::vector<std::int32_t>> lists;
    for (const auto& [id, group] : set.groups) {
      lists.insert(group.ranks);
    }
    return lists;
  };
  return all_ranks(a) == all_ranks(b);
}

}  // namespace

class AnonymizedRank {
 public:
  AnonymizedRank(const Graph& a, const Graph& b, SetComparison& set) : a_(a), b_(b), set_(set) {}

  Result<DifferenceFound> Run() {
    if (a_.size() != b_.size()) {
      return DifferenceFound(
          fmt::format("rank {}: {} nodes became {}", a_.metadata().rank, a_.size(), b_.size()));
    }
    for (Index i = 0; i < a_.size(); ++i) {
      const char* what = Header(i);
      what = what != nullptr ? what : Edges(i);
      what = what != nullptr ? what : Transfer(i);
      if (what == nullptr) {
        REPRISE_ASSIGN(what, Arguments(i));
      }
      if (what != nullptr) {
        return DifferenceFound(fmt::format("rank {}: node {} ({}) and node {} differ in {}",
                                           a_.metadata().rank, a_.id(i), a_.name(i), b_.id(i),
                                           what));
      }
    }
    return a_.order().size() == b_.order().size() ? DifferenceFound()
                                                  : DifferenceFound("the order");
  }

 private:
  // What differs, or nullptr.
  const char* Header(Index i) {
    if (a_.type(i) != b_.type(i)) {
      return "type";
    }
    // What every preset keeps is what a replay goes by.
    const char* what = nullptr;
    ForEachMember(kNodeFieldsOf<Graph>, [&](const auto& row) {
      if (what == nullptr && row.sharing.presets == kKeptByAllPresets &&
          row.Of(a_, i) != row.Of(b_, i)) {
        what = row.name.data();
      }
    });
    if (what != nullptr) {
      return what;
    }
    if (a_.order()[i] != b_.order()[i]) {
      return "order";
    }
    const bool device = a_.device_work(i) != nullptr;
    if (device != (b_.device_work(i) != nullptr) ||
        (device && a_.device_work(i)->launch_recorded != b_.device_work(i)->launch_recorded)) {
      return "what the profiler says of a device node";
    }
    if ((a_.storage(i) != nullptr) != (b_.storage(i) != nullptr)) {
      return "what it does to storage";
    }
    // A kernel's name may have lost its template arguments: several become one.
    const bool named = device || a_.actor(i).kind == Actor::Kind::kStream ||
                       set_.names_.Pair(std::string(a_.name(i)), std::string(b_.name(i)));
    const bool op = set_.names_.Pair(std::string(a_.op(i)), std::string(b_.op(i)));
    return !named || !op ? "name: the renaming is not one to one" : Who(i);
  }

  const char* Who(Index i) {
    const Actor a = a_.actor(i);
    const Actor b = b_.actor(i);
    if (a.kind != b.kind) {
      return "kind of actor";
    }
    switch (a.kind) {
      case Actor::Kind::kThread:
        return threads_.Pair(a.id, b.id) ? nullptr : "thread";
      case Actor::Kind::kStream:
        return streams_.Pair(fmt::format("{}/{}", a.device, a.id),
                             fmt::format("{}/{}", b.device, b.id))
                   ? nullptr
                   : "stream";
      case Actor::Kind::kGroup:
        break;
    }
    return nullptr;
  }

  const char* Edges(Index i) const {
    const auto a = a_.deps(i);
    const auto b = b_.deps(i);
    if (a.size() != b.size()) {
      return "number of dependencies";
    }
    for (std::size_t d = 0; d < a.size(); ++d) {
      if (a[d] != b[d] || a_.reasons(i)[d] != b_.reasons(i)[d] ||
          a_.inferred(i, d) != b_.inferred(i, d)) {
        return "dependencies or their reasons";
      }
    }
    return nullptr;
  }

  const char* Transfer(Index i) {
    const CommSpec* a = a_.comm(i);
    const CommSpec* b = b_.comm(i);
    if (a == nullptr || b == nullptr) {
      return a == b ? nullptr : "being a transfer";
    }
    if (!set_.SameGroup(a->group, b->group)) {
      return "process group";
    }
    CommSpec renamed = *a;
    renamed.group = b->group;
    renamed.sequence = b->sequence;  // the capture's own number: nothing goes by it
    return renamed == *b ? nullptr : "kind, bytes, splits, root, peer or place of a transfer";
  }

  Result<const char*> Arguments(Index i) {
    REPRISE_ASSIGN(const Node a, a_.Decode(i));
    REPRISE_ASSIGN(const Node b, b_.Decode(i));
    return SameValues(a.inputs, b.inputs, false, incarnations_) &&
                   SameValues(a.outputs, b.outputs, true, incarnations_)
               ? nullptr
               : "arguments";
  }

  const Graph& a_;
  const Graph& b_;
  SetComparison& set_;  // what all ranks share
  Renaming<std::int64_t> threads_, incarnations_;
  Renaming<std::string> streams_;
};

std::optional<std::string> SetComparison::Groups(const TraceSet& a, const TraceSet& b) {
  if (a.world_size != b.world_size || a.missing != b.missing) {
    return fmt::format("{} ranks ({} missing) became {} ({} missing)", a.world_size,
                       a.missing.size(), b.world_size, b.missing.size());
  }
  if (!SameMembers(a, b)) {
    return "the process groups have other members, or are others in number";
  }
  const auto class_ranks = [](const TraceSet& set) {
    std::vector<std::vector<RankRange>> ranks;
    for (const RankClass& one : set.classes ? set.classes->classes() : std::vector<RankClass>{}) {
      ranks.push_back(one.ranks);
    }
    return ranks;
  };
  if (class_ranks(a) != class_ranks(b)) {
    return "the files stand for other ranks";
  }
  a_ = &a;
  b_ = &b;
  return std::nullopt;
}

bool SetComparison::SameGroup(const std::string& a, const std::string& b) {
  const auto [pair, added] = same_groups_.try_emplace({a, b}, false);
  if (added) {
    const std::optional<ProcessGroup> group_a = a_->FindGroup(a);
    const std::optional<ProcessGroup> group_b = b_->FindGroup(b);
    pair->second = group_a.has_value() == group_b.has_value() &&
                   (!group_a || group_a->ranks == group_b->ranks);
  }
  return pair->second && group_ids_.Pair(a, b);
}

std::optional<std::string> SetComparison::Headers(const TraceMetadata& a, const TraceMetadata& b) {
  const std::int64_t shift_ns = (a.base_ns + a.clock_offset_ns) - (b.base_ns + b.clock_offset_ns);
  if (shift_ns_.value_or(shift_ns) != shift_ns || a.clock_drift != b.clock_drift) {
    return fmt::format("rank {}: its clock moved against the other ranks'", a.rank);
  }
  shift_ns_ = shift_ns;
  const bool same_steps = std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(),
                                     [this](const Step& x, const Step& y) {
                                       return x.start_ns == y.start_ns &&
                                              x.duration_ns == y.duration_ns &&
                                              names_.Pair(x.name, y.name);
                                     });
  return same_steps && a.untraced_step_ns == b.untraced_step_ns &&
                 a.untraced_page_faults == b.untraced_page_faults && a.rank == b.rank &&
                 a.world_size == b.world_size
             ? std::nullopt
             : std::optional(fmt::format("rank {}: steps, rank or world size differ", a.rank));
}

Result<std::optional<std::string>> SetComparison::Rank(const Graph& a, const Graph& b) {
  if (auto difference = Headers(a.metadata(), b.metadata())) {
    return difference;
  }
  return AnonymizedRank(a, b, *this).Run();
}

}  // namespace reprise
