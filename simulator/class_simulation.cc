#include "simulator/class_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "simulator/link_sharing.h"

namespace reprise {
namespace {

using Index = std::uint32_t;

OperatorWork CountsOf(const Graph& program, Graph::Index i) {
  const auto count = [](std::int64_t value) {
    return static_cast<double>(std::max<std::int64_t>(value, 0));
  };
  OperatorWork work;
  work.op_class = program.op_class(i);
  work.flops = count(program.num_ops(i));
  work.bytes = count(program.tensor_bytes(i));
  work.known = program.num_ops(i) >= 0 || program.tensor_bytes(i) >= 0;
  return work;
}

// Where a rank is in the groups of each role.
struct Place {
  std::int32_t group = -1;
  std::int32_t position = -1;
};

// A pair of a program: with whom, by role and position.
using Peer = std::tuple<std::string, std::int32_t, bool>;  // role, position, sends

class ClassSimulator {
 public:
  ClassSimulator(const ProgramSet& set, const ClassOptions& options, const WorkOfNode& work,
                 const Network& network)
      : set_(set), options_(options), work_(work), network_(network), sharing_(network) {}

  Result<ClassSimulation> Run() {
    REPRISE_TRY(FindPlaces());
    REPRISE_TRY(FindPeers());
    ShareLinks();
    REPRISE_TRY(FindClasses());
    for (std::uint32_t c = 0; c < result_.classes.size(); ++c) {
      REPRISE_TRY(AddNodes(c));
    }
    for (std::uint32_t c = 0; c < result_.classes.size(); ++c) {
      AddLaunchLatencies(c);
    }
    REPRISE_TRY(FinishMatches());
    REPRISE_ASSIGN(result_.schedule, DryRun(result_.timing));
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::size_t ranks() const { return set_.program_of.size(); }
  [[nodiscard]] const Graph& ProgramOf(std::int32_t rank) const {
    return set_.programs[set_.program_of[static_cast<std::size_t>(rank)]];
  }

  Status FindPlaces() {
    for (const auto& [name, groups] : set_.groups) {
      const std::size_t role = roles_.size();
      role_numbers_[name] = role;
      roles_.push_back({groups, false});
      places_.emplace_back(ranks());
      for (std::size_t g = 0; g < groups.size(); ++g) {
        for (std::size_t p = 0; p < groups[g].size(); ++p) {
          const std::int32_t rank = groups[g][p];
          if (rank < 0 || static_cast<std::size_t>(rank) >= ranks() ||
              places_[role][static_cast<std::size_t>(rank)].group >= 0) {
            return BadInput(
                fmt::format("role {}: rank {} is in two groups, or not in the job", name, rank));
          }
          places_[role][static_cast<std::size_t>(rank)] = {static_cast<std::int32_t>(g),
                                                           static_cast<std::int32_t>(p)};
        }
      }
    }
    return {};
  }

  // Which roles need an order, and the pairs of each program.
  Status FindPeers() {
    peers_.resize(set_.programs.size());
    for (std::size_t p = 0; p < set_.programs.size(); ++p) {
      const Graph& program = set_.programs[p];
      for (Graph::Index i = 0; i < program.size(); ++i) {
        const CommSpec* const spec = program.comm(i);
        streams_ = streams_ || (spec == nullptr && program.actor(i).kind == Actor::Kind::kStream);
        if (spec == nullptr || spec->outside) {
          continue;
        }
        const auto role = role_numbers_.find(spec->group);
        if (role == role_numbers_.end()) {
          return BadInput(fmt::format("node {} ({}): the set has no groups of role '{}'",
                                      program.id(i), program.name(i), spec->group));
        }
        const bool pair = IsPointToPoint(spec->kind);
        if (pair || spec->root >= 0 || !spec->in_splits.empty() || !spec->out_splits.empty()) {
          roles_[role->second].ordered = true;
        }
        if (pair) {
          peers_[p].insert({spec->group, spec->peer, spec->kind == CommKind::kSend});
        }
      }
    }
    return {};
  }

  // The other rank of a pair; −1: its group has no such position.
  [[nodiscard]] std::int32_t PeerOf(std::int32_t rank, std::size_t role,
                                    std::int32_t position) const {
    if (set_.peers_are_ranks) {
      return position >= 0 && static_cast<std::size_t>(position) < ranks() ? position : -1;
    }
    const Place& place = places_[role][static_cast<std::size_t>(rank)];
    if (place.group < 0) {
      return -1;
    }
    const auto& members = roles_[role].groups[static_cast<std::size_t>(place.group)];
    return position >= 0 && static_cast<std::size_t>(position) < members.size()
               ? members[static_cast<std::size_t>(position)]
               : -1;
  }

  void ShareLinks() {
    for (std::size_t role = 0; role < roles_.size(); ++role) {
      for (const auto& members : roles_[role].groups) {
        if (members.size() > 1) {
          sharing_.Add(members, static_cast<std::uint32_t>(role + 1));
        }
      }
    }
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
      for (const auto& [role, position, sends] : peers_[set_.program_of[rank]]) {
        const auto from = static_cast<std::int32_t>(rank);
        const std::int32_t to = PeerOf(from, role_numbers_.at(role), position);
        if (sends && to >= 0) {
          sharing_.Add(std::vector{from, to}, LinkSharing::kPairs);
        }
      }
    }
  }

