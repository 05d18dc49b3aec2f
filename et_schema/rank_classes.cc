#include "et_schema/rank_classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <numeric>
#include <set>

#include "core/input_file.h"
#include "core/text.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kNoClass = ~std::uint32_t{0};

// More axes than a job of 2^62 ranks can have.
constexpr std::size_t kMaxAxes = 62;

bool Varies(const GroupRole& role, std::size_t axis) {
  return std::find(role.axes.begin(), role.axes.end(), axis) != role.axes.end();
}

// Of a group by rule: how many places it has on one of its axes, and the n-th of them.
std::int64_t PlacesOn(const GroupRole& role, std::size_t axis) {
  return role.at.empty() ? role.mesh[axis] : static_cast<std::int64_t>(role.at.size());
}
std::int64_t PlaceOn(const GroupRole& role, std::int64_t n) {
  return role.at.empty() ? n : role.at[static_cast<std::size_t>(n)];
}

constexpr const char* kAllRanksGroup = "0";

ProcessGroup AllRanks(std::int32_t world_size) {
  ProcessGroup all{.id = kAllRanksGroup, .description = "default_pg"};
  all.ranks.resize(static_cast<std::size_t>(world_size));
  std::iota(all.ranks.begin(), all.ranks.end(), 0);
  return all;
}

std::int64_t SizeOf(const std::vector<RankRange>& ranges) {
  return std::accumulate(
      ranges.begin(), ranges.end(), std::int64_t{0},
      [](std::int64_t sum, const RankRange& range) { return sum + range.size(); });
}

Status CheckMesh(const GroupRole& role, std::int32_t world_size) {
  if (role.mesh.size() > kMaxAxes) {
    return BadInput(fmt::format("groups \"{}\": a mesh of {} axes; expected at most {}", role.role,
                                role.mesh.size(), kMaxAxes));
  }
  std::int64_t ranks = 1;
  for (const std::int64_t size : role.mesh) {
    if (size < 1 || size > world_size) {
      return BadInput(fmt::format("groups \"{}\": the mesh has a side of {}", role.role, size));
    }
    ranks *= size;
    if (ranks > world_size) {
      break;
    }
  }
  if (ranks != world_size) {
    return BadInput(fmt::format("groups \"{}\": the mesh [{}] does not have {} ranks", role.role,
                                fmt::join(role.mesh, ", "), world_size));
  }
  std::vector<std::size_t> axes = role.axes;
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end() ||
      (!axes.empty() && axes.back() >= role.mesh.size())) {
    return BadInput(fmt::format("groups \"{}\": axes [{}] of a mesh of {} axes", role.role,
                                fmt::join(role.axes, ", "), role.mesh.size()));
  }
  if (!role.at.empty()) {
    const bool fits = role.axes.size() == 1 && role.at.front() >= 0 &&
                      role.at.back() < role.mesh[role.axes[0]] &&
                      std::ranges::adjacent_find(role.at, std::greater_equal<>()) == role.at.end();
    if (!fits) {
      return BadInput(
          fmt::format("groups \"{}\": \"at\" takes places of one axis, ascending, not {} as given",
                      role.role, role.at.size()));
    }
  }
  return {};
}

}  // namespace

std::vector<RankRange> RangesOf(const std::vector<std::int32_t>& ranks) {
  std::vector<RankRange> ranges;
  for (std::size_t i = 0; i < ranks.size();) {
    RankRange range{ranks[i], ranks[i], 1};
    std::size_t next = i + 1;
    if (next < ranks.size() && ranks[next] > ranks[i]) {
      range.stride = ranks[next] - ranks[i];
      while (next < ranks.size() && ranks[next] - ranks[next - 1] == range.stride) {
        range.last = ranks[next++];
      }
      // Two ranks make no pattern unless they are all, or neighbours.
      if (next - i == 2 && range.stride > 1 && next < ranks.size()) {
        range = {ranks[i], ranks[i], 1};
        next = i + 1;
      }
    }
    ranges.push_back(range);
    i = next;
  }
  return ranges;
}

