// A sweep's rows: their order, the Pareto front, and how they are shown. Pure functions on rows as
// JSON objects, with the keys of `simulate --json` and those of RankRows.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace reprise {

// Of a sweep's directory: all of it as one JSON object.
inline constexpr char kSweepTableFile[] = "sweep.json";

struct SweepTable {
  std::string title;              // "llama3-70b on h200-hgx"
  std::string rank_by = "time";   // time, energy, memory
  std::vector<std::string> keys;  // that were swept
  // Not empty: rows with equal values of this key are ranked among themselves, and figures are
  // drawn by layout, setting and micro-batch of each.
  std::string within;
  // By RankRows:
  bool energy = false;     // some row has an energy
  bool same_batch = true;  // all rows have as many tokens, or samples, a step
  bool tokens = false;     // a model of language
};

// Sorts, in each group of `within`: what fits in memory first, by `rank_by`, then what does not,
// then what cannot be. Adds to each row `rank` (null for what does not fit) and `pareto`: no other
// row that fits is better in time and in energy (without energies: memory), and none equal in one
// is better in the other. Time and energy count for a token, or sample: batches may differ. `rows`
// is an array. Usage error: ranked by an energy that no row has.
[[nodiscard]] Status RankRows(SweepTable& table, nlohmann::ordered_json& rows);

// A number of a row; nothing where it has none.
[[nodiscard]] std::optional<double> NumberIn(const nlohmann::ordered_json& row, const char* key);
// Of a row: seconds of a step, or, where rows differ in their batch, of a million tokens (samples).
[[nodiscard]] double ShownSeconds(const SweepTable& table, const nlohmann::ordered_json& row);
[[nodiscard]] std::string SecondsLabel(const SweepTable& table);

// For a console: warnings first, then counts and the best rows.
[[nodiscard]] std::string SweepText(const SweepTable& table, const nlohmann::ordered_json& rows);
// One self-contained page.
[[nodiscard]] std::string SweepPage(const SweepTable& table, const nlohmann::ordered_json& rows);

// What a reader must know first: empty if there is nothing.
[[nodiscard]] std::vector<std::string> SweepWarnings(const nlohmann::ordered_json& rows);

}  // namespace reprise
