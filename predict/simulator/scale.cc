#include "predict/simulator/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/nanoseconds.h"
#include "core/shown_text.h"
#include "core/split_mix.h"
#include "core/text.h"
#include "predict/machine/fields.h"
#include "predict/simulator/captured_flows.h"
#include "predict/simulator/device_operations.h"
#include "predict/simulator/transfer_scale.h"

namespace reprise {
namespace {

using Index = std::uint32_t;

std::int64_t Times(std::int64_t ns, double factor) {
  // What is negative contradicts causality in the recording, and stays as it is.
  return factor == 1 || ns < 0 ? ns : NsOf(static_cast<double>(ns) * factor);
}

double Uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 11U) + 0.5) * 0x1p-53; }

// Lognormal of mean 1 and coefficient of variation `jitter`: a number for each node, whatever the
// order of nodes.
double JitterOf(double jitter, std::uint64_t seed, std::uint64_t rank, std::uint64_t node) {
  const std::uint64_t bits = SplitMix(SplitMix(SplitMix(seed) ^ rank) ^ node);
  const double normal = std::sqrt(-2 * std::log(Uniform(bits))) *
                        std::cos(2 * std::numbers::pi * Uniform(SplitMix(bits)));
  const double variance = std::log1p(jitter * jitter);
  return std::exp(std::sqrt(variance) * normal - variance / 2);
}

class Scaler {
 public:
  Scaler(const CapturedSet& set, const ScaleOptions& options, TimingGraph& timing,
         std::vector<TimeSource>& source)
      : set_(set), options_(options), timing_(timing), source_(source) {}

  Result<ScaleSummary> Run() {
    REPRISE_ASSIGN(slow_, SlowFactors(options_.slow_ranks, set_.graphs.size(), "simulated ranks"));
    if (!options_.to && options_.network == NetworkModel::kFlow) {
      return UsageError(
          "--network flow: a capture's own machine has no described links, and recorded times hold "
          "what they shared; name a machine with --machine");
    }
    if (!options_.to && !options_.slow_links.empty()) {
      return UsageError(
          "--link: a capture's own machine has no described links; name one with "
          "--machine, and the capture's with --captured-on");
    }
    if (options_.to) {
      from_device_ = options_.from->device;
      to_device_ = options_.to->device;
      ShareStarts(from_device_, to_device_);
    }
    source_.assign(timing_.size(), TimeSource::kRecorded);
    if (options_.network == NetworkModel::kFlow) {
      recorded_ = timing_;
    }
    REPRISE_TRY(ScaleOperations());
    REPRISE_TRY(ScaleTransfers());
    return summary_;
  }

 private:
  template <typename Visit>
  void ForEachNode(const Visit& visit) const {
    for (std::size_t rank = 0; rank < set_.graphs.size(); ++rank) {
      for (Graph::Index i = 0; i < set_.graphs[rank].size(); ++i) {
        visit(rank, i, set_.first[rank] + i);
      }
    }
  }

  [[nodiscard]] bool IsOperation(std::size_t rank, Graph::Index i) const {
    return reprise::IsOperation(set_.graphs[rank], i, streams_);
  }

  [[nodiscard]] Status CheckKinds() const {
    if (!options_.to) {
      return {};
    }
    for (const MachineModel* machine : {&*options_.from, &*options_.to}) {
      const bool gpu = machine->device.kind == DeviceKind::kGpu;
      if (gpu != streams_ && (streams_ || HasThreads(set_.graphs))) {
        return BadInput(fmt::format(
            "the set was captured on {}, and {} is {}: there is nothing to scale from; capture on "
            "the same kind of device",
            streams_ ? "a GPU" : "a CPU (host threads only)", machine->name,
            gpu ? "a GPU machine" : "a CPU machine"));
      }
    }
    return {};
  }

  // The recorded time is of another size: where a machine is described, its model takes its place.
  [[nodiscard]] bool IsModelled(const Graph& graph, Graph::Index i) const {
    return options_.to && HasOtherSize(graph.rescaled(i));
  }