  // Equal shapes get equal numbers.
  std::uint32_t NumberOf(const GroupShape& shape) {
    std::vector<double> key = {static_cast<double>(shape.members)};
    for (const LevelShape& level : shape.levels) {
      key.insert(key.end(), {static_cast<double>(level.domains), static_cast<double>(level.most),
                             level.slowest, level.sharers});
    }
    const auto next = static_cast<std::uint32_t>(shapes_.size());
    const auto [at, added] = shape_numbers_.try_emplace(std::move(key), next);
    if (added) {
      shapes_.push_back(shape);
    }
    return at->second;
  }

  // What two ranks must share before their groups are looked at.
  Status FindClasses() {
    std::map<std::vector<double>, std::uint32_t> numbers;
    std::vector<double> slow(ranks(), 1);
    for (const SlowRank& rank : options_.slow_ranks) {
      if (static_cast<std::size_t>(rank.rank) >= ranks()) {
        return UsageError(fmt::format("--slow {}: the ranks are 0 to {}", rank.rank, ranks() - 1));
      }
      slow[static_cast<std::size_t>(rank.rank)] *= rank.factor;
    }
    slow_ = slow;
    for (std::size_t role = 0; role < roles_.size(); ++role) {
      shape_of_group_.emplace_back();
      for (const auto& members : roles_[role].groups) {
        shape_of_group_.back().push_back(
            NumberOf(sharing_.ShapeOf(members, static_cast<std::uint32_t>(role + 1))));
      }
    }
    std::vector<std::uint32_t> colours(ranks());
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
      std::vector<double> colour = {static_cast<double>(set_.program_of[rank]), slow[rank]};
      for (std::size_t role = 0; role < roles_.size(); ++role) {
        const Place& place = places_[role][rank];
        colour.push_back(
            place.group < 0 ? -1.0 : shape_of_group_[role][static_cast<std::size_t>(place.group)]);
      }
      for (const auto& [role, position, sends] : peers_[set_.program_of[rank]]) {
        const auto own = static_cast<std::int32_t>(rank);
        const std::int32_t peer = PeerOf(own, role_numbers_.at(role), position);
        if (peer < 0) {
          return BadInput(
              fmt::format("rank {}: its program names position {} of its group of role "
                          "'{}', which has none",
                          rank, position, role));
        }
        colour.push_back(NumberOf(PairShape(sends ? own : peer, sends ? peer : own)));
      }
      if (!options_.fold) {
        colour.push_back(static_cast<double>(rank));
      }
      colours[rank] =
          numbers.try_emplace(std::move(colour), static_cast<std::uint32_t>(numbers.size()))
              .first->second;
    }
    refined_ = RefineClasses(colours, roles_);
    result_.class_of = refined_.class_of;
    result_.classes.resize(refined_.classes);
    std::vector<bool> seen(refined_.classes);
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
      RankClassTimes& own = result_.classes[refined_.class_of[rank]];
      if (own.ranks++ == 0) {
        own.first_rank = static_cast<std::int32_t>(rank);
        own.program = set_.program_of[rank];
      }
    }
    return {};
  }