Result<RankClasses> RankClasses::Create(std::int32_t world_size, std::vector<RankClass> classes,
                                        std::vector<GroupRole> roles) {
  RankClasses out;
  out.world_size_ = world_size;
  out.classes_ = std::move(classes);
  out.roles_ = std::move(roles);
  REPRISE_TRY(out.Index());
  return out;
}

Status RankClasses::CheckCounts() const {
  if (world_size_ < 1) {
    return BadInput(fmt::format("\"world_size\" is {}", world_size_));
  }
  const InputLimits& limits = CurrentInputLimits();
  if (static_cast<std::uint64_t>(world_size_) > limits.ranks) {
    return OverLimit("\"world_size\"", fmt::format("{} ranks", world_size_), "ranks");
  }
  if (roles_.size() > limits.roles) {
    return OverLimit("\"groups\"", fmt::format("{} roles of groups", roles_.size()), "roles");
  }
  std::set<std::string_view> files;
  for (const RankClass& one : classes_) {
    if (one.ranks.empty()) {
      return BadInput(fmt::format("class of {}: no ranks", one.file));
    }
    if (!files.insert(one.file).second) {
      return BadInput(fmt::format("two classes have the file {}", one.file));
    }
  }
  return {};
}

Status RankClasses::Index() {
  REPRISE_TRY(CheckCounts());
  class_of_.assign(static_cast<std::size_t>(world_size_), kNoClass);
  const auto in_world = [this](const RankRange& range) {
    return range.first >= 0 && range.last >= range.first && range.last < world_size_ &&
           range.stride >= 1;
  };
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    for (const RankRange& range : classes_[c].ranks) {
      if (!in_world(range)) {
        return BadInput(fmt::format("class {}: ranks {}-{}:{} of a world of {}", c, range.first,
                                    range.last, range.stride, world_size_));
      }
      for (std::int64_t rank = range.first; rank <= range.last; rank += range.stride) {
        if (class_of_[rank] != kNoClass) {
          return BadInput(
              fmt::format("rank {} is in two classes, {} and {}", rank, class_of_[rank], c));
        }
        class_of_[rank] = static_cast<std::uint32_t>(c);
      }
    }
  }
  if (const auto none = std::find(class_of_.begin(), class_of_.end(), kNoClass);
      none != class_of_.end()) {
    return BadInput(fmt::format("rank {} is in no class", none - class_of_.begin()));
  }
  std::int64_t next_id = 1;
  for (const GroupRole& role : roles_) {
    RoleIndex index{.first_id = next_id};
    if (!role.mesh.empty()) {
      REPRISE_TRY(CheckMesh(role, world_size_));
      index.groups = 1;
      for (std::size_t axis = 0; axis < role.mesh.size(); ++axis) {
        index.groups *= Varies(role, axis) ? 1 : role.mesh[axis];
      }
      index.varies.resize(role.mesh.size());
      for (const std::size_t axis : role.axes) {
        index.varies[axis] = true;
      }
    } else {
      index.groups = static_cast<std::int64_t>(role.lists.size());
      index.by_rank.assign(static_cast<std::size_t>(world_size_), -1);
      for (std::size_t g = 0; g < role.lists.size(); ++g) {
        for (const RankRange& range : role.lists[g]) {
          if (!in_world(range)) {
            return BadInput(fmt::format("groups \"{}\": ranks {}-{}:{} of a world of {}", role.role,
                                        range.first, range.last, range.stride, world_size_));
          }
          for (std::int64_t rank = range.first; rank <= range.last; rank += range.stride) {
            if (index.by_rank[rank] >= 0) {
              return BadInput(
                  fmt::format("groups \"{}\": rank {} is in two groups", role.role, rank));
            }
            index.by_rank[rank] = static_cast<std::int32_t>(g);
          }
        }
      }
    }
    next_id += index.groups;
    index_.push_back(std::move(index));
  }
  return {};
}

const RankClass& RankClasses::ClassOf(std::int32_t rank) const {
  return classes_[class_of_.at(static_cast<std::size_t>(rank))];
}

std::string RankClasses::SetName() const {
  const std::string& file = classes_.front().file;
  return file.substr(0, file.rfind(".class"));
}

