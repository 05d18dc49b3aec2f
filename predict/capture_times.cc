#include "predict/capture_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>

#include "converters/converter.h"
#include "core/output_kind.h"
#include "core/shown_text.h"
#include "core/temporary_output.h"
#include "et_schema/trace_set.h"
#include "predict/operator_work.h"
#include "predict/simulator/device_operations.h"
#include "replayer/plan/known_work.h"

namespace reprise {
namespace {

// Sums of one kind of operation.
using PointKey = std::tuple<OpClass, DType, double, double>;  // class, type, FLOPs, bytes

class TimesOfCapture {
 public:
  explicit TimesOfCapture(ReadCapture& capture) : capture_(capture) {}

  Status AddRank(const Graph& graph) {
    const RecordedMachine& machine = graph.metadata().machine;
    capture_.devices.insert(machine.device.empty() ? machine.processor : machine.device);
    REPRISE_ASSIGN(const Plan plan, PlanOfWork(graph));
    for (Graph::Index i = 0; i < graph.size(); ++i) {
      if (const CommSpec* const spec = graph.comm(i); spec == nullptr) {
        has_others_ = true;
      } else if (!IsPointToPoint(spec->kind) && LacksOf(*spec).empty()) {
        members_[{spec->group, spec->index}].push_back({*spec, graph.transfer_ns(i)});
      }
    }
    const bool streams = HasStreams({&graph, 1});
    capture_.streams = capture_.streams || streams;
    std::map<Graph::Index, double> parts_ns;  // further kernels of an operation, by its longest
    for (Graph::Index i = 0; i < graph.size(); ++i) {
      if (plan.work[i].IsPart()) {
        parts_ns[plan.work[i].part_of] += static_cast<double>(graph.duration_ns(i));
      }
    }
    for (Graph::Index i = 0; i < graph.size(); ++i) {
      if (IsOperation(graph, i, streams) && !plan.work[i].IsPart()) {
        const auto parts = parts_ns.find(i);
        REPRISE_TRY(AddOperation(graph, plan, i, parts == parts_ns.end() ? 0 : parts->second));
      }
    }
    if (streams) {
      AddLaunches(graph);
    }
    return {};
  }

  void Finish(const std::map<std::string, ProcessGroup>& groups) {
    if (!has_others_) {
      AddTransfers(groups);
    }
    for (const auto& [key, point] : points_) {
      capture_.times.points.push_back(point);
      capture_.times.points.back().ns /= point.calls;
    }
  }

 private:
  // Those that all members have, with a time.
  void AddTransfers(const std::map<std::string, ProcessGroup>& groups) {
    KernelTable& table = capture_.transfers;
    table.of_class = TableClass::kCollective;
    table.name = capture_.times.name;
    for (const auto& [key, members] : members_) {
      const auto group = groups.find(key.first);
      const auto slowest = std::ranges::max_element(members, {}, &Member::transfer_ns);
      const auto fastest = std::ranges::min_element(members, {}, &Member::transfer_ns);
      const bool whole = group != groups.end() && group->second.ranks.size() == members.size();
      if (!whole || members.size() < 2 || fastest->transfer_ns <= 0) {
        continue;
      }
      const CommSpec& spec = slowest->spec;
      const auto size = static_cast<std::int32_t>(members.size());
      const auto bytes = static_cast<double>(AlgorithmBytes(spec, size));
      if (bytes > 0) {
        KernelRow& row = table.rows.emplace_back();
        row.work.dtype = spec.dtype;
        row.ns = static_cast<double>(slowest->transfer_ns);
        row.line = table.rows.size();
        row.collective = {.kind = spec.kind, .members = size, .bytes = bytes};
      }
    }
  }

  Status AddOperation(const Graph& graph, const Plan& plan, Graph::Index i, double parts_ns) {
    const double ns = static_cast<double>(graph.duration_ns(i)) + parts_ns;
    if (ns <= 0) {
      return {};
    }
    capture_.times.operations_ns += ns;
    REPRISE_ASSIGN(const OperatorWork work, WorkOf(graph, plan, i));
    if (!work.known) {
      return {};
    }
    FitPoint& point = points_[{work.op_class, work.dtype, work.flops, work.bytes}];
    point.work = work;
    point.ns += ns;
    point.calls += 1;
    return {};
  }

