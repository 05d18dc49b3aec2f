// What sampling costs work that keeps every core busy: one thread a core works all the time, and in
// windows, in turn with and without a sampler of every source that is here, it is counted what they
// do. Prints the ratio of each pair's times for the same work, of all cores together and of the
// slowest one (which a step waits for), and what the sampler's threads themselves took.
//
//     telemetry_cost_bench [PAIRS [PERIOD_MS]]          500 pairs at 20 ms: about 4 minutes
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "report/telemetry/sampler.h"

namespace reprise {
namespace {

using Clock = std::chrono::steady_clock;

// Short enough that a machine whose speed drifts is the same for both windows of a pair.
constexpr auto kWindow = std::chrono::milliseconds(200);
constexpr auto kSettling = std::chrono::milliseconds(20);  // before a window, with its sampler
constexpr std::size_t kFloats = 4 << 20;  // a core's share: streams from memory, not from cache
constexpr std::size_t kPiece = 1 << 16;   // floats; some 50 us

// One core's work, until it is stopped: a triad over its arrays, as memory-bound as most of a
// training step is.
class Worker {
 public:
  Worker() : thread_([this] { Run(); }) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    stopping_ = true;
    thread_.join();
  }
  [[nodiscard]] std::int64_t pieces() const { return pieces_.load(std::memory_order_relaxed); }

 private:
  void Run() {
    for (std::size_t at = 0; !stopping_; at = (at + kPiece) % kFloats) {
      for (std::size_t i = at; i < at + kPiece; ++i) {
        c_[i] = a_[i] * 1.0001F + b_[i];
      }
      pieces_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  std::vector<float> a_ = std::vector<float>(kFloats, 1.0F);
  std::vector<float> b_ = std::vector<float>(kFloats, 1e-4F);
  std::vector<float> c_ = std::vector<float>(kFloats);
  alignas(64) std::atomic<std::int64_t> pieces_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

struct Window {
  double all = 0, slowest = 0;  // pieces a second
  double cpu_share = 0;         // of one core, by the sampler's threads
};

// Sources are opened either way, so that nothing but the sampling differs.
Window Measure(std::span<const std::unique_ptr<Worker>> workers, std::int64_t period_ns,
               bool samples) {
  SamplerOptions options;
  options.period_ns = period_ns;
  const auto sampler = Sampler::Open(options);
  const auto opened = Clock::now();
  if (samples) {
    sampler->Start([](const std::vector<Sample>&) {});
  }
  std::this_thread::sleep_for(kSettling);
  std::vector<std::int64_t> before;
  for (const auto& worker : workers) {
    before.push_back(worker->pieces());
  }
  const auto begin = Clock::now();
  std::this_thread::sleep_for(kWindow);
  std::vector<double> rates;
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  for (std::size_t w = 0; w < workers.size(); ++w) {
    rates.push_back(static_cast<double>(workers[w]->pieces() - before[w]) / seconds);
  }
  sampler->Stop();
  return {.all = std::accumulate(rates.begin(), rates.end(), 0.0),
          .slowest = *std::min_element(rates.begin(), rates.end()),
          .cpu_share = static_cast<double>(sampler->cpu_ns()) * 1e-9 /
                       std::chrono::duration<double>(Clock::now() - opened).count()};
}

double Quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

// Distribution-free 95 % interval of the median: order statistics of a binomial.
void Print(const char* what, const std::vector<double>& ratios) {
  const double reach = 0.98 / std::sqrt(static_cast<double>(ratios.size()));
  fmt::print(
      "{}: time with sampling / without: median {:.4f} (95 %: {:.4f} to {:.4f}), quartiles {:.4f} "
      "to {:.4f}\n",
      what, Quantile(ratios, 0.5), Quantile(ratios, std::max(0.0, 0.5 - reach)),
      Quantile(ratios, std::min(1.0, 0.5 + reach)), Quantile(ratios, 0.25), Quantile(ratios, 0.75));
}

void Compare(int pairs, std::int64_t period_ns) {
  std::vector<std::unique_ptr<Worker>> workers(std::max(1U, std::thread::hardware_concurrency()));
  for (auto& worker : workers) {
    worker = std::make_unique<Worker>();
  }
  Measure(workers, period_ns, true);  // pages and caches
  std::vector<double> all;
  std::vector<double> slowest;
  std::vector<double> shares;
  for (int pair = 0; pair < pairs; ++pair) {
    Window plain;
    Window sampled;
    for (int k = 0; k < 2; ++k) {
      const bool samples = (k + pair) % 2 == 1;
      (samples ? sampled : plain) = Measure(workers, period_ns, samples);
    }
    all.push_back(plain.all / sampled.all);
    slowest.push_back(plain.slowest / sampled.slowest);
    shares.push_back(sampled.cpu_share);
  }
  fmt::print("{} cores busy, {} pairs of windows of {} ms, every source at {} ms\n", workers.size(),
             pairs, kWindow.count(), period_ns / 1'000'000);
  Print("all cores", all);
  Print("slowest core", slowest);
  fmt::print("sampler's threads: {:.2f} % of one core ({:.2f} to {:.2f})\n",
             100 * Quantile(shares, 0.5), 100 * Quantile(shares, 0.25),
             100 * Quantile(shares, 0.75));
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 500;
  const int period_ms = argc > 2 ? std::atoi(argv[2]) : 20;
  if (pairs < 4 || period_ms < 5) {
    fmt::print(stderr, "usage: telemetry_cost_bench [PAIRS >= 4 [PERIOD_MS >= 5]]\n");
    return 2;
  }
  reprise::Compare(pairs, period_ms * std::int64_t{1'000'000});
  return 0;
}