std::int64_t RankClasses::GroupNumber(std::size_t at, std::int32_t rank) const {
  const GroupRole& role = roles_[at];
  if (role.mesh.empty()) {
    return index_[at].by_rank[static_cast<std::size_t>(rank)];
  }
  std::int64_t number = 0;
  std::int64_t scale = 1;
  std::int64_t rest = rank;
  for (std::size_t axis = 0; axis < role.mesh.size(); ++axis) {
    const std::int64_t place = rest % role.mesh[axis];
    rest /= role.mesh[axis];
    if (!index_[at].varies[axis]) {
      number += place * scale;
      scale *= role.mesh[axis];
    } else if (!role.at.empty() && !std::ranges::binary_search(role.at, place)) {
      return -1;
    }
  }
  return number;
}

std::int64_t RankClasses::GroupSize(std::size_t at, std::int64_t group) const {
  const GroupRole& role = roles_[at];
  if (role.mesh.empty()) {
    return SizeOf(role.lists[static_cast<std::size_t>(group)]);
  }
  std::int64_t size = 1;
  for (const std::size_t axis : role.axes) {
    size *= PlacesOn(role, axis);
  }
  return size;
}

std::int32_t RankClasses::MemberAt(std::size_t at, std::int64_t group,
                                   std::int64_t position) const {
  const GroupRole& role = roles_[at];
  if (role.mesh.empty()) {
    for (const RankRange& range : role.lists[static_cast<std::size_t>(group)]) {
      if (position < range.size()) {
        return static_cast<std::int32_t>(range.first + position * range.stride);
      }
      position -= range.size();
    }
    return -1;
  }
  std::int64_t member = 0;
  std::int64_t step = 1;
  std::vector<std::int64_t> steps;  // of a rank along each axis
  for (std::size_t axis = 0; axis < role.mesh.size(); ++axis) {
    steps.push_back(step);
    if (!index_[at].varies[axis]) {
      member += group % role.mesh[axis] * step;
      group /= role.mesh[axis];
    }
    step *= role.mesh[axis];
  }
  for (const std::size_t axis : role.axes) {  // the first is the fastest
    member += PlaceOn(role, position % PlacesOn(role, axis)) * steps[axis];
    position /= PlacesOn(role, axis);
  }
  return static_cast<std::int32_t>(member);
}

std::int64_t RankClasses::PositionIn(std::size_t at, std::int64_t group,
                                     std::int32_t member) const {
  if (member >= world_size_ || GroupNumber(at, member) != group) {
    return -1;
  }
  const GroupRole& role = roles_[at];
  if (role.mesh.empty()) {
    std::int64_t before = 0;
    for (const RankRange& range : role.lists[static_cast<std::size_t>(group)]) {
      if (range.Holds(member)) {
        return before + (member - range.first) / range.stride;
      }
      before += range.size();
    }
    return -1;
  }
  std::int64_t position = 0;
  std::int64_t scale = 1;
  for (const std::size_t axis : role.axes) {
    std::int64_t place = member;
    for (std::size_t below = 0; below < axis; ++below) {
      place /= role.mesh[below];
    }
    place %= role.mesh[axis];
    position +=
        scale *
        (role.at.empty() ? place : std::ranges::lower_bound(role.at, place) - role.at.begin());
    scale *= PlacesOn(role, axis);
  }
  return position;
}

std::vector<std::int32_t> RankClasses::Members(std::size_t at, std::int64_t group) const {
  const GroupRole& role = roles_[at];
  std::vector<std::int32_t> members;
  members.reserve(static_cast<std::size_t>(GroupSize(at, group)));
  if (role.mesh.empty()) {
    for (const RankRange& range : role.lists[static_cast<std::size_t>(group)]) {
      for (std::int64_t rank = range.first; rank <= range.last; rank += range.stride) {
        members.push_back(static_cast<std::int32_t>(rank));
      }
    }
    return members;
  }
  members.push_back(MemberAt(at, group, 0));
  std::int64_t step = 1;
  std::vector<std::int64_t> steps;  // of a rank along each axis
  for (const std::int64_t size : role.mesh) {
    steps.push_back(step);
    step *= size;
  }
  for (const std::size_t axis : role.axes) {  // each is slower than those before it
    const std::size_t known = members.size();
    for (std::int64_t n = 1; n < PlacesOn(role, axis); ++n) {
      const std::int64_t further = (PlaceOn(role, n) - PlaceOn(role, 0)) * steps[axis];
      for (std::size_t i = 0; i < known; ++i) {
        members.push_back(static_cast<std::int32_t>(members[i] + further));
      }
    }
  }
  return members;
}

