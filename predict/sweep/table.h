// A sweep's rows together: their order, the Pareto front, and how they are shown.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "core/result.h"
#include "predict/sweep/row.h"

namespace reprise {

// Of a sweep's directory: all of it as one JSON object.
inline constexpr char kSweepTableFile[] = "sweep.json";

struct SweepTable {
  std::string title;             // "llama3-70b on h200-hgx"
  std::string rank_by = "time";  // time, energy, memory
  std::vector<SweepKey> keys;
  // Rows of one model are ranked among themselves.
  bool several_models = false;
  std::vector<SweepRow> rows;
  // By RankRows:
  bool energy = false;     // some row has an energy
  bool same_batch = true;  // all rows have as many tokens, or samples, a step
  bool tokens = false;     // a model of language
};

// Sorts, of each model: what fits in memory first, by `rank_by`, then what does not, what lacks the
// least first, then what cannot be. Sets `rank` (nothing for what does not fit) and `pareto`: no
// other row that fits is better in time and in energy (without energies: memory), and none equal in
// one is better in the other. Time and energy count for a token, or sample: batches may differ.
// Usage error: ranked by an energy that no row has.
[[nodiscard]] Status RankRows(SweepTable& table);

// Of a row: seconds of a step, or, where rows differ in their batch, of a million tokens (samples).
[[nodiscard]] double ShownSeconds(const SweepTable& table, const SweepRow& row);
[[nodiscard]] std::string SecondsLabel(const SweepTable& table);

struct SweepCounts {
  std::size_t fit = 0, do_not_fit = 0, cannot_be = 0;
  std::size_t not_simulated = 0;  // of what does not fit
};
[[nodiscard]] SweepCounts CountRows(const SweepTable& table);
// What a reader must know first: empty if there is nothing.
[[nodiscard]] std::vector<std::string> SweepWarnings(const SweepTable& table);

// For a console: warnings first, then counts and the best rows.
[[nodiscard]] std::string SweepText(const SweepTable& table);
// One self-contained page.
[[nodiscard]] std::string SweepPage(const SweepTable& table);
// docs/simulation.md has the keys.
[[nodiscard]] std::string SweepJson(const SweepTable& table);
// What SweepJson wrote, ranked. Bad input: anything else; `origin` begins messages.
[[nodiscard]] Result<SweepTable> ParseSweepTable(std::string_view json, const std::string& origin);
// The same rows as CSV.
void WriteCsv(const SweepTable& table, std::ostream& out);

}  // namespace reprise
