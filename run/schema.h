// The tables of a run's SQLite files, in one place. docs/run_format.md explains them to users.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace reprise {

// PRAGMA user_version of every file of a run; a reader refuses a newer one.
inline constexpr int kRunSchemaVersion = 7;

// Tables that rank<N>.sqlite and run.sqlite share, `rank` column and all, so that one query serves
// both and a merge is INSERT ... SELECT.
inline constexpr std::array<std::string_view, 9> kSharedTables = {
    "ranks", "steps", "edges", "collectives", "devices", "meters", "metrics", "samples", "facts"};

// Those of them whose rows are a few for each rank: all that run.sqlite holds of a large run.
inline constexpr std::array<std::string_view, 6> kRankTables = {"ranks",  "steps",   "devices",
                                                                "meters", "metrics", "facts"};

// rank<N>.sqlite: shared tables, node_info + records, and `nodes` as a view over the two, right
// at any moment, also while the run goes on.
[[nodiscard]] std::string RankSchema();
// run.sqlite: shared tables and `nodes` as a table.
[[nodiscard]] std::string MergedSchema();

[[nodiscard]] std::string ManifestPath(const std::string& directory);
[[nodiscard]] std::string RankPath(const std::string& directory, int rank);
[[nodiscard]] std::string MergedPath(const std::string& directory);

}  // namespace reprise