std::map<std::string, ProcessGroup> RankClasses::Groups() const {
  std::map<std::string, ProcessGroup> groups;
  groups[kAllRanksGroup] = AllRanks(world_size_);
  for (std::size_t role = 0; role < roles_.size(); ++role) {
    for (std::int64_t group = 0; group < index_[role].groups; ++group) {
      ProcessGroup next = GroupAt(role, group);
      groups[next.id] = std::move(next);
    }
  }
  return groups;
}

std::optional<std::size_t> RankClasses::RoleNumberOf(std::string_view group_id) const {
  const std::int64_t id = ParseNumber<std::int64_t>(group_id).value_or(-1);  // none's
  for (std::size_t role = 0; role < roles_.size(); ++role) {
    if (id >= index_[role].first_id && id < index_[role].first_id + index_[role].groups) {
      return role;
    }
  }
  return std::nullopt;
}

std::string_view RankClasses::RoleOf(std::string_view group_id) const {
  const std::optional<std::size_t> role = RoleNumberOf(group_id);
  return role ? std::string_view(roles_[*role].role) : std::string_view();
}

ProcessGroup RankClasses::GroupAt(std::size_t role, std::int64_t group) const {
  return {std::to_string(index_[role].first_id + group), roles_[role].description,
          Members(role, group)};
}

std::optional<std::size_t> RankClasses::RoleNamed(std::string_view name) const {
  const auto at = std::ranges::find(roles_, name, &GroupRole::role);
  return at == roles_.end() ? std::nullopt
                            : std::optional(static_cast<std::size_t>(at - roles_.begin()));
}

std::map<std::string, ProcessGroup> RankClasses::GroupsOf(
    const std::vector<std::int32_t>& ranks) const {
  std::map<std::string, ProcessGroup> groups;
  groups[kAllRanksGroup] = AllRanks(world_size_);
  for (std::size_t role = 0; role < roles_.size(); ++role) {
    std::set<std::int64_t> known;
    for (const std::int32_t rank : ranks) {
      if (const std::int64_t group = GroupNumber(role, rank);
          group >= 0 && known.insert(group).second) {
        ProcessGroup next = GroupAt(role, group);
        groups[next.id] = std::move(next);
      }
    }
  }
  return groups;
}

std::optional<ProcessGroup> RankClasses::GroupById(std::string_view id) const {
  if (id == kAllRanksGroup) {
    return AllRanks(world_size_);
  }
  const std::optional<std::size_t> role = RoleNumberOf(id);
  return role ? std::optional(
                    GroupAt(*role, *ParseNumber<std::int64_t>(id) - index_[*role].first_id))
              : std::nullopt;
}

std::optional<ProcessGroup> RankClasses::GroupOf(std::string_view role, std::int32_t rank) const {
  const std::optional<std::size_t> at = RoleNamed(role);
  const std::int64_t group = at ? GroupNumber(*at, rank) : -1;
  return group < 0 ? std::nullopt : std::optional(GroupAt(*at, group));
}

Status RankClasses::Resolve(std::int32_t rank, CommSpec& spec) const {
  const std::optional<std::size_t> role = RoleNamed(spec.group);
  const std::int64_t group = role ? GroupNumber(*role, rank) : -1;
  if (group < 0) {
    return BadInput(fmt::format("{} in group \"{}\", but {} has no such group of rank {}",
                                Name(spec.kind), spec.group, kRanksFile, rank));
  }
  const std::int64_t size = GroupSize(*role, group);
  for (std::int32_t* const position : {&spec.peer, &spec.root}) {
    if (*position < 0) {
      continue;
    }
    if (*position >= size) {
      return BadInput(fmt::format("{} with position {} of group \"{}\", which has {} ranks",
                                  Name(spec.kind), *position, spec.group, size));
    }
    *position = MemberAt(*role, group, *position);
  }
  spec.group = std::to_string(index_[*role].first_id + group);
  return {};
}