  Status ScaleOperations() {
    streams_ = HasStreams(set_.graphs);
    REPRISE_TRY(CheckKinds());
    ForEachNode([this](std::size_t rank, Graph::Index i, Index node) {
      if (IsOperation(rank, i)) {
        const Graph& graph = set_.graphs[rank];
        const bool models = graph.untimed(i) || (IsModelled(graph, i) && set_.work[node].known);
        models ? Model(node) : ScaleKnown(node);
      }
    });
    const bool moved = options_.to && MovesToAnother();
    if (moved && summary_.operations_recorded_ns > 0 && summary_.known_recorded_ns == 0) {
      return BadInput(
          "no operation of the set has known FLOPs or bytes, so that nothing says what another "
          "device takes for it; capture with shapes (record_shapes=True), or simulate on the "
          "machine that the set was captured on (--machine recorded)");
    }
    if (summary_.known_recorded_ns > 0) {
      summary_.whole_ratio =
          static_cast<double>(known_scaled_ns_) / static_cast<double>(summary_.known_recorded_ns);
    }
    ForEachNode([this](std::size_t rank, Graph::Index i, Index node) {
      if (!IsOperation(rank, i)) {
        return;
      }
      if (source_[node] == TimeSource::kWhole) {
        timing_.duration_ns[node] = Times(timing_.duration_ns[node], summary_.whole_ratio);
      }
      const Graph& graph = set_.graphs[rank];
      double factor = slow_[rank];
      if (options_.jitter > 0) {
        factor *= JitterOf(options_.jitter, options_.seed, rank, graph.id(i));
      }
      timing_.duration_ns[node] = Times(timing_.duration_ns[node], factor);
      ScaleLaunch(graph, i, node);
      summary_.operations_ns += std::max<std::int64_t>(timing_.duration_ns[node], 0);
    });
    return {};
  }

  // No time was recorded.
  void Model(Index node) {
    const OperatorWork& work = set_.work[node];
    if (!options_.to || !work.known) {
      ++summary_.without_time;
      return;
    }
    ++summary_.modelled;
    const RooflineTime time = RooflineOf(to_device_, work);
    timing_.duration_ns[node] = NsOf(time.ns);
    source_[node] = TimeSourceOf(time.source);
    summary_.known_ns += timing_.duration_ns[node];
    summary_.by_default_ns += time.by_default() ? timing_.duration_ns[node] : 0;
  }

  [[nodiscard]] bool MovesToAnother() const { return !SameNumbers(*options_.from, *options_.to); }

  void ScaleKnown(Index node) {
    std::int64_t& ns = timing_.duration_ns[node];
    const std::int64_t recorded_ns = std::max<std::int64_t>(ns, 0);
    summary_.operations_recorded_ns += recorded_ns;
    const OperatorWork& work = set_.work[node];
    if (!work.known) {
      source_[node] = TimeSource::kWhole;
      return;
    }
    source_[node] = TimeSource::kScaled;
    summary_.known_recorded_ns += recorded_ns;
    if (options_.to) {
      const RooflineTime from = RooflineOf(from_device_, work);
      const RooflineTime to = RooflineOf(to_device_, work);
      ns = from.ns > 0 ? Times(ns, to.ns / from.ns) : ns;
      // Where both are bound by the same, the default efficiency is the same, too, and cancels out.
      const bool cancels = from.bound == to.bound && from.by_default() && to.by_default();
      const bool by_default = !cancels && (from.by_default() || to.by_default());
      summary_.by_default_ns += by_default ? std::max<std::int64_t>(ns, 0) : 0;
    }
    known_scaled_ns_ += std::max<std::int64_t>(ns, 0);
    summary_.known_ns += std::max<std::int64_t>(ns, 0);
  }

  // Of the delay between launch and start, the machine's own part.
  void ScaleLaunch(const Graph& graph, Graph::Index i, Index node) {
    if (!options_.to) {
      return;
    }
    const double from_ns = options_.from->device.launch_latency_ns.value;
    const double change_ns = options_.to->device.launch_latency_ns.value - from_ns;
    const auto reasons = graph.reasons(i);
    const bool launched = std::ranges::find(reasons, EdgeReason::kLaunch) != reasons.end();
    if (change_ns != 0 && launched && timing_.delay_ns[node] > 0) {
      const double own_ns = std::min(static_cast<double>(timing_.delay_ns[node]), from_ns);
      timing_.delay_ns[node] += NsOf(own_ns / from_ns * change_ns);
    }
  }

