#include "predict/search/estimate.h"

#include <algorithm>
#include <numeric>

#include "predict/workload/schedule.h"

namespace reprise {
namespace {

// Models of recommendation have no layers to take away.
bool HasLayers(const Workload& w) { return w.model.tables.empty(); }

// Layers that are alike, and how many of the model are.
struct LayerKind {
  bool experts = false, window = false;
  std::int64_t layers = 0;
};
std::vector<LayerKind> KindsOf(const ModelShape& m) {
  std::vector<LayerKind> kinds;
  for (std::int64_t layer = 0; layer < m.layers; ++layer) {
    const bool experts = m.HasExperts(layer);
    const bool window = m.WindowOf(layer) > 0;
    const auto at = std::ranges::find_if(kinds, [&](const LayerKind& kind) {
      return kind.experts == experts && kind.window == window;
    });
    (at == kinds.end() ? kinds.emplace_back(LayerKind{experts, window}) : *at).layers += 1;
  }
  return kinds;
}

// Every layer of one kind, whatever their number.
void MakeAlike(const LayerKind& kind, ModelShape& m) {
  m.dense_layers = kind.experts ? 0 : m.experts > 0 ? m.layers : 0;
  m.experts_every = 1;
  m.full_attention_every = 0;
  m.window = kind.window ? m.window : 0;
}

// The job with `layers` a stage, at most two stages and `batches` micro-batches.
Workload SmallJob(const Workload& w, std::int64_t layers, std::int64_t batches) {
  Workload small = w;
  small.layout.pp = std::min<std::int64_t>(w.layout.pp, 2);
  small.layout.layers_per_stage.clear();
  if (HasLayers(w)) {
    small.model.layers = small.layout.pp * layers;
    small.model.dense_layers = w.model.dense_layers > 0 ? small.model.layers : 0;
  }
  small.schedule = "1f1b";
  small.virtual_stages = 1;
  small.global_batch = small.layout.dp * small.micro_batch * batches;
  small.steps = 1;
  return small;
}

// a + b x + c y + d x y through values at x = first, first + 1 and y = 1, 2.
struct Bilinear {
  double a = 0, b = 0, c = 0, d = 0;

  Bilinear(const double (&values)[2][2], double first) {
    d = values[1][1] - values[1][0] - values[0][1] + values[0][0];
    c = values[0][1] - values[0][0] - d * first;
    b = values[1][0] - values[0][0] - d;
    a = values[0][0] - b * first - c - d * first;
  }
  [[nodiscard]] double At(double x, double y) const { return a + b * x + c * y + d * x * y; }
};

bool IsVShaped(const Workload& w) { return FindSchedule(w.schedule)->v_shaped; }

// Micro-batches whose activations a stage holds at once, in parts where chunks are counted.
double InFlight(const Workload& w, std::int64_t stage) {
  const std::int64_t stages = w.layout.pp;
  const std::int64_t batches = w.micro_batches();
  const std::int64_t chunks = w.virtual_stages;
  if (w.schedule == "gpipe") {
    return static_cast<double>(batches);
  }
  if (chunks == 1) {
    return static_cast<double>(std::min(stages - stage, batches));
  }
  if (IsVShaped(w)) {  // as many on every stage
    return static_cast<double>(std::min(stages + 1, batches));
  }
  const std::int64_t ahead =
      batches == stages ? batches * chunks : (stages - stage - 1) * 2 + (chunks - 1) * stages + 1;
  return static_cast<double>(std::min(ahead, batches * chunks)) / static_cast<double>(chunks);
}

// Of the bubble of 1F1B. Without it, gradients of weights are a third of a layer's passes each.
double ShareOfBubble(const Workload& w) {
  constexpr double kZeroBubble = 1.0 / 3;
  return w.schedule == "zb-h1" ? kZeroBubble
         : IsVShaped(w)        ? 0
                               : 1 / static_cast<double>(w.virtual_stages);
}

std::vector<double> LayersOfStages(const Workload& w) {
  const auto stages = static_cast<std::size_t>(w.layout.pp);
  const std::vector<std::int64_t> chunks = w.LayersOfChunks();
  std::vector<double> layers(stages);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    layers[static_cast<std::size_t>(StageOfChunk(w, static_cast<std::int64_t>(i)))] +=
        static_cast<double>(chunks[i]);
  }
  return layers;
}

// Of the small jobs. With adapters the model's first layer does less in its backward pass, and says
// little about the others.
std::int64_t FewestLayers(const Workload& w, const std::vector<double>& layers) {
  return w.lora && *std::ranges::min_element(layers) > 1 ? 2 : 1;
}

}  // namespace

