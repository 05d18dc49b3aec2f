// What sampling costs work that keeps every core busy: blocks of a fixed amount of work on all
// cores, with and without a sampler of every source that is here, the one or the other first in
// turn. Prints the ratio of each pair's times and what the sampler's threads themselves took.
//
//     telemetry_cost_bench [PAIRS [PERIOD_MS]]          200 pairs at 20 ms: about 1.5 minutes
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>
#include <vector>

#include "telemetry/sampler.h"

namespace reprise {
namespace {

using Clock = std::chrono::steady_clock;

// Short enough that a machine whose speed drifts is the same for both blocks of a pair.
constexpr double kBlockSeconds = 0.2;
constexpr std::size_t kFloats = 4 << 20;  // a core's share: streams from memory, not from cache

// One core's work: a triad over its arrays, as memory-bound as most of a training step is.
class Worker {
 public:
  void Run(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < kFloats; ++i) {
        c_[i] = a_[i] * 1.0001F + b_[i];
      }
      std::swap(a_, c_);
    }
  }
  [[nodiscard]] float sum() const { return a_[1] + c_[2]; }

 private:
  std::vector<float> a_ = std::vector<float>(kFloats, 1.0F);
  std::vector<float> b_ = std::vector<float>(kFloats, 1e-4F);
  std::vector<float> c_ = std::vector<float>(kFloats);
};

double Seconds(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Until the last core is done, as a step ends with its slowest rank.
double RunBlock(std::vector<Worker>& workers, int rounds) {
  const auto begin = Clock::now();
  std::vector<std::thread> threads;
  threads.reserve(workers.size());
  for (Worker& worker : workers) {
    threads.emplace_back([&worker, rounds] { worker.Run(rounds); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return Seconds(begin);
}

struct Sampled {
  double seconds = 0;
  double cpu_share = 0;  // of one core, while the block ran
};

// Sources are opened either way, so that nothing but the sampling differs.
Sampled RunBeside(std::vector<Worker>& workers, int rounds, std::int64_t period_ns, bool samples) {
  SamplerOptions options;
  options.period_ns = period_ns;
  const auto sampler = Sampler::Open(options);
  if (samples) {
    sampler->Start([](const std::vector<Sample>&) {});
  }
  Sampled out{.seconds = RunBlock(workers, rounds)};
  sampler->Stop();
  out.cpu_share = static_cast<double>(sampler->cpu_ns()) * 1e-9 / out.seconds;
  return out;
}

double Quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

void Measure(int pairs, std::int64_t period_ns) {
  std::vector<Worker> workers(std::max(1U, std::thread::hardware_concurrency()));
  const double round_seconds = std::min(RunBlock(workers, 4), RunBlock(workers, 4)) / 4;
  const int rounds = std::max(1, static_cast<int>(kBlockSeconds / round_seconds));
  std::vector<double> ratios;
  std::vector<double> shares;
  for (int pair = 0; pair < pairs; ++pair) {
    Sampled plain;
    Sampled sampled;
    for (int k = 0; k < 2; ++k) {
      const bool samples = (k + pair) % 2 == 1;
      (samples ? sampled : plain) = RunBeside(workers, rounds, period_ns, samples);
    }
    ratios.push_back(sampled.seconds / plain.seconds);
    shares.push_back(sampled.cpu_share);
  }
  // Distribution-free 95 % interval of the median: order statistics of a binomial.
  const double reach = 0.98 / std::sqrt(static_cast<double>(pairs));
  fmt::print("{} cores busy, {} pairs of blocks of {:.0f} ms, every source at {} ms\n",
             workers.size(), pairs, 1e3 * rounds * round_seconds, period_ns / 1'000'000);
  fmt::print(
      "time with sampling / without: median {:.4f} (95 %: {:.4f} to {:.4f}), quartiles {:.4f} "
      "to {:.4f}\n",
      Quantile(ratios, 0.5), Quantile(ratios, std::max(0.0, 0.5 - reach)),
      Quantile(ratios, std::min(1.0, 0.5 + reach)), Quantile(ratios, 0.25), Quantile(ratios, 0.75));
  fmt::print("sampler's threads: {:.2f} % of one core ({:.2f} to {:.2f})\n",
             100 * Quantile(shares, 0.5), 100 * Quantile(shares, 0.25),
             100 * Quantile(shares, 0.75));
  fmt::print("(checksum {})\n", workers.front().sum());
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 200;
  const int period_ms = argc > 2 ? std::atoi(argv[2]) : 20;
  if (pairs < 4 || period_ms < 5) {
    fmt::print(stderr, "usage: telemetry_cost_bench [PAIRS >= 4 [PERIOD_MS >= 5]]\n");
    return 2;
  }
  reprise::Measure(pairs, period_ms * std::int64_t{1'000'000});
  return 0;
}
