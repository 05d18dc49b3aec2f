#include "kernels/bench/tune.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "kernels/bench/bench_timing.h"
#include "kernels/ops/products/gemm_tiles.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

// Tiles are measured in turn, so that a busy moment of the machine is not one tile's alone.
constexpr int kRounds = 2;
// Of the first tile's time; what is won with less may be noise.
constexpr double kWorthIt = 0.97;

OpCall ProductCall(DType dtype, std::string_view layout, std::int64_t size) {
  samples::SampleTensors tensors;
  const auto matrix = [&](char order) {
    return order == 'n' ? tensors.Tensor(dtype, {size, size})
                        : tensors.Strided(dtype, {size, size}, {1, size});
  };
  const TensorDesc a = matrix(layout[0]);
  const TensorDesc b = matrix(layout[1]);
  return {"aten::mm", {Value{a}, Value{b}}, {Value{tensors.Tensor(dtype, {size, size})}}};
}

class GemmTuner {
 public:
  GemmTuner(Device& device, const TuneOptions& options,
            const std::function<void(const TuneRow&)>& on_row)
      : device_(device), options_(options), on_row_(on_row) {
    timing_.repeats = options.repeats;
    timing_.min_time_ns = options.min_time_ns;
  }

  Result<TuneResult> Run() {
    REPRISE_ASSIGN(stream_, device_.CreateStream(false));
    for (const DType dtype : options_.dtypes) {
      const std::string_view program = TunableGemm(device_.info(), dtype);
      if (program.empty()) {
        result_.without_tiles.push_back(dtype);
        continue;
      }
      for (const std::string& layout : options_.layouts) {
        TuneLayout(program, dtype, layout);
      }
    }
    return std::move(result_);
  }

 private:
  // How one tile did in a class of sizes.
  struct Score {
    double log_ns = 0;
    int sizes = 0;
    bool ran = true;
    void Add(const TuneRow& row) {
      ran = ran && row.skipped.empty();
      log_ns += std::log(std::max(row.median_ns, 1.0));
      ++sizes;
    }
    [[nodiscard]] double MeanLog() const { return log_ns / std::max(sizes, 1); }
  };

  void TuneLayout(std::string_view program, DType dtype, const std::string& layout);
  void Measure(const OpCall& call, BenchMemory& memory, TuneRow& row);

  Device& device_;
  const TuneOptions& options_;
  const std::function<void(const TuneRow&)>& on_row_;
  KernelBenchOptions timing_;
  std::unique_ptr<Stream> stream_;
  TuneResult result_;
};

// Keeps the better of this time and the row's.
void GemmTuner::Measure(const OpCall& call, BenchMemory& memory, TuneRow& row) {
  DeviceInfo info = device_.info();
  info.tuning.gemm = {row.kind};
  const Result<BenchRuns> runs =
      PrepareRuns(device_, info, *KernelRegistry::Builtin().Find(call), call, memory);
  KernelBenchRow times;
  const Status status =
      runs ? TimeRuns(*stream_, *runs, timing_, nullptr, times) : tl::unexpected(runs.error());
  if (!status) {
    row.skipped = status.error().message;
    (void)stream_->Finish();
    return;
  }
  if (row.median_ns == 0 || times.median_ns < row.median_ns) {
    row.median_ns = times.median_ns;
  }
  const auto size = static_cast<double>(row.size);
  row.gflop_per_s = row.median_ns > 0 ? 2 * size * size * size / row.median_ns : 0;
}

void GemmTuner::TuneLayout(std::string_view program, DType dtype, const std::string& layout) {
  const std::vector<GemmTile> tiles = GemmTileCandidates(program, dtype);
  std::map<std::string_view, std::vector<Score>> classes;
  for (const std::int64_t size : options_.sizes) {
    const std::string_view of = GemmSizeClass(size * size);
    std::vector<Score>& scores = classes.try_emplace(of, tiles.size()).first->second;
    const OpCall call = ProductCall(dtype, layout, size);
    auto memory = BenchMemory::Create(device_, call);
    std::vector<TuneRow> rows;
    rows.reserve(tiles.size());
    for (const GemmTile& tile : tiles) {
      rows.push_back(
          {.kind = {std::string(program), dtype, layout, std::string(of), tile}, .size = size});
    }
    for (int round = 0; round < kRounds; ++round) {
      for (TuneRow& row : rows) {
        if (memory) {
          Measure(call, **memory, row);
        } else {
          row.skipped = memory.error().message;
        }
      }
    }
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      scores[i].Add(rows[i]);
      on_row_(rows[i]);
      result_.rows.push_back(std::move(rows[i]));
    }
  }
  for (const auto& [size, scores] : classes) {
    auto best = std::ranges::min_element(scores, [](const Score& a, const Score& b) {
      return a.ran != b.ran ? a.ran : a.MeanLog() < b.MeanLog();
    });
    if (scores.front().ran && best->MeanLog() > scores.front().MeanLog() + std::log(kWorthIt)) {
      best = scores.begin();
    }
    if (best->ran) {
      result_.best.push_back({std::string(program), dtype, layout, std::string(size),
                              tiles[static_cast<std::size_t>(best - scores.begin())]});
    }
  }
}

}  // namespace

std::vector<std::int64_t> DefaultTuneSizes(const DeviceInfo& device) {
  return device.is_cpu ? std::vector<std::int64_t>{512, 1024}
                       : std::vector<std::int64_t>{512, 2048, 4096, 8192};
}

Result<TuneResult> TuneGemm(Device& device, const TuneOptions& options,
                            const std::function<void(const TuneRow&)>& on_row) {
  return GemmTuner(device, options, on_row).Run();
}

}  // namespace reprise
