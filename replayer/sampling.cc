// Session's telemetry half: one sampler a host, idle power, warm-up until steady, clocks of hosts.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "collectives/gathered.h"
#include "core/clock.h"
#include "replayer/plan/run_directory.h"
#include "replayer/session.h"

namespace reprise {
namespace {

constexpr std::int64_t kIdleNs = 2'000'000'000;
constexpr double kNsPerSecond = 1e9;

bool IsMeter(const Metric& metric) { return !metric.modelled && MeasuresEnergy(metric); }

}  // namespace

void Session::StartSampler() {
  const SamplerOptions& options = request_.options.sampling;
  if (communicator_.local_rank() != 0 || options.period_ns == 0) {
    return;  // one sampler per host: each physical sensor is read once
  }
  sampler_ = Sampler::Open(options);
  DescribeSampler(*sampler_, *writer_);
  sampler_->Start([this](const std::vector<Sample>& samples) {
    recent_.Add(samples);
    writer_->Append(samples);
  });
}

void Session::StopSampler() {
  if (sampler_ == nullptr) {
    return;
  }
  sampler_->Stop();
  SummarizeSampler(*sampler_, *writer_);
}

// Everything is allocated and compiled, nothing runs: the floor under the run's power. Where no
// host measures power an idle phase has no use, unless the user gives its length.
Status Session::MeasureIdle() {
  const bool mine = sampler_ != nullptr &&
                    std::any_of(sampler_->metrics().begin(), sampler_->metrics().end(), IsMeter);
  REPRISE_ASSIGN(const int ranks, CountRanks(communicator_, mine));
  const std::int64_t idle_ns = request_.options.idle_ns.value_or(ranks > 0 ? kIdleNs : 0);
  if (idle_ns == 0) {
    return {};
  }
  REPRISE_TRY(communicator_.Barrier());
  const std::int64_t begin_ns = MonotonicNs();
  WaitUntilNs(begin_ns + idle_ns, 0);
  if (sampler_ != nullptr) {
    writer_->SetFacts({.idle_begin_ns = begin_ns, .idle_end_ns = MonotonicNs()});
  }
  return {};
}

// The hosts that have temperatures say whether they have settled.
Result<bool> Session::WarmsUpFurther(std::int64_t since_ns) {
  const std::int64_t limit_ns = request_.options.until_steady_ns;
  if (limit_ns == 0) {
    return false;
  }
  const std::int64_t now_ns = MonotonicNs();
  std::string mine;
  if (sampler_ != nullptr && HasTemperatures(sampler_->metrics())) {
    mine = HasSettled(sampler_->metrics(), recent_, now_ns) ? "settled"
           : now_ns - since_ns >= limit_ns                  ? "given up"
                                                            : "warming";
  }
  REPRISE_ASSIGN(const auto all, communicator_.AllGather(mine));
  const auto has = [&all](const char* word) {
    return std::find(all.begin(), all.end(), word) != all.end();
  };
  if (has("warming")) {
    return true;
  }
  const double seconds = static_cast<double>(now_ns - since_ns) / kNsPerSecond;
  steady_note_ = has("given up") ? fmt::format(
                                       "temperatures had not settled after {:.0f} s of "
                                       "warm-up (--until-steady)",
                                       seconds)
                 : has("settled")
                     ? fmt::format("temperatures settled after {:.0f} s of warm-up", seconds)
                     : "--until-steady: no temperature is measured here";
  writer_->SetFacts({.steady = steady_note_});
  return false;
}

Status Session::CompareClocks() {
  if (!clocks_) {
    REPRISE_ASSIGN(clocks_, ClockExchange::Create(communicator_, HostLeaders(communicator_)));
  }
  REPRISE_ASSIGN(const auto reading, clocks_->Read());
  if (reading) {
    clock_readings_.push_back(*reading);
    wall_readings_.push_back(ReadWallClock());
    writer_->SetFacts({.clock_readings = clock_readings_, .wall_readings = wall_readings_});
  }
  return {};
}

// Drift is slow: after ever longer stretches and at the end.
Status Session::CompareClocksAfter(std::int32_t iterations, std::int32_t total) {
  const bool due =
      iterations == total || std::has_single_bit(static_cast<std::uint32_t>(iterations));
  return due ? CompareClocks() : Status{};
}

}  // namespace reprise