Status RankClasses::Unresolve(std::int32_t rank, CommSpec& spec) const {
  const std::optional<std::size_t> role = RoleNumberOf(spec.group);
  const std::int64_t group = role ? GroupNumber(*role, rank) : -1;
  if (group < 0) {
    return BadInput(fmt::format("{}: a transfer of rank {} is in group {}, which has no role",
                                kRanksFile, rank, spec.group));
  }
  for (std::int32_t* const member : {&spec.peer, &spec.root}) {
    if (*member < 0) {
      continue;
    }
    const std::int64_t position = PositionIn(*role, group, *member);
    if (position < 0) {
      return BadInput(
          fmt::format("{}: a transfer of rank {} in group {} names rank {}, which is "
                      "no member",
                      kRanksFile, rank, spec.group, *member));
    }
    *member = static_cast<std::int32_t>(position);
  }
  spec.group = roles_[*role].role;
  return {};
}

std::vector<std::vector<std::int32_t>> RankClasses::GroupsOfRole(std::size_t role) const {
  std::vector<std::vector<std::int32_t>> groups;
  if (!roles_[role].mesh.empty()) {  // by rule, groups are in the order of their first ranks
    groups.reserve(static_cast<std::size_t>(index_[role].groups));
    for (std::int64_t group = 0; group < index_[role].groups; ++group) {
      groups.push_back(Members(role, group));
    }
    return groups;
  }
  std::vector<bool> seen(roles_[role].lists.size());
  for (const std::int32_t group : index_[role].by_rank) {
    if (group >= 0 && !seen[static_cast<std::size_t>(group)]) {
      seen[static_cast<std::size_t>(group)] = true;
      groups.push_back(Members(role, group));
    }
  }
  return groups;
}

RoleMembers RankClasses::MembersByRole() const {
  RoleMembers groups;
  for (std::size_t role = 0; role < roles_.size(); ++role) {
    groups[roles_[role].role] = GroupsOfRole(role);
  }
  return groups;
}

Result<std::optional<FoldedRank>> FindFoldedRank(const std::string& path) {
  const fs::path file(path);
  const std::string directory = file.has_parent_path() ? file.parent_path().string() : ".";
  const std::string name = file.filename().string();
  // ".class" first: most paths end here, without a look at the directory.
  const bool is_class = name.find(".class") != std::string::npos;
  std::error_code code;
  if (!is_class && fs::exists(file, code)) {
    return std::nullopt;
  }
  if (!name.ends_with(".et") || !RankClasses::Present(directory)) {
    return std::nullopt;
  }
  REPRISE_ASSIGN(auto classes, RankClasses::ReadShared(directory));
  const std::string set = classes->SetName();
  if (is_class) {
    for (const RankClass& one : classes->classes()) {
      if (one.file == name) {
        return BadInput(fmt::format(
            "{}: stands for {} ranks and is no rank's trace; name a rank, as in {}", path,
            SizeOf(one.ranks),
            (fs::path(directory) / fmt::format("{}.{}.et", set, one.ranks.front().first))
                .string()));
      }
    }
    return std::nullopt;
  }
  const std::string digits = name.size() > set.size() + 4 && name.starts_with(set + ".")
                                 ? name.substr(set.size() + 1, name.size() - set.size() - 4)
                                 : "";
  if (digits.empty() || digits.size() > 9 ||
      digits.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;  // the usual message: no such file
  }
  const int rank = std::stoi(digits);
  if (rank >= classes->world_size()) {
    return BadInput(fmt::format("{}: the set has ranks 0 to {}", path, classes->world_size() - 1));
  }
  FoldedRank out{.rank = rank};
  out.file = (fs::path(directory) / classes->ClassOf(rank).file).string();
  out.classes = std::move(classes);
  return std::optional(std::move(out));
}

}  // namespace reprise