  [[nodiscard]] GroupShape PairShape(std::int32_t sender, std::int32_t receiver) const {
    return sharing_.ShapeOf(std::vector{sender, receiver}, LinkSharing::kPairs);
  }

  // What the device does; programs without streams have only host threads, whose work is the
  // device's.
  [[nodiscard]] bool IsOperation(const Graph& program, Graph::Index i) const {
    if (program.comm(i) != nullptr) {
      return false;
    }
    return streams_ ? program.actor(i).kind == Actor::Kind::kStream
                    : program.kind(i) == OpKind::kWork;
  }

  // By program: which of its host nodes launch something.
  [[nodiscard]] std::vector<bool> Launches(const Graph& program) const {
    std::vector<bool> launches(program.size());
    for (Graph::Index i = 0; i < program.size(); ++i) {
      for (std::size_t d = 0; d < program.deps(i).size(); ++d) {
        if (program.reasons(i)[d] == EdgeReason::kLaunch) {
          launches[program.deps(i)[d]] = true;
        }
      }
    }
    return launches;
  }

  Status AddNodes(std::uint32_t number) {
    RankClassTimes& own = result_.classes[number];
    const Graph& program = set_.programs[own.program];
    TimingGraph& timing = result_.timing;
    if (timing.dep_offset.empty()) {
      timing.dep_offset.push_back(0);
    }
    own.first_node = static_cast<Index>(timing.size());
    const std::vector<bool> launches = Launches(program);
    const double slow = slow_[static_cast<std::size_t>(own.first_rank)];
    for (Graph::Index i = 0; i < program.size(); ++i) {
      std::int64_t duration_ns = 0;
      std::int64_t transfer_ns = 0;
      std::int32_t match = -1;
      ArrivalNeed need = ArrivalNeed::kAll;
      bool root = false;
      bool fitted = false;
      if (const CommSpec* const spec = program.comm(i); spec != nullptr) {
        REPRISE_TRY(MatchTransfer(own.first_rank, program, i, match, transfer_ns));
        const bool pair = IsPointToPoint(spec->kind);
        root = spec->kind == CommKind::kSend;
        need = pair ? LeastNeed(spec->kind, root) : ArrivalNeed::kAll;
        duration_ns = transfer_ns;
      } else if (IsOperation(program, i)) {
        const OperatorWork work = work_ ? work_(program, i) : CountsOf(program, i);
        const RooflineTime time = RooflineOf(options_.machine.device, work);
        duration_ns = std::llround(time.ns * slow);
        fitted = time.fitted;
      } else if (launches[i]) {
        duration_ns = std::llround(options_.machine.host.launch_ns.value);
        fitted = options_.machine.host.launch_ns.source == NumberSource::kFitted;
      }
      timing.duration_ns.push_back(duration_ns);
      timing.delay_ns.push_back(0);
      timing.transfer_ns.push_back(transfer_ns);
      timing.match.push_back(match);
      timing.need.push_back(need);
      timing.root.push_back(root ? 1 : 0);
      result_.source.push_back(duration_ns <= 0 ? TimeSource::kRecorded
                               : fitted         ? TimeSource::kFitted
                                                : TimeSource::kDatasheet);
      for (std::size_t d = 0; d < program.deps(i).size(); ++d) {
        timing.deps.push_back(own.first_node + program.deps(i)[d]);
        timing.reasons.push_back(static_cast<std::uint8_t>(program.reasons(i)[d]));
      }
      timing.dep_offset.push_back(static_cast<Index>(timing.deps.size()));
    }
    return {};
  }

