#include "cli/replay/bench_variants.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/program/number_checks.h"
#include "cli/program/show_json.h"
#include "core/bytes.h"
#include "core/json_fields.h"

namespace reprise {
namespace {

constexpr const char* kBare = "bare MPI";

using Rows = std::vector<VariantRow>;
using Variants = std::vector<CollectiveVariant>;

nlohmann::json JsonOf(const std::string& name, int ranks, int rounds, const Variants& variants,
                      const Rows& rows) {
  nlohmann::json results = nlohmann::json::array();
  for (const VariantRow& row : rows) {
    for (std::size_t v = 0; v < variants.size(); ++v) {
      const VariantTiming& timing = row.timings[v];
      nlohmann::json& json = results.emplace_back();
      json = {{"algorithm", variants[v].name}, {"bytes", row.bytes}};
      REPRISE_ADD_FIELDS(json, timing, fastest_ns, slowest_ns)
      REPRISE_ADD_FIELDS(json, timing.median, time_ns, algbw_gb_per_s, busbw_gb_per_s, wrong)
    }
  }
  return {{"name", name}, {"ranks", ranks}, {"rounds", rounds}, {"results", results}};
}

// One line a variant, one column a size; the best of each column has a star.
template <typename Value, typename Better>
void PrintTable(const std::string& title, const Variants& variants, const Rows& rows, Value value,
                Better better) {
  fmt::print("# {}\n# {:<44}", title, "algorithm");
  for (const VariantRow& row : rows) {
    fmt::print(" {:>10}", ShowBytes(row.bytes));
  }
  fmt::print("\n");
  for (std::size_t v = 0; v < variants.size(); ++v) {
    fmt::print("  {:<44}", variants[v].name);
    for (const VariantRow& row : rows) {
      const bool best = std::ranges::none_of(row.timings, [&](const VariantTiming& other) {
        return better(value(other), value(row.timings[v]));
      });
      fmt::print(" {:>9.2f}{}", value(row.timings[v]), best ? '*' : ' ');
    }
    fmt::print("\n");
  }
  fmt::print("#\n");
}

void PrintTables(const Variants& variants, const Rows& rows, int rounds) {
  PrintTable(
      fmt::format("time in us, median of {} rounds taken in turn", rounds), variants, rows,
      [](const VariantTiming& t) { return static_cast<double>(t.median.time_ns) / 1e3; },
      std::less<>());
  PrintTable(
      "busbw in GB/s (10^9 bytes)", variants, rows,
      [](const VariantTiming& t) { return t.median.busbw_gb_per_s; }, std::greater<>());
  if (variants.front().name != kBare) {
    return;
  }
  fmt::print("# against bare MPI: time of {} less that of a loop of the same MPI call\n# {:<44}",
             variants[1].name, "");
  for (const VariantRow& row : rows) {
    fmt::print(" {:>10}", ShowBytes(row.bytes));
  }
  fmt::print("\n  {:<44}", "us");
  const auto times = [](const VariantRow& row) {
    return std::pair(static_cast<double>(row.timings[0].median.time_ns),
                     static_cast<double>(row.timings[1].median.time_ns));
  };
  for (const VariantRow& row : rows) {
    const auto [bare, own] = times(row);
    fmt::print(" {:>+9.2f} ", (own - bare) / 1e3);
  }
  fmt::print("\n  {:<44}", "%");
  for (const VariantRow& row : rows) {
    const auto [bare, own] = times(row);
    fmt::print(" {:>+9.1f} ", bare > 0 ? (own / bare - 1) * 100 : 0.0);
  }
  fmt::print("\n");
}

Result<std::vector<std::int64_t>> ParseChunks(const std::vector<std::string>& texts) {
  std::vector<std::int64_t> chunks;
  for (const std::string& text : texts) {
    const auto bytes = ParseBytes(text);
    if (!bytes || *bytes < 1) {
      return UsageError(fmt::format("--chunks: '{}' is no size: 256K, 4MiB", text));
    }
    chunks.push_back(*bytes);
  }
  return chunks;
}

}  // namespace

void AddVariantFlags(CLI::App& app, VariantFlags& flags) {
  auto* const variants = app.add_flag(
      "--variants", flags.asked,
      "measure every algorithm, chunk size and channel count, and a loop of the MPI call, in turn");
  app.add_option("--chunks", flags.chunks, "chunk sizes to try")
      ->delimiter(',')
      ->needs(variants)
      ->capture_default_str();
  app.add_option("--channels", flags.channels, "numbers of channels (chunks in flight) to try")
      ->delimiter(',')
      ->needs(variants)
      ->check(CLI::Range(1, kMaxChannels))
      ->capture_default_str();
  app.add_option("--rounds", flags.rounds, "measurements of each, in turn")
      ->needs(variants)
      ->check(Positive())
      ->capture_default_str();
}

Result<int> ShowVariants(Communicator& communicator, const BenchOptions& options,
                         const std::string& name, const VariantFlags& flags, bool json) {
  REPRISE_ASSIGN(const auto chunks, ParseChunks(flags.chunks));
  Variants variants = CollectiveVariants(communicator, options.kind, chunks, flags.channels);
  if (options.dtypes.front() != DType::kFloat32 && options.dtypes.front() != DType::kFloat64) {
    variants.erase(variants.begin());  // the bare loop knows these two only
  }
  const bool prints = communicator.rank() == 0;
  if (prints && !json) {
    fmt::print("# {}: {} ranks, {}, {} iterations a round\n", name, communicator.size(),
               Name(options.dtypes.front()), options.iterations);
    std::fflush(stdout);
  }
  const bool progress = prints && isatty(STDERR_FILENO) != 0;
  REPRISE_ASSIGN(
      const Rows rows,
      RunVariants(communicator, options, variants, flags.rounds, [&](const VariantRow& row) {
        if (progress) {
          fmt::print(stderr, "reprise: {} done\n", ShowBytes(row.bytes));
        }
      }));
  std::int64_t wrong = 0;
  for (const VariantRow& row : rows) {
    for (std::size_t v = 0; v < variants.size(); ++v) {
      if (row.timings[v].median.wrong > 0) {
        wrong += row.timings[v].median.wrong;
        if (prints) {
          fmt::print(stderr, "reprise: {} with {} gives {} wrong elements\n", ShowBytes(row.bytes),
                     variants[v].name, row.timings[v].median.wrong);
        }
      }
    }
  }
  if (prints && json) {
    ShowJson(JsonOf(name, communicator.size(), flags.rounds, variants, rows), 2);
  } else if (prints) {
    PrintTables(variants, rows, flags.rounds);
  }
  return wrong > 0 ? 1 : 0;
}

}  // namespace reprise
