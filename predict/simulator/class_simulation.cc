#include "predict/simulator/class_simulation.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/nanoseconds.h"
#include "predict/simulator/class_flows.h"
#include "predict/simulator/class_matches.h"
#include "predict/simulator/device_operations.h"
#include "predict/simulator/event_schedule.h"
#include "predict/simulator/job_classes.h"
#include "predict/simulator/job_groups.h"

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

// The same device while a transfer moves.
DeviceModel BesideTransfers(const DeviceModel& device) {
  DeviceModel beside = device;
  for (auto* const rates : {&beside.matrix_flops_per_second, &beside.vector_flops_per_second}) {
    for (OptionalNumber& rate : *rates) {
      if (rate) {
        rate->value *= device.beside_compute.value;
      }
    }
  }
  beside.memory_bytes_per_second.value *= device.beside_memory.value;
  return beside;
}

class ClassSimulator {
 public:
  ClassSimulator(const JobGroups& job, JobClasses& classes, const Network& network,
                 const ClassOptions& options, const WorkOfNode& work)
      : job_(job),
        classes_(classes),
        options_(options),
        work_(work),
        beside_(BesideTransfers(options.machine.device)),
        slows_(options.machine.device.beside_compute.value < 1 ||
               options.machine.device.beside_memory.value < 1) {
    if (options.network == NetworkModel::kFlow) {
      flows_.emplace(job, classes, network);
    }
    matches_.emplace(job, classes, network, flows_ ? &*flows_ : nullptr);
  }

  Result<ClassSimulation> Run() {
    ListClasses();
    Reserve();
    for (std::uint32_t c = 0; c < result_.classes.size(); ++c) {
      REPRISE_TRY(AddNodes(c));
    }
    for (std::uint32_t c = 0; c < result_.classes.size(); ++c) {
      AddLaunchLatencies(c);
    }
    REPRISE_TRY(matches_->CheckComplete());
    if (matches_->empty()) {
      result_.timing.match.clear();
      result_.timing.transfer_ns.clear();
      result_.timing.need.clear();
      result_.timing.root.clear();
    }
    if (!flows_ && !slows_) {
      REPRISE_ASSIGN(result_.schedule, DryRun(result_.timing));
      return std::move(result_);
    }
    Interplay interplay{.flows = matches_->flows()};
    interplay.links = flows_ ? &flows_->links() : nullptr;
    if (slows_) {
      device_.resize(result_.timing.size());
      stretch_.resize(result_.timing.size(), 1);
      interplay.device = device_;
      interplay.beside = stretch_;
    }
    REPRISE_ASSIGN(result_.schedule, ScheduleEvents(result_.timing, interplay));
    return std::move(result_);
  }

 private:
  void ListClasses() {
    const Refinement& refined = classes_.refined();
    result_.class_of = refined.class_of;
    result_.classes.resize(refined.classes);
    for (std::size_t rank = 0; rank < job_.ranks(); ++rank) {
      RankClassTimes& own = result_.classes[refined.class_of[rank]];
      if (own.ranks++ == 0) {
        own.first_rank = static_cast<std::int32_t>(rank);
        own.program = job_.set().program_of[rank];
      }
    }
  }