  // A node of the latency between a launch and what it launches: the latency must not delay what
  // the thread does next, nor add to what the stream still has to do.
  void AddLaunchLatencies(std::uint32_t number) {
    const auto latency_ns = std::llround(options_.machine.device.launch_latency_ns.value);
    if (latency_ns == 0) {
      return;
    }
    const RankClassTimes& own = result_.classes[number];
    const auto size = static_cast<Index>(set_.programs[own.program].size());
    TimingGraph& timing = result_.timing;
    std::unordered_map<Index, Index> latency_of;  // of a launching node
    for (Index i = own.first_node; i < own.first_node + size; ++i) {
      for (Index d = timing.dep_offset[i]; d < timing.dep_offset[i + 1]; ++d) {
        if (timing.reasons[d] != static_cast<std::uint8_t>(EdgeReason::kLaunch)) {
          continue;
        }
        const Index launch = timing.deps[d];
        const auto [at, added] = latency_of.try_emplace(launch, timing.size());
        if (added) {
          timing.duration_ns.push_back(latency_ns);
          timing.delay_ns.push_back(0);
          timing.transfer_ns.push_back(0);
          timing.match.push_back(-1);
          timing.need.push_back(ArrivalNeed::kAll);
          timing.root.push_back(0);
          result_.source.push_back(TimeSource::kDatasheet);
          timing.deps.push_back(launch);
          timing.reasons.push_back(static_cast<std::uint8_t>(EdgeReason::kLaunch));
          timing.dep_offset.push_back(static_cast<Index>(timing.deps.size()));
        }
        timing.deps[d] = at->second;
      }
    }
  }

  // Members of one collective, or the two ends of one pair: role, kind of group, and of a pair the
  // two positions; then the place in that sequence.
  using MatchName =
      std::tuple<std::size_t, std::uint32_t, std::int32_t, std::int32_t, std::int64_t>;

  Status MatchTransfer(std::int32_t rank, const Graph& program, Graph::Index i, std::int32_t& match,
                       std::int64_t& transfer_ns) {
    const CommSpec& spec = *program.comm(i);
    if (spec.outside) {
      return {};  // its other side is not simulated
    }
    const std::size_t role = role_numbers_.at(spec.group);
    const Place& place = places_[role][static_cast<std::size_t>(rank)];
    if (place.group < 0) {
      return BadInput(
          fmt::format("rank {}: node {} ({}) is a transfer in a group of role '{}', which "
                      "the rank is not in",
                      rank, program.id(i), program.name(i), spec.group));
    }
    const auto group = static_cast<std::size_t>(place.group);
    std::int32_t from = -1;
    std::int32_t to = -1;
    std::uint32_t shape = shape_of_group_[role][group];
    auto members = static_cast<int>(roles_[role].groups[group].size());
    if (IsPointToPoint(spec.kind)) {
      const bool sends = spec.kind == CommKind::kSend;
      const std::int32_t own = set_.peers_are_ranks ? rank : place.position;
      from = sends ? own : spec.peer;
      to = sends ? spec.peer : own;
      const std::int32_t peer = PeerOf(rank, role, spec.peer);
      shape = NumberOf(PairShape(sends ? rank : peer, sends ? peer : rank));
      members = 2;
    }
    const double bytes = static_cast<double>(AlgorithmBytes(spec, members));
    transfer_ns = TimeOf(spec.kind, bytes, shape);
    if (members < 2) {
      return {};
    }
    const MatchName name{role, refined_.kind_of_group[role][group], from, to, spec.index};
    const auto [at, added] = matches_.try_emplace(name);
    Matched& matched = at->second;
    if (added) {
      const bool pair = IsPointToPoint(spec.kind);
      matched = {static_cast<std::int32_t>(matches_.size() - 1),
                 pair ? 2 : ClassesIn(roles_[role].groups[group]),
                 0,
                 spec.kind,
                 bytes,
                 rank,
                 program.id(i)};
    }
    ++matched.found;
    match = matched.number;
    const bool uneven = spec.kind == CommKind::kAllToAll;
    const bool agrees =
        IsPointToPoint(spec.kind) ? added || spec.kind != matched.kind : spec.kind == matched.kind;
    if (!agrees || (!uneven && bytes != matched.bytes)) {
      return BadInput(
          fmt::format("transfer {} of role '{}' differs: rank {}, node {} is {} of {} bytes; rank "
                      "{}, node {} is "
                      "{} of {} bytes",
                      spec.index, spec.group, matched.rank, matched.node_id, Name(matched.kind),
                      matched.bytes, rank, program.id(i), Name(spec.kind), bytes));
    }
    return {};
  }

