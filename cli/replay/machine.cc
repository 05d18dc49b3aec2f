// reprise machine: machine files of what is at hand.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/program/commands.h"
#include "cli/program/launched_rank.h"
#include "cli/program/number_checks.h"
#include "cli/replay/end_all_ranks.h"
#include "cli/replay/measured_machine.h"
#include "cli/replay/start_mpi.h"
#include "core/shown_text.h"
#include "et_schema/output_file.h"
#include "predict/machine/machine_file.h"
#include "replayer/plan/run_directory.h"

namespace reprise {
namespace {

struct MachineFlags {
  std::string output;
  int ranks = 0;
  double min_time_ms = 20, max_run_ms = 200;
  bool force = false, quiet = false;
  MeasureOptions options;
};

// Ranks as threads: as many as the processor runs at once, and at least two, to have a link.
int DefaultRanks() {
  constexpr int kMax = 8;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 2, kMax);
}

Result<nlohmann::ordered_json> MeasureByThreads(const MachineFlags& flags) {
  const int ranks = flags.ranks > 0 ? flags.ranks : DefaultRanks();
  const auto communicators = CreateLocalCommunicators(ranks);
  std::vector<Result<nlohmann::ordered_json>> machines(
      communicators.size(), Result<nlohmann::ordered_json>(nlohmann::ordered_json()));
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < communicators.size(); ++rank) {
    threads.emplace_back([&, rank] {
      machines[rank] = MeasureMachine(*communicators[rank], flags.options);
      if (!machines[rank]) {
        communicators[rank]->RaiseAbort(machines[rank].error());  // where others still wait
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return std::move(machines.front());
}

Result<int> WriteMachineFile(const MachineFlags& flags, OutputFile& output,
                             const nlohmann::ordered_json& json) {
  const std::string text =
      json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  REPRISE_ASSIGN(const MachineModel machine, ReadMachine(text, flags.output));
  output.stream() << text;
  REPRISE_TRY(output.Commit());
  if (!flags.quiet) {
    const DeviceModel& device = machine.device;
    fmt::print(
        "{}: {}\n{:.1f} GB/s of memory, {:.1f} GFLOP/s in float32; products reach {:.0f} % "
        "of it\n",
        ShownText(flags.output), ShownText(machine.about),
        device.memory_bytes_per_second.value * 1e-9,
        PeakRate(device, DType::kFloat32, false, false)->value * 1e-9,
        100 * device.gemm_efficiency.value);
    if (!machine.links.empty()) {
      fmt::print("{:.2f} GB/s and {:.1f} us from rank to rank\n",
                 machine.links.front().bytes_per_second->value * 1e-9,
                 machine.links.front().latency_ns.value * 1e-3);
    }
  }
  return 0;
}

Result<int> MeasureByMpi(const MachineFlags& flags, Communicator& communicator) {
  // Rank 0 writes; all ranks learn whether it can before they measure.
  Result<OutputFile> output = Fail(ErrorKind::kUsage, "");
  if (communicator.rank() == 0) {
    output = OutputFile::Create(flags.output, flags.force);
  }
  const bool failed = communicator.rank() == 0 && !output;
  REPRISE_TRY(communicator.Agree(failed ? Status(Fail(output.error().kind, output.error().message))
                                        : Status{}));
  REPRISE_ASSIGN(const auto json, MeasureMachine(communicator, flags.options));
  return communicator.rank() == 0 ? WriteMachineFile(flags, *output, json) : Result<int>(0);
}

Result<int> Measure(const CommandContext& context, MachineFlags& flags) {
  if (!flags.output.ends_with(".json")) {
    return UsageError(
        fmt::format("-o {}: a machine file's name ends in .json", ShownText(flags.output)));
  }
  flags.options.min_time_ns = static_cast<std::int64_t>(flags.min_time_ms * 1e6);
  flags.options.max_run_ns = static_cast<std::int64_t>(flags.max_run_ms * 1e6);
  const LaunchedRank launched = FindLaunchedRank();
  flags.options.conditions = fmt::format(
      "; {}, {}", launched.world_size > 1 ? "by MPI" : "ranks as threads", UtcNow().substr(0, 10));
  if (launched.world_size > 1) {
    if (flags.ranks > 0 && flags.ranks != launched.world_size) {
      return UsageError("--ranks is of threads; under a launcher its number counts");
    }
    REPRISE_ASSIGN(const auto communicator, StartMpi(context));
    Result<int> code = MeasureByMpi(flags, *communicator);
    if (!code) {
      communicator->RaiseAbort(code.error());
      return EndAllRanks(code.error(), *communicator);
    }
    return code;
  }
  REPRISE_ASSIGN(OutputFile output, OutputFile::Create(flags.output, flags.force));
  REPRISE_ASSIGN(const auto json, MeasureByThreads(flags));
  return WriteMachineFile(flags, output, json);
}

}  // namespace

CommandBody RegisterMachine(CLI::App& app, const CommandContext& context) {
  app.require_subcommand(1);
  const auto flags = std::make_shared<MachineFlags>();
  CLI::App* sub = app.add_subcommand(
      "measure",
      "Measure this machine's processor, memory and transfers between ranks, and write a machine "
      "file; start it with mpirun -n N for a job of N processes");
  sub->add_option("-o,--output", flags->output, "machine file to write, NAME.json")->required();
  sub->add_option("--name", flags->options.name, "of the machine (default: this)");
  flags->options.name = "this";
  sub->add_option("--ranks", flags->ranks,
                  "without mpirun: threads that measure at the same time, each a rank (default: as "
                  "the processor has, 2 to 8)")
      ->check(CLI::Range(1, 64));
  sub->add_option("--repeat", flags->options.repeats, "repeats of a kernel; the fastest counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  sub->add_option("--min-time-ms", flags->min_time_ms,
                  "least time for all repeats of a kernel together")
      ->check(Between(0, 1e6))
      ->capture_default_str();
  sub->add_option("--max-run-ms", flags->max_run_ms,
                  "leave kernels out whose single run takes longer")
      ->check(Between(0.001, 1e9))
      ->capture_default_str();
  sub->add_flag("--force", flags->force, "replace an existing file");
  sub->add_flag("--quiet", flags->quiet, "print nothing");
  return [flags, &context] { return Measure(context, *flags); };
}

}  // namespace reprise