  // For all nodes: each host node may launch.
  void Reserve() {
    std::size_t nodes = 0;
    std::size_t deps = 0;
    for (const RankClassTimes& own : result_.classes) {
      const Graph& program = job_.set().programs[own.program];
      for (Graph::Index i = 0; i < program.size(); ++i) {
        deps += program.deps(i).size();
        for (const EdgeReason reason : program.reasons(i)) {
          nodes += reason == EdgeReason::kLaunch ? 1 : 0;
        }
      }
      nodes += program.size();
    }
    TimingGraph& timing = result_.timing;
    const auto reserve = [](std::size_t size, auto&... lists) { (lists.reserve(size), ...); };
    reserve(nodes, timing.names, timing.duration_ns, timing.delay_ns, timing.transfer_ns,
            timing.match, timing.need, timing.root, result_.source);
    reserve(nodes + 1, timing.dep_offset);
    reserve(deps + nodes, timing.deps, timing.reasons);
    if (slows_) {
      reserve(nodes, device_, stretch_);
    }
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

  // Without its dependencies.
  void AddNode(NodeName name, std::int64_t duration_ns, const ClassMatches::Member& member,
               ArrivalNeed need, bool root, TimeSource source) {
    TimingGraph& timing = result_.timing;
    timing.names.push_back(name);
    timing.duration_ns.push_back(duration_ns);
    timing.delay_ns.push_back(0);
    timing.transfer_ns.push_back(member.transfer_ns);
    timing.match.push_back(member.match);
    timing.need.push_back(need);
    timing.root.push_back(root ? 1 : 0);
    result_.source.push_back(source);
  }

  [[nodiscard]] TimeChange ChangeOf(std::uint32_t program, Graph::Index i) const {
    const auto& changes = job_.set().changes;
    return changes.empty() || changes[program].empty() ? TimeChange() : changes[program][i];
  }

  // Node after node of a class: what it takes alone.
  Status AddNodes(std::uint32_t number) {
    RankClassTimes& own = result_.classes[number];
    const Graph& program = job_.set().programs[own.program];
    TimingGraph& timing = result_.timing;
    if (timing.dep_offset.empty()) {
      timing.dep_offset.push_back(0);
    }
    own.first_node = static_cast<Index>(timing.size());
    const std::vector<bool> launches = Launches(program);
    for (Graph::Index i = 0; i < program.size(); ++i) {
      std::int64_t duration_ns = 0;
      double stretch = 1;
      ClassMatches::Member member;
      ArrivalNeed need = ArrivalNeed::kAll;
      bool root = false;
      TimeSource source = TimeSource::kDatasheet;
      if (const CommSpec* const spec = program.comm(i); spec != nullptr) {
        REPRISE_ASSIGN(member, matches_->Add(own.first_rank, program, i));
        root = spec->kind == CommKind::kSend;
        need = IsPointToPoint(spec->kind) ? LeastNeed(spec->kind, root) : ArrivalNeed::kAll;
        duration_ns = member.transfer_ns;
      } else if (IsOperation(program, i, job_.streams())) {
        const OperatorWork work = work_ ? work_(program, i) : CountsOf(program, i);
        const RooflineTime alone = RooflineOf(options_.machine.device, work);
        duration_ns = NsOf(alone.ns * classes_.SlowOf(own.first_rank));
        stretch = slows_ && alone.ns > 0 ? RooflineOf(beside_, work).ns / alone.ns : 1;
        source = TimeSourceOf(alone.source);
      } else if (launches[i]) {
        duration_ns = NsOf(options_.machine.host.launch_ns.value);
        source = TimeSourceOf(options_.machine.host.launch_ns.source);
      }
      const TimeChange change = ChangeOf(own.program, i);
      duration_ns = change.Of(duration_ns);
      member.transfer_ns = change.Of(member.transfer_ns);
      AddNode({own.first_rank, program.id(i)}, duration_ns, member, need, root,
              duration_ns > 0 ? source : TimeSource::kRecorded);
      timing.delay_ns.back() = change.delay_ns;
      if (slows_) {
        device_.push_back(number);
        stretch_.push_back(stretch);
      }
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
    const auto latency_ns = NsOf(options_.machine.device.launch_latency_ns.value);
    if (latency_ns == 0) {
      return;
    }
    const RankClassTimes& own = result_.classes[number];
    const auto size = static_cast<Index>(job_.set().programs[own.program].size());
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
          AddNode(timing.names[launch], latency_ns, {}, ArrivalNeed::kAll, false,
                  TimeSource::kDatasheet);
          timing.deps.push_back(launch);
          timing.reasons.push_back(static_cast<std::uint8_t>(EdgeReason::kLaunch));
          timing.dep_offset.push_back(static_cast<Index>(timing.deps.size()));
        }
        timing.deps[d] = at->second;
      }
    }
  }

  const JobGroups& job_;
  JobClasses& classes_;
  const ClassOptions& options_;
  const WorkOfNode& work_;
  const DeviceModel beside_;
  const bool slows_;  // kernels beside transfers
  std::optional<ClassFlows> flows_;
  std::optional<ClassMatches> matches_;
  std::vector<Index> device_;    // by node, its class
  std::vector<double> stretch_;  // by node
  ClassSimulation result_;
};

}  // namespace

// Each refers to those before it.
struct EqualRanks {
  ClassOptions options;
  Network network;
  JobGroups job;
  std::optional<JobClasses> classes;
};

Result<ClassSimulation> SimulateClasses(const ProgramSet& set, const ClassOptions& options,
                                        const WorkOfNode& work,
                                        std::shared_ptr<EqualRanks>* known) {
  std::shared_ptr<EqualRanks> ranks = known != nullptr ? *known : nullptr;
  if (ranks != nullptr) {
    ranks->job.SetPrograms(set);
  } else {
    REPRISE_ASSIGN(
        Network network,
        Network::Create(options.machine, static_cast<std::int64_t>(set.program_of.size()),
                        options.slow_links));
    REPRISE_ASSIGN(JobGroups job, JobGroups::Create(set));
    ranks = std::make_shared<EqualRanks>(
        EqualRanks{options, std::move(network), std::move(job), std::nullopt});
    REPRISE_ASSIGN(JobClasses classes,
                   JobClasses::Find(ranks->job, ranks->network, ranks->options));
    ranks->classes.emplace(std::move(classes));
  }
  if (known != nullptr) {
    *known = ranks;
  }
  return ClassSimulator(ranks->job, *ranks->classes, ranks->network, options, work).Run();
}

}  // namespace reprise
