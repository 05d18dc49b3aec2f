// reprise bench collectives NAME: busbw over a range of sizes, with nccl-tests' options and
// columns; bench kernels is in bench_kernels.cc.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <numeric>
#include <set>

#include "cli/program/commands.h"
#include "cli/program/show_json.h"
#include "cli/replay/backend_options.h"
#include "cli/replay/bench_kernels.h"
#include "cli/replay/bench_variants.h"
#include "cli/replay/end_all_ranks.h"
#include "cli/replay/start_mpi.h"
#include "collectives/algorithms/group.h"
#include "collectives/bench/collective_bench.h"
#include "collectives/bench/measured_choices.h"
#include "core/bytes.h"
#include "core/counted.h"
#include "core/json_fields.h"
#include "core/nearest.h"
#include "core/text.h"
#include "core/version.h"

namespace reprise {
namespace {

struct BenchFlags {
  std::string name;
  std::string min_size = "32M";
  std::string max_size = "32M";
  std::string step = "1M";
  BenchOptions options;
  int check = 1;
  std::string dtype = "float";
  std::string op = "sum";
  std::vector<std::string> algorithms;
  VariantFlags variants;
  bool json = false;
};

Result<std::int64_t> ParseSize(const std::string& text) {
  const auto bytes = ParseBytes(text);
  if (!bytes) {
    return UsageError(fmt::format("'{}' is no size: 8, 64K, 32M, 1G", text));
  }
  return *bytes;
}

Result<std::vector<DType>> ParseTypes(const std::string& text) {
  if (text == "all") {
    return std::vector<DType>{DType::kInt8,    DType::kUInt8,   DType::kInt32,   DType::kInt64,
                              DType::kFloat16, DType::kFloat32, DType::kFloat64, DType::kBFloat16};
  }
  const DType dtype = ParseDType(text);
  if (dtype == DType::kUnknown) {
    return UsageError(fmt::format("unknown type '{}'", text));
  }
  return std::vector<DType>{dtype};
}

Result<std::vector<ReduceOp>> ParseOps(const std::string& text) {
  if (text == "all") {
    return std::vector<ReduceOp>{ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMin,
                                 ReduceOp::kMax, ReduceOp::kAvg,  ReduceOp::kPremulSum};
  }
  const auto op = ParseReduceOp(text);
  if (!op) {
    return UsageError(fmt::format("unknown reduction '{}'", text));
  }
  return std::vector<ReduceOp>{*op};
}

Result<BenchOptions> OptionsOf(const BenchFlags& flags) {
  BenchOptions options = flags.options;
  const auto kind = ParseCommKind(flags.name);
  if (!kind) {
    return UsageError(
        fmt::format("unknown collective '{}'{} (`reprise list collectives` shows them)", flags.name,
                    DidYouMean<CommKind>(flags.name)));
  }
  options.kind = IsPointToPoint(*kind) ? CommKind::kSend : *kind;
  REPRISE_ASSIGN(options.min_bytes, ParseSize(flags.min_size));
  REPRISE_ASSIGN(options.max_bytes, ParseSize(flags.max_size));
  REPRISE_ASSIGN(options.step_bytes, ParseSize(flags.step));
  options.check = flags.check != 0;
  REPRISE_ASSIGN(options.dtypes, ParseTypes(flags.dtype));
  REPRISE_ASSIGN(options.ops, ParseOps(flags.op));
  for (const std::string& text : flags.algorithms) {
    REPRISE_TRY(options.algorithms.Add(text));
  }
  return options;
}

std::string NameOf(const BenchOptions& options) {
  return options.kind == CommKind::kSend ? "sendrecv" : std::string(Name(options.kind));
}

void PrintHeader(const BenchOptions& options, int ranks, std::size_t hosts) {
  fmt::print(
      "# reprise {} bench collectives {}: {} ranks on {}, host memory, {} iterations after {} of "
      "warm-up\n# --algo mpi\n",
      kVersion, NameOf(options), ranks, Counted(hosts, "host"), options.iterations, options.warmup);
  // Later ones win.
  for (const std::string_view choice : SplitText(options.algorithms.Describe(), ' ')) {
    if (!choice.empty()) {
      fmt::print("# --algo {}\n", choice);
    }
  }
  fmt::print("#\n");
  fmt::print("# {:>49} {:>33} {:>33}\n", "", "out-of-place", "in-place");
  fmt::print("# {:>11} {:>13} {:>9} {:>6} {:>6}", "size", "count", "type", "redop", "root");
  for (int half = 0; half < 2; ++half) {
    fmt::print(" {:>9} {:>7} {:>7} {:>7}", "time", "algbw", "busbw", "#wrong");
  }
  fmt::print("\n# {:>11} {:>13} {:>9} {:>6} {:>6}", "(B)", "(elements)", "", "", "");
  for (int half = 0; half < 2; ++half) {
    fmt::print(" {:>9} {:>7} {:>7} {:>7}", "(us)", "(GB/s)", "(GB/s)", "");
  }
  fmt::print("\n");
}

void PrintBenchTiming(const std::optional<BenchTiming>& timing) {
  if (!timing) {
    fmt::print(" {:>9} {:>7} {:>7} {:>7}", "N/A", "N/A", "N/A", "N/A");
    return;
  }
  fmt::print(" {:>9.2f} {:>7.2f} {:>7.2f} {:>7}", static_cast<double>(timing->time_ns) / 1e3,
             timing->algbw_gb_per_s, timing->busbw_gb_per_s,
             timing->wrong < 0 ? "N/A" : std::to_string(timing->wrong));
}

void PrintRow(const BenchRow& row) {
  fmt::print("  {:>11} {:>13} {:>9} {:>6} {:>6}", row.bytes, row.count, Name(row.dtype),
             row.op ? Name(*row.op) : "none", row.root.value_or(-1));
  PrintBenchTiming(row.out_of_place);
  PrintBenchTiming(row.in_place);
  fmt::print("\n");
  (void)std::fflush(stdout);
}

// Over all rows, in place and not.
struct Totals {
  std::int64_t wrong = 0;
  double mean_busbw = 0;
};

Totals TotalsOf(const std::vector<BenchRow>& rows) {
  Totals totals;
  int timings = 0;
  const auto add = [&](const BenchTiming& timing) {
    totals.wrong += std::max<std::int64_t>(0, timing.wrong);
    totals.mean_busbw += timing.busbw_gb_per_s;
    ++timings;
  };
  for (const BenchRow& row : rows) {
    add(row.out_of_place);
    if (row.in_place) {
      add(*row.in_place);
    }
  }
  totals.mean_busbw /= std::max(1, timings);
  return totals;
}

// The members stand in alphabetical order, as in all JSON of this command.
nlohmann::json JsonOf(const BenchRow& row, const BenchTiming& timing, bool in_place) {
  Json json = {{"in_place", in_place},
               {"wrong", timing.wrong >= 0 ? Json(timing.wrong) : Json(nullptr)}};
  REPRISE_ADD_FIELDS(json, row, bytes, count, dtype, op, root)
  REPRISE_ADD_FIELDS(json, timing, time_ns, algbw_gb_per_s, busbw_gb_per_s)
  return json;
}

void PrintJson(const BenchOptions& options, int ranks, std::size_t hosts,
               const std::vector<BenchRow>& rows) {
  nlohmann::json results = nlohmann::json::array();
  for (const BenchRow& row : rows) {
    results.push_back(JsonOf(row, row.out_of_place, false));
    if (row.in_place) {
      results.push_back(JsonOf(row, *row.in_place, true));
    }
  }
  const nlohmann::json json = {{"name", NameOf(options)},
                               {"ranks", ranks},
                               {"hosts", hosts},
                               {"iterations", options.iterations},
                               {"algo", options.algorithms.Describe()},
                               {"results", results}};
  ShowJson(json, 2);
}

// As a replay: what no --algo covers runs by a measurement, or by the table.
Status ChooseAlgorithms(Communicator& communicator, const std::string& path,
                        BenchOptions& options) {
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(communicator.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  const int hosts = HostsOf(ranks, communicator.nodes());
  std::vector<ChosenTransfer> transfers;
  for (const std::int64_t bytes : BenchSizes(options)) {
    transfers.push_back(
        {.kind = options.kind, .members = communicator.size(), .hosts = hosts, .bytes = bytes});
  }
  GroupMaker maker(communicator, {});
  REPRISE_ASSIGN(const auto group, maker.Create(ranks, "measured"));
  const std::vector<MeasuredGroup> groups = {{ranks, hosts, group.get()}};
  REPRISE_ASSIGN(options.algorithms,
                 CompleteChoices(communicator, maker, groups, transfers, options.algorithms, path,
                                 MpiLibraryVersion()));
  return {};
}

Result<int> Bench(Communicator& communicator, const BenchFlags& flags, const std::string& path) {
  const bool prints = communicator.rank() == 0;
  REPRISE_ASSIGN(BenchOptions options, OptionsOf(flags));
  REPRISE_TRY(ValidateBench(options, communicator.size()));
  if (flags.variants.asked) {
    return ShowVariants(communicator, options, NameOf(options), flags.variants, flags.json);
  }
  REPRISE_TRY(ChooseAlgorithms(communicator, path, options));
  REPRISE_ASSIGN(const auto names, communicator.AllGather(communicator.host()));
  const std::size_t hosts = std::set<std::string>(names.begin(), names.end()).size();
  if (prints && !flags.json) {
    PrintHeader(options, communicator.size(), hosts);
  }
  REPRISE_ASSIGN(const auto rows, RunBench(communicator, options, [&](const BenchRow& row) {
                   if (prints && !flags.json) {
                     PrintRow(row);
                   }
                 }));
  const Totals totals = TotalsOf(rows);
  if (prints && flags.json) {
    PrintJson(options, communicator.size(), hosts, rows);
  } else if (prints) {
    fmt::print("# wrong elements: {}{}\n# mean bus bandwidth: {:.3f} GB/s\n", totals.wrong,
               options.check ? "" : " (not checked)", totals.mean_busbw);
  }
  return totals.wrong > 0 ? 1 : 0;
}

Result<int> BenchCollectives(const CommandContext& context, const BenchFlags& flags) {
  REPRISE_ASSIGN(const auto communicator, StartMpi(context));
  Result<int> code = Bench(*communicator, flags, MeasuredCollectivesPath(context));
  if (code) {
    return code;
  }
  // Every rank fails alike, or hears of the one that did.
  communicator->RaiseAbort(code.error());
  return EndAllRanks(code.error(), *communicator);
}

}  // namespace

CommandBody RegisterBench(CLI::App& app, const CommandContext& context) {
  app.require_subcommand(1);
  const auto flags = std::make_shared<BenchFlags>();
  BenchOptions& options = flags->options;
  CLI::App* sub = app.add_subcommand(
      "collectives", "Measure time and busbw of one collective; start it with mpirun -n N");
  sub->add_option("COLLECTIVE", flags->name, "all_reduce, all_gather, …, sendrecv")->required();
  sub->add_option("-b,--minbytes", flags->min_size, "smallest size")->capture_default_str();
  sub->add_option("-e,--maxbytes", flags->max_size, "largest size")->capture_default_str();
  sub->add_option("-i,--stepbytes", flags->step, "increment between sizes")->capture_default_str();
  sub->add_option("-f,--stepfactor", options.step_factor,
                  "factor between sizes; 1: use the increment")
      ->capture_default_str();
  sub->add_option("-n,--iters", options.iterations, "timed iterations")->capture_default_str();
  sub->add_option("-w,--warmup_iters", options.warmup, "warm-up iterations")->capture_default_str();
  sub->add_option("-c,--check", flags->check, "check results: 0 or 1")->capture_default_str();
  sub->add_option("-d,--datatype", flags->dtype, "element type, or all")->capture_default_str();
  sub->add_option("-o,--op", flags->op, "sum, prod, min, max, avg, …, or all")
      ->capture_default_str();
  sub->add_option("-r,--root", options.root, "root rank")->capture_default_str();
  sub->add_option(
      "--algo", flags->algorithms,
      "algorithm: NAME[,chunk=SIZE][,channels=N][,node=N], also from=SIZE; `reprise list "
      "algorithms` lists them (default: measured)");
  AddVariantFlags(*sub, flags->variants);
  sub->add_flag("--json", flags->json, "results as JSON");
  const CommandBody kernels = AddBenchKernels(app, context);
  return [flags, context, sub, kernels]() {
    return sub->parsed() ? BenchCollectives(context, *flags) : kernels();
  };
}

}  // namespace reprise