  Status ScaleTransfers() {
    const bool matched = !timing_.match.empty();
    if (options_.to) {
      const auto graphs = static_cast<std::int64_t>(set_.graphs.size());
      const std::int64_t ranks = set_.job_ranks > 0 ? set_.job_ranks : graphs;
      REPRISE_ASSIGN(const Network from, Network::Create(*options_.from, ranks));
      REPRISE_ASSIGN(const Network to, Network::Create(*options_.to, ranks, options_.slow_links));
      SetNetwork set_from(from, set_.groups, options_.network);
      SetNetwork set_to(to, set_.groups, options_.network);
      ForEachNode([&](std::size_t rank, Graph::Index i, Index) {
        const CommSpec* const spec = set_.graphs[rank].comm(i);
        if (spec != nullptr && spec->kind == CommKind::kSend && spec->peer >= 0) {
          const std::int32_t peer = set_.RankOf(static_cast<std::size_t>(spec->peer));
          set_from.AddPair(set_.RankOf(rank), peer);
          set_to.AddPair(set_.RankOf(rank), peer);
        }
      });
      ForEachNode([&](std::size_t rank, Graph::Index i, Index node) {
        if (set_.graphs[rank].comm(i) == nullptr) {
          return;
        }
        CommSpec spec = *set_.graphs[rank].comm(i);
        spec.peer = spec.peer < 0 ? -1 : set_.RankOf(static_cast<std::size_t>(spec.peer));
        const bool is_matched = matched && timing_.match[node] >= 0;
        std::int64_t& ns = is_matched ? timing_.transfer_ns[node] : timing_.duration_ns[node];
        const std::int32_t rank_number = set_.RankOf(rank);
        const TransferTime after = set_to.TimeOf(spec, rank_number);
        const Graph& graph = set_.graphs[rank];
        if (graph.untimed(i) || (IsModelled(graph, i) && after.ns > 0)) {
          ++(after.ns > 0 ? summary_.modelled : summary_.without_time);
          ns = after.ns;
          source_[node] = TimeSource::kDatasheet;
          return;
        }
        const TransferTime before = set_from.TimeOf(spec, rank_number);
        if (before.ns > 0 && after.ns > 0) {
          source_[node] = TimeSource::kScaled;
          ns = Times(ns, static_cast<double>(after.ns) / static_cast<double>(before.ns));
        }
      });
      if (options_.network == NetworkModel::kFlow) {
        REPRISE_TRY(ShareCapturedLinks(set_, from, to, recorded_, timing_));
      }
      return {};
    }
    ForEachNode([&](std::size_t rank, Graph::Index i, Index) {
      const bool transfer = set_.graphs[rank].comm(i) != nullptr;
      summary_.without_time += transfer && set_.graphs[rank].untimed(i) ? 1 : 0;
    });
    return {};
  }

  const CapturedSet& set_;
  const ScaleOptions& options_;
  TimingGraph& timing_;
  std::vector<TimeSource>& source_;
  TimingGraph recorded_;  // with flow-level sharing: before anything is scaled
  bool streams_ = false;
  std::vector<double> slow_;             // by rank
  DeviceModel from_device_, to_device_;  // of both machines, if there are
  std::int64_t known_scaled_ns_ = 0;     // of operations with a recorded time
  ScaleSummary summary_;
};

}  // namespace

Result<SlowRank> ParseSlowRank(const std::string& text) {
  const std::size_t equals = text.find('=');
  SlowRank slow;
  slow.rank = ParseNumber<std::int32_t>(text.substr(0, equals)).value_or(-1);
  slow.factor = ParseNumber<double>(text.substr(equals + 1)).value_or(0);
  if (equals == std::string::npos || slow.rank < 0 || !(slow.factor > 0) ||
      !std::isfinite(slow.factor)) {
    return UsageError(
        fmt::format("--slow {}: expected RANK=F, as in 3=1.2: rank 3's operations take 1.2 times "
                    "as long",
                    ShownText(text)));
  }
  return slow;
}

Result<std::vector<double>> SlowFactors(std::span<const SlowRank> slow_ranks, std::size_t ranks,
                                        std::string_view what) {
  std::vector<double> factors(ranks, 1);
  for (const SlowRank& slow : slow_ranks) {
    if (static_cast<std::size_t>(slow.rank) >= ranks) {
      return UsageError(fmt::format("--slow {}: the {} are 0 to {}", slow.rank, what, ranks - 1));
    }
    factors[static_cast<std::size_t>(slow.rank)] *= slow.factor;
  }
  return factors;
}

Result<ScaleSummary> ScaleTimes(const CapturedSet& set, const ScaleOptions& options,
                                TimingGraph& timing, std::vector<TimeSource>& source) {
  return Scaler(set, options, timing, source).Run();
}

}  // namespace reprise
