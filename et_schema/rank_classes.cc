#include "et_schema/rank_classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "core/text.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kNoClass = ~std::uint32_t{0};

// A rank's place on each axis.
std::vector<std::int64_t> Digits(std::int64_t rank, const std::vector<std::int64_t>& mesh) {
  std::vector<std::int64_t> digits;
  digits.reserve(mesh.size());
  for (const std::int64_t size : mesh) {
    digits.push_back(rank % size);
    rank /= size;
  }
  return digits;
}

bool Varies(const GroupRole& role, std::size_t axis) {
  return std::find(role.axes.begin(), role.axes.end(), axis) != role.axes.end();
}

Status CheckMesh(const GroupRole& role, std::int32_t world_size) {
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
    const bool fits =
        role.axes.size() == 1 && std::all_of(role.at.begin(), role.at.end(), [&](std::int64_t at) {
          return at >= 0 && at < role.mesh[role.axes[0]];
        });
    if (!fits) {
      return BadInput(fmt::format("groups \"{}\": \"at\" takes places of one axis, not [{}]",
                                  role.role, fmt::join(role.at, ", ")));
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

Status RankClasses::Index() {
  if (world_size_ < 1) {
    return BadInput(fmt::format("\"world_size\" is {}", world_size_));
  }
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
  const std::vector<std::int64_t> digits = Digits(rank, role.mesh);
  if (!role.at.empty() &&
      std::find(role.at.begin(), role.at.end(), digits[role.axes[0]]) == role.at.end()) {
    return -1;
  }
  std::int64_t number = 0;
  std::int64_t scale = 1;
  for (std::size_t axis = 0; axis < role.mesh.size(); ++axis) {
    if (!Varies(role, axis)) {
      number += digits[axis] * scale;
      scale *= role.mesh[axis];
    }
  }
  return number;
}

std::vector<std::int32_t> RankClasses::Members(std::size_t at, std::int64_t group) const {
  const GroupRole& role = roles_[at];
  std::vector<std::int32_t> members;
  if (role.mesh.empty()) {
    for (const RankRange& range : role.lists[static_cast<std::size_t>(group)]) {
      for (std::int32_t rank = range.first; rank <= range.last; rank += range.stride) {
        members.push_back(rank);
      }
    }
    return members;
  }
  std::vector<std::int64_t> steps;  // of a rank along each axis
  std::int64_t step = 1;
  std::int64_t base = 0;
  for (std::size_t axis = 0; axis < role.mesh.size(); ++axis) {
    steps.push_back(step);
    if (!Varies(role, axis)) {
      base += group % role.mesh[axis] * step;
      group /= role.mesh[axis];
    }
    step *= role.mesh[axis];
  }
  members.push_back(static_cast<std::int32_t>(base));
  for (std::size_t i = role.axes.size(); i-- > 0;) {  // the last axis is the slowest
    const std::size_t axis = role.axes[i];
    std::vector<std::int64_t> places = role.at;
    if (places.empty()) {
      places.resize(static_cast<std::size_t>(role.mesh[axis]));
      std::iota(places.begin(), places.end(), 0);
    }
    std::vector<std::int32_t> next;
    for (const std::int32_t member : members) {
      for (const std::int64_t place : places) {
        next.push_back(static_cast<std::int32_t>(member + place * steps[axis]));
      }
    }
    members = std::move(next);
  }
  return members;
}

std::map<std::string, ProcessGroup> RankClasses::Groups() const {
  std::map<std::string, ProcessGroup> groups;
  ProcessGroup all{.id = "0", .description = "default_pg"};
  all.ranks.resize(static_cast<std::size_t>(world_size_));
  std::iota(all.ranks.begin(), all.ranks.end(), 0);
  groups["0"] = std::move(all);
  for (std::size_t role = 0; role < roles_.size(); ++role) {
    for (std::int64_t group = 0; group < index_[role].groups; ++group) {
      ProcessGroup next{.id = std::to_string(index_[role].first_id + group),
                        .description = roles_[role].description,
                        .ranks = Members(role, group)};
      groups[next.id] = std::move(next);
    }
  }
  return groups;
}

std::string_view RankClasses::RoleOf(std::string_view group_id) const {
  const std::int64_t number = ParseNumber<std::int64_t>(group_id).value_or(-1);  // none's
  for (std::size_t role = 0; role < roles_.size(); ++role) {
    if (number >= index_[role].first_id && number < index_[role].first_id + index_[role].groups) {
      return roles_[role].role;
    }
  }
  return {};
}

std::optional<ProcessGroup> RankClasses::GroupOf(std::string_view role, std::int32_t rank) const {
  for (std::size_t at = 0; at < roles_.size(); ++at) {
    if (roles_[at].role == role) {
      const std::int64_t group = GroupNumber(at, rank);
      return group < 0 ? std::nullopt
                       : std::optional(ProcessGroup{std::to_string(index_[at].first_id + group),
                                                    roles_[at].description, Members(at, group)});
    }
  }
  return std::nullopt;
}

Status RankClasses::Resolve(std::int32_t rank, CommSpec& spec) const {
  const std::optional<ProcessGroup> group = GroupOf(spec.group, rank);
  if (!group) {
    return BadInput(fmt::format("{} in group \"{}\", but {} has no such group of rank {}",
                                Name(spec.kind), spec.group, kRanksFile, rank));
  }
  for (std::int32_t* const position : {&spec.peer, &spec.root}) {
    if (*position < 0) {
      continue;
    }
    if (static_cast<std::size_t>(*position) >= group->ranks.size()) {
      return BadInput(fmt::format("{} with position {} of group \"{}\", which has {} ranks",
                                  Name(spec.kind), *position, spec.group, group->ranks.size()));
    }
    *position = group->ranks[static_cast<std::size_t>(*position)];
  }
  spec.group = group->id;
  return {};
}

Status RankClasses::Unresolve(std::int32_t rank, CommSpec& spec) const {
  const std::string role(RoleOf(spec.group));
  const std::optional<ProcessGroup> group = GroupOf(role, rank);
  if (!group) {
    return BadInput(fmt::format("{}: a transfer of rank {} is in group {}, which has no role",
                                kRanksFile, rank, spec.group));
  }
  spec.group = role;
  for (std::int32_t* const member : {&spec.peer, &spec.root}) {
    if (*member >= 0) {
      *member = static_cast<std::int32_t>(std::ranges::find(group->ranks, *member) -
                                          group->ranks.begin());
    }
  }
  return {};
}

RoleMembers RankClasses::MembersByRole() const {
  RoleMembers groups;
  for (const GroupRole& role : roles_) {
    std::vector<bool> seen(static_cast<std::size_t>(world_size_));
    auto& of_role = groups[role.role];
    for (std::int32_t rank = 0; rank < world_size_; ++rank) {
      if (seen[static_cast<std::size_t>(rank)]) {
        continue;
      }
      if (std::optional<ProcessGroup> group = GroupOf(role.role, rank)) {
        for (const std::int32_t member : group->ranks) {
          seen[static_cast<std::size_t>(member)] = true;
        }
        of_role.push_back(std::move(group->ranks));
      }
    }
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
  REPRISE_ASSIGN(RankClasses classes, RankClasses::Read(directory));
  const std::string set = classes.SetName();
  if (is_class) {
    for (const RankClass& one : classes.classes()) {
      if (one.file == name) {
        return BadInput(fmt::format(
            "{}: stands for {} ranks and is no rank's trace; name a rank, as in {}", path,
            std::accumulate(one.ranks.begin(), one.ranks.end(), std::int64_t{0},
                            [](std::int64_t sum, const RankRange& r) { return sum + r.size(); }),
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
  if (rank >= classes.world_size()) {
    return BadInput(fmt::format("{}: the set has ranks 0 to {}", path, classes.world_size() - 1));
  }
  FoldedRank out{.rank = rank};
  out.file = (fs::path(directory) / classes.ClassOf(rank).file).string();
  out.classes = std::make_shared<const RankClasses>(std::move(classes));
  return std::optional(std::move(out));
}

}  // namespace reprise