  // The three kinds of cases of CaptureTimes.
  void AddLaunches(const Graph& graph) {
    const auto end_ns = [&graph](Graph::Index i) {
      return graph.start_ns(i) + graph.duration_ns(i);
    };
    std::vector<bool> launches(graph.size());
    for (Graph::Index i = 0; i < graph.size(); ++i) {
      if (!IsOperation(graph, i, true)) {
        continue;
      }
      std::int64_t launched_ns = INT64_MIN;
      std::int64_t others_ns = INT64_MIN;
      for (std::size_t d = 0; d < graph.deps(i).size(); ++d) {
        const Graph::Index dep = graph.deps(i)[d];
        const bool launch = graph.reasons(i)[d] == EdgeReason::kLaunch;
        launches[dep] = launches[dep] || launch;
        std::int64_t& latest = launch ? launched_ns : others_ns;
        latest = std::max(latest, end_ns(dep));
      }
      capture_.times.kernel_ns.push_back(static_cast<double>(graph.duration_ns(i)));
      if (launched_ns > others_ns) {
        capture_.times.launch_latency_ns.push_back(
            static_cast<double>(graph.start_ns(i) - launched_ns));
      }
    }
    std::map<std::int64_t, std::int64_t> last_end_ns;  // of a launch, by thread
    for (Graph::Index i = 0; i < graph.size(); ++i) {
      if (graph.actor(i).kind != Actor::Kind::kThread) {
        continue;
      }
      const std::int64_t thread = graph.actor(i).id;
      if (graph.kind(i) == OpKind::kWait) {
        last_end_ns.erase(thread);
      } else if (launches[i]) {
        if (const auto last = last_end_ns.find(thread); last != last_end_ns.end()) {
          capture_.times.launch_apart_ns.push_back(static_cast<double>(end_ns(i) - last->second));
        }
        last_end_ns[thread] = end_ns(i);
      }
    }
  }

  ReadCapture& capture_;
  std::map<PointKey, FitPoint> points_;
  struct Member {
    CommSpec spec;
    std::int64_t transfer_ns = -1;  // from the last arrival on
  };
  std::map<std::pair<std::string, std::int64_t>, std::vector<Member>> members_;  // of collectives
  bool has_others_ = false;  // nodes that are no transfers
};

bool IsTraceSet(const std::string& path) {
  std::error_code error;
  const std::filesystem::directory_iterator entries(path, error);
  return !error && std::any_of(begin(entries), end(entries), [](const auto& entry) {
    return IsEtFileName(entry.path().filename().string());
  });
}

// "x/h100.vit.kineto.json.gz" → "h100.vit.kineto.json.gz".
std::string LastPart(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  return std::filesystem::path(path).filename();
}

}  // namespace

Result<ReadCapture> ReadCaptureTimes(const std::string& path, const std::string& scratch) {
  std::string directory = path;
  std::optional<TemporaryOutput> converted;
  if (!IsTraceSet(path)) {
    const ConverterKind* const kind = SniffConverter(path);
    if (kind == nullptr) {
      return BadInput(
          fmt::format("{}: expected a trace set (a directory of <name>.<rank>.et files) or a "
                      "capture that `reprise convert` reads (`reprise list formats`)",
                      ShownText(path)));
    }
    REPRISE_ASSIGN(converted, TemporaryOutput::Directory(scratch));
    directory = converted->path() + "/set";
    std::error_code error;
    const bool file = std::filesystem::is_regular_file(path, error);
    ConvertRequest request{.output_directory = directory, .name = "capture"};
    (file ? request.input_file : request.input_directory) = path;
    request.costs = OperatorCosts();
    REPRISE_TRY(kind->convert(request));
  }
  REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(directory));
  REPRISE_TRY(set.CheckRankByRank("calibrate reads times of every rank",
                                  "a generated set has none; give captures"));
  ReadCapture capture;
  capture.times.name = LastPart(path);
  TimesOfCapture times(capture);
  bool durations = false;
  for (const auto& [rank, file] : set.RankPaths()) {
    REPRISE_TRY(set.VerifyFile(rank));
    REPRISE_ASSIGN(const Graph graph, Graph::Load(file));
    durations = durations || HasDurations(graph);
    REPRISE_TRY(times.AddRank(graph));
  }
  if (!durations) {
    return BadInput(fmt::format(
        "{}: the set has no durations: there is nothing to fit to; calibrate from captures of "
        "real steps",
        ShownText(path)));
  }
  times.Finish(set.Groups());
  return capture;
}

}  // namespace reprise
