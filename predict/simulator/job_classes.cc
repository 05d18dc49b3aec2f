#include "predict/simulator/job_classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "predict/machine/rows_of_air.h"

namespace reprise {
namespace {

// The ranks that stand behind each other in the air of a node, from the inlet on.
RoleGroups ColumnsOfAir(const ThermalModel& thermal, std::size_t ranks) {
  RoleGroups columns{.groups = {}, .ordered = true};
  std::vector<std::size_t> column_of(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (const auto front = DeviceInFront(thermal, static_cast<std::int64_t>(rank))) {
      column_of[rank] = column_of[static_cast<std::size_t>(*front)];
    } else {
      column_of[rank] = columns.groups.size();
      columns.groups.emplace_back();
    }
    columns.groups[column_of[rank]].push_back(static_cast<std::int32_t>(rank));
  }
  return columns;
}

std::vector<std::int32_t> PairOf(std::int32_t sender, std::int32_t receiver) {
  return {sender, receiver};
}

}  // namespace

Result<JobClasses> JobClasses::Find(const JobGroups& job, const Network& network,
                                    const ClassOptions& options) {
  JobClasses classes(job, network, options);
  REPRISE_ASSIGN(classes.slow_, SlowFactors(options.slow_ranks, job.ranks(), "ranks"));
  classes.ShareLinks();
  classes.ShapeGroups();
  const std::vector<std::uint32_t> colours = classes.Colours();
  std::vector<RoleGroups> roles = job.roles();
  for (std::size_t level = 1; classes.flow() && level < network.levels(); ++level) {
    RoleGroups& domains = roles.emplace_back();
    for (std::size_t rank = 0; rank < job.ranks(); ++rank) {
      const auto device = static_cast<std::int32_t>(rank);
      const auto domain = static_cast<std::size_t>(network.DomainOf(device, level));
      domains.groups.resize(domain + 1);
      domains.groups[domain].push_back(device);
    }
  }
  if (options.slots) {
    roles.push_back(ColumnsOfAir(options.machine.device.thermal, job.ranks()));
  }
  classes.refined_ = RefineClasses(colours, roles);
  return classes;
}

void JobClasses::ShareLinks() {
  // Two groups of the same ranks are used by turns.
  std::set<std::pair<std::uint32_t, std::vector<std::int32_t>>> seen;
  for (std::size_t role = 0; role < job_->roles().size(); ++role) {
    for (const auto& members : job_->roles()[role].groups) {
      const std::uint32_t alike = job_->AlikeNumber(role);
      if (members.size() > 1 && (!job_->set().alike.contains(job_->NameOf(role)) ||
                                 seen.insert({alike, members}).second)) {
        sharing_.Add(members, alike);
      }
    }
  }
  for (std::size_t rank = 0; rank < job_->ranks(); ++rank) {
    const auto from = static_cast<std::int32_t>(rank);
    for (const JobGroups::Pair& pair : job_->PairsOf(from)) {
      if (pair.sends) {
        sharing_.Add(PairOf(from, job_->PeerOf(from, pair.role, pair.position)),
                     LinkSharing::kPairs);
      }
    }
  }
}

std::uint32_t JobClasses::NumberOf(GroupShape shape) {
  std::vector<double> key = {static_cast<double>(shape.members)};
  for (LevelShape& level : shape.levels) {
    level.sharers = flow() ? 1 : level.sharers;
    key.insert(key.end(), {static_cast<double>(level.domains), static_cast<double>(level.most),
                           level.slowest, level.sharers});
  }
  const auto next = static_cast<std::uint32_t>(shapes_.size());
  const auto [at, added] = shape_numbers_.try_emplace(std::move(key), next);
  if (added) {
    shapes_.push_back(std::move(shape));
  }
  return at->second;
}

void JobClasses::ShapeGroups() {
  for (std::size_t role = 0; role < job_->roles().size(); ++role) {
    shape_of_group_.emplace_back();
    for (const auto& members : job_->roles()[role].groups) {
      shape_of_group_.back().push_back(
          NumberOf(sharing_.ShapeOf(members, job_->AlikeNumber(role))));
    }
  }
}

std::uint32_t JobClasses::ShapeOfPair(std::int32_t sender, std::int32_t receiver) {
  return NumberOf(sharing_.ShapeOf(PairOf(sender, receiver), LinkSharing::kPairs));
}

void JobClasses::ColourOf(std::size_t rank, std::vector<double>& colour) {
  const auto own = static_cast<std::int32_t>(rank);
  colour.assign({static_cast<double>(job_->set().program_of[rank]), slow_[rank]});
  for (std::size_t role = 0; role < job_->roles().size(); ++role) {
    const std::int32_t group = job_->PlaceOf(role, own).group;
    colour.push_back(group < 0 ? -1.0 : ShapeOfGroup(role, static_cast<std::size_t>(group)));
  }
  for (const JobGroups::Pair& pair : job_->PairsOf(own)) {
    const std::int32_t peer = job_->PeerOf(own, pair.role, pair.position);
    colour.push_back(ShapeOfPair(pair.sends ? own : peer, pair.sends ? peer : own));
  }
  if (!options_->fold) {
    colour.push_back(static_cast<double>(rank));
  }
  if (options_->slots) {
    colour.push_back(static_cast<double>(RowOf(options_->machine.device.thermal, own)));
  }
}

std::vector<std::uint32_t> JobClasses::Colours() {
  std::map<std::vector<double>, std::uint32_t> numbers;
  std::vector<std::uint32_t> colours;
  colours.reserve(job_->ranks());
  const auto add = [&](const std::vector<double>& colour) {
    const auto next = static_cast<std::uint32_t>(numbers.size());
    colours.push_back(numbers.try_emplace(colour, next).first->second);
  };
  if (flow()) {
    std::vector<std::vector<double>> of_rank(job_->ranks());
    for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
      ColourOf(rank, of_rank[rank]);
    }
    AddDomains(of_rank);
    std::ranges::for_each(of_rank, add);
    return colours;
  }
  std::vector<double> colour;  // of one rank at a time: there may be a million
  for (std::size_t rank = 0; rank < job_->ranks(); ++rank) {
    ColourOf(rank, colour);
    add(colour);
  }
  return colours;
}

// What the loads of links depend on (predict/simulator/link_loads.h): how fast a rank's links are,
// and of each of its groups how many members are in the same domain, and how many domains of the
// level below have members there.
void JobClasses::AddDomains(std::vector<std::vector<double>>& colours) const {
  const std::size_t levels = network_->levels();
  for (std::size_t rank = 0; rank < colours.size(); ++rank) {
    for (std::size_t level = 0; level < levels; ++level) {
      colours[rank].push_back(
          network_->FactorOf(level, network_->DomainOf(static_cast<std::int64_t>(rank), level)));
    }
  }
  for (const RoleGroups& role : job_->roles()) {
    for (const auto& members : role.groups) {
      for (std::size_t level = 1; level < levels; ++level) {
        std::map<std::int64_t, std::int64_t> inside;  // by domain
        std::map<std::int64_t, std::set<std::int64_t>> below;
        for (const std::int32_t member : members) {
          ++inside[network_->DomainOf(member, level)];
          below[network_->DomainOf(member, level)].insert(network_->DomainOf(member, level - 1));
        }
        for (const std::int32_t member : members) {
          const std::int64_t domain = network_->DomainOf(member, level);
          std::vector<double>& colour = colours[static_cast<std::size_t>(member)];
          colour.push_back(static_cast<double>(inside[domain]));
          colour.push_back(static_cast<double>(below[domain].size()));
        }
      }
    }
  }
}

}  // namespace reprise
