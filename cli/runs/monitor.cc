// reprise monitor: telemetry around any program, or of this host, live.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "cli/program/commands.h"
#include "cli/program/number_checks.h"
#include "cli/program/sampling_flags.h"
#include "cli/runs/live_view.h"
#include "cli/runs/monitor_recording.h"
#include "cli/runs/prometheus_server.h"
#include "cli/runs/watched_command.h"
#include "core/clock.h"
#include "core/shown_text.h"
#include "replayer/plan/run_directory.h"
#include "report/run/run.h"
#include "report/telemetry/prometheus_text.h"

namespace reprise {
namespace {

struct MonitorFlags {
  MonitorTarget target;
  SamplingFlags sampling;
  std::string prometheus;
  double interval_s = 1, duration_s = 0;
};

// Everything that looks at samples, in the order in which it must end.
struct Monitoring {
  RecentSamples recent{kLiveWindowNs};
  std::unique_ptr<MonitorRecording> recording;  // with -o
  std::unique_ptr<Sampler> sampler;             // on one rank of each host
  std::unique_ptr<PrometheusServer> prometheus;
};

Status StartMonitoring(const MonitorFlags& flags, Monitoring& monitoring) {
  REPRISE_ASSIGN(SamplerOptions options, InterpretSampling(flags.sampling));
  options.sources.own_process = false;  // what is watched is another
  const bool samples = flags.target.rank.local_rank == 0 && options.period_ns != 0;
  if (samples) {  // one sampler per host: each physical sensor is read once
    monitoring.sampler = Sampler::Open(options);
  }
  if (samples && !flags.prometheus.empty()) {  // before a run is begun: its port may be taken
    REPRISE_ASSIGN(monitoring.prometheus,
                   PrometheusServer::Start(flags.prometheus, [&monitoring, host = HostName()] {
                     return PrometheusText(monitoring.sampler->metrics(), monitoring.recent, host);
                   }));
    fmt::print(stderr, "reprise: {}\n", ShownText(monitoring.prometheus->url()));
  }
  RankWriter* writer = nullptr;
  if (!flags.target.directory.empty()) {
    REPRISE_ASSIGN(monitoring.recording, MonitorRecording::Begin(flags.target));
    writer = &monitoring.recording->writer();
  }
  if (!samples) {
    return {};
  }
  if (writer != nullptr) {
    DescribeSampler(*monitoring.sampler, *writer);
  }
  monitoring.sampler->Start([&monitoring, writer](const std::vector<Sample>& taken) {
    monitoring.recent.Add(taken);
    if (writer != nullptr) {
      writer->Append(taken);
    }
  });
  return {};
}

void Show(const Monitoring& monitoring) {
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  // Home and clear: the table stays where it is.
  fmt::print("{}{}", terminal ? "\x1b[H\x1b[2J" : "",
             LiveTable(monitoring.sampler->metrics(), monitoring.recent, terminal));
  std::fflush(stdout);
}

// Until a signal or for the time asked for.
void Watch(const MonitorFlags& flags, const SignalWaiter& signals, const Monitoring& monitoring) {
  const std::int64_t begin_ns = MonotonicNs();
  const auto interval_ns = static_cast<std::int64_t>(flags.interval_s * 1e9);
  const auto duration_ns = static_cast<std::int64_t>(flags.duration_s * 1e9);
  // The view where no other output is wanted.
  const bool shows = monitoring.recording == nullptr && monitoring.prometheus == nullptr;
  for (std::int64_t shown = 1;; ++shown) {
    std::int64_t next_ns = begin_ns + shown * interval_ns;
    if (duration_ns > 0) {
      next_ns = std::min(next_ns, begin_ns + duration_ns);
    }
    while (MonotonicNs() < next_ns) {
      const auto left = std::chrono::milliseconds((next_ns - MonotonicNs()) / 1'000'000 + 1);
      if (const auto signal = signals.Next(left); signal && signal->si_signo != SIGCHLD) {
        return;
      }
    }
    if (shows) {
      Show(monitoring);
    }
    if (duration_ns > 0 && MonotonicNs() >= begin_ns + duration_ns) {
      return;
    }
  }
}

Result<int> RunMonitor(MonitorFlags& flags) {
  MonitorTarget& target = flags.target;
  target.rank = FindLaunchedRank();
  const bool records = !target.directory.empty();
  if (!target.command.empty() && !records && flags.prometheus.empty()) {
    return UsageError("-o RUN or --prometheus PORT is needed to watch a command");
  }
  const SignalWaiter signals;  // before any thread starts
  Monitoring monitoring;
  REPRISE_TRY(StartMonitoring(flags, monitoring));
  if (monitoring.sampler == nullptr && !records) {
    return UsageError("nothing to show: --sample-period off, or another rank of this host samples");
  }
  if (records) {
    monitoring.recording->BeginStep();
  }
  int exit_code = 0;
  if (target.command.empty()) {
    Watch(flags, signals, monitoring);
  } else {
    auto command = WatchedCommand::Start(target.command);
    if (!command && records) {
      monitoring.sampler.reset();
      monitoring.recording->Discard();
    }
    REPRISE_TRY(command);
    std::optional<int> ended;
    while (!ended) {
      ended = command->Wait(signals, std::chrono::milliseconds(500));
    }
    exit_code = *ended;
  }
  monitoring.prometheus.reset();
  if (monitoring.sampler != nullptr) {
    monitoring.sampler->Stop();
  }
  if (records) {
    REPRISE_TRY(monitoring.recording->End(monitoring.sampler.get(), exit_code));
    if (target.rank.rank == 0) {
      fmt::print(stderr, "reprise: run written to {0}; see: reprise report {0}\n",
                 ShownText(target.directory));
    }
  }
  return exit_code;
}

}  // namespace

CommandBody RegisterMonitor(CLI::App& app, const CommandContext& context) {
  auto flags = std::make_shared<MonitorFlags>();
  MonitorTarget& target = flags->target;
  target.command_line = context.command_line;
  app.description(
      "Record power, temperature, clocks and utilisation of any program, or show them live; "
      "under mpirun, srun or torchrun each rank writes its part of one run");
  app.add_option("COMMAND", target.command, "program to watch and its arguments, after --");
  app.add_option("-o,--output", target.directory, "run directory to write");
  app.add_flag("--force", target.force, "replace an existing run");
  app.add_option("--prometheus", flags->prometheus,
                 "serve http://127.0.0.1:PORT/metrics; ADDRESS:PORT serves other hosts too");
  app.add_option("--interval", flags->interval_s, "seconds between live tables (default: 1)")
      ->check(Between(0.01, kMostSeconds));
  app.add_option("--duration", flags->duration_s,
                 "stop after this many seconds (default: at Ctrl-C)")
      ->check(Between(0.001, kMostSeconds));
  AddSamplingFlags(app, flags->sampling);
  return [flags] { return RunMonitor(*flags); };
}

}  // namespace reprise