JobEstimator::JobEstimator(TargetMachine machine) : machine_(std::move(machine)) {
  machine_.options.slow_ranks.clear();
  std::erase_if(machine_.options.slow_links, [](const SlowLink& link) { return link.domain >= 0; });
}

Result<JobEstimator::SmallJobs> JobEstimator::Predict(const Workload& one, std::int64_t first) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = std::ranges::find(
        known_, one, [](const auto& pair) -> auto& { return pair.first; });
    if (known != known_.end()) {
      return known->second;
    }
  }
  SmallJobs jobs{};
  for (int layers = 0; layers < 2; ++layers) {
    for (int batches = 0; batches < 2; ++batches) {
      REPRISE_ASSIGN(
          const Prediction prediction,
          PredictJob(machine_, SmallJob(one, first + layers, batches + 1), {.whole = true}));
      jobs.step_ns[layers][batches] = static_cast<double>(prediction.step_time_ns);
      for (const ClassMemory& of : prediction.memory->classes) {
        const auto peak = static_cast<double>(of.bytes.peak);
        if (of.stage == 0) {
          double& first = jobs.first_bytes[layers][batches];
          first = std::max(first, peak);
        }
        if (of.stage == one.layout.pp - 1) {
          double& last = jobs.last_bytes[layers][batches];
          last = std::max(last, peak);
        }
      }
    }
  }
  const std::lock_guard lock(mutex_);
  return known_.emplace_back(one, jobs).second;
}

Result<JobEstimate> JobEstimator::Estimate(const Workload& w) {
  const std::vector<LayerKind> kinds = KindsOf(w.model);
  if (kinds.size() < 2) {
    return EstimateAlike(w);
  }
  JobEstimate mean;
  for (const LayerKind& kind : kinds) {
    Workload alike = w;
    MakeAlike(kind, alike.model);
    REPRISE_ASSIGN(const JobEstimate estimate, EstimateAlike(alike));
    const double share = static_cast<double>(kind.layers) / static_cast<double>(w.model.layers);
    mean.step_ns += share * estimate.step_ns;
    mean.peak_bytes += share * estimate.peak_bytes;
  }
  return mean;
}

Result<JobEstimate> JobEstimator::EstimateAlike(const Workload& w) {
  const std::vector<double> layers = LayersOfStages(w);
  const std::int64_t fewest = FewestLayers(w, layers);
  REPRISE_ASSIGN(const SmallJobs jobs, Predict(SmallJob(w, fewest, 1), fewest));
  const auto at = static_cast<double>(fewest);
  const Bilinear time(jobs.step_ns, at);
  const Bilinear first(jobs.first_bytes, at);
  const Bilinear last(jobs.last_bytes, at);
  const auto batches = static_cast<double>(w.micro_batches());
  if (w.layout.pp == 1) {
    return JobEstimate{.step_ns = time.At(layers[0], batches),
                       .peak_bytes = first.At(layers[0], InFlight(w, 0))};
  }
  const double most = *std::ranges::max_element(layers);
  const double others = std::accumulate(layers.begin(), layers.end(), 0.0) - most;
  const bool v_shaped = IsVShaped(w);  // the first stage is the last one, too
  const double at_end = v_shaped ? layers.front() : layers.back();
  const double steady = std::max(most * time.d, at_end * time.d + time.c);
  JobEstimate estimate;
  // The small jobs' first stage is in `b`, as what comes before the last one's begin.
  estimate.step_ns = time.a + std::max(time.b - time.d, 0.0) * most + batches * steady +
                     others * time.d * ShareOfBubble(w);
  const std::int64_t end = w.layout.pp - 1;
  // In the small jobs the last stage has one micro-batch in flight.
  const double of_first = first.At(layers.front(), InFlight(w, 0));
  const double of_last =
      last.At(layers.back(), 1) + (InFlight(w, end) - 1) * first.d * layers.back();
  estimate.peak_bytes = v_shaped ? of_first + last.At(0, 1) : std::max(of_first, of_last);
  for (std::int64_t stage = 1; stage < (v_shaped ? w.layout.pp : end); ++stage) {
    const double of_stage = layers[static_cast<std::size_t>(stage)];
    estimate.peak_bytes =
        std::max(estimate.peak_bytes, first.b * of_stage + first.d * of_stage * InFlight(w, stage));
  }
  return estimate;
}

}  // namespace reprise