  [[nodiscard]] std::int32_t ClassesIn(const std::vector<std::int32_t>& members) const {
    std::set<std::uint32_t> classes;
    for (const std::int32_t member : members) {
      classes.insert(refined_.class_of[static_cast<std::size_t>(member)]);
    }
    return static_cast<std::int32_t>(classes.size());
  }

  std::int64_t TimeOf(CommKind kind, double bytes, std::uint32_t shape) {
    const auto [at, added] = times_.try_emplace({kind, bytes, shape}, 0);
    if (added) {
      at->second = network_.TimeOf(kind, bytes, shapes_[shape]).ns;
    }
    return at->second;
  }

  // Every member must have come; nodes behind the programs have no match.
  Status FinishMatches() {
    for (const auto& [name, matched] : matches_) {
      if (matched.found != matched.expected) {
        return BadInput(
            fmt::format("rank {}, node {}: no partner has the {}. transfer ({}) of that group; a "
                        "job would wait "
                        "for ever",
                        matched.rank, matched.node_id, std::get<4>(name), Name(matched.kind)));
      }
    }
    if (matches_.empty()) {
      result_.timing.match.clear();
      result_.timing.transfer_ns.clear();
      result_.timing.need.clear();
      result_.timing.root.clear();
    }
    return {};
  }

  const ProgramSet& set_;
  const ClassOptions& options_;
  const WorkOfNode& work_;
  const Network& network_;
  LinkSharing sharing_;
  std::map<std::string, std::size_t> role_numbers_;
  std::vector<RoleGroups> roles_;
  bool streams_ = false;                    // some program has device streams
  std::vector<std::vector<Place>> places_;  // by role and rank
  std::vector<std::set<Peer>> peers_;       // by program
  std::vector<double> slow_;                // by rank
  std::vector<GroupShape> shapes_;          // by number
  std::map<std::vector<double>, std::uint32_t> shape_numbers_;
  std::vector<std::vector<std::uint32_t>> shape_of_group_;  // by role and group
  Refinement refined_;
  // Of its members here, one a class.
  struct Matched {
    std::int32_t number = 0, expected = 0, found = 0;
    CommKind kind = CommKind::kAllReduce;
    double bytes = 0;
    std::int32_t rank = 0;  // the first member's
    std::uint64_t node_id = 0;
  };
  std::map<MatchName, Matched> matches_;
  std::map<std::tuple<CommKind, double, std::uint32_t>, std::int64_t> times_;
  ClassSimulation result_;
};

}  // namespace

Result<ClassSimulation> SimulateClasses(const ProgramSet& set, const ClassOptions& options,
                                        const WorkOfNode& work) {
  REPRISE_ASSIGN(const Network network,
                 Network::Create(options.machine, static_cast<std::int64_t>(set.program_of.size()),
                                 options.slow_links));
  return ClassSimulator(set, options, work, network).Run();
}

}  // namespace reprise
