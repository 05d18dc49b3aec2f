#include "cli/sweep_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "core/counted.h"
#include "core/json_fields.h"
#include "core/shown_text.h"
#include "report/text/verdict_warnings.h"

namespace reprise {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::int64_t kShownRows = 20;
constexpr std::int64_t kShownOfGroup = 5;

bool IsPossible(const Json& row) { return row.value("possible", false); }
bool Fits(const Json& row) { return IsPossible(row) && row.value("fits", false); }

double NumberOf(const Json& row, const char* key) { return NumberIn(row, key).value_or(kNever); }

// Tokens of a step, or samples.
double AmountOf(const Json& row) {
  const double tokens = NumberOf(row, "tokens");
  return tokens > 0 && tokens < kNever ? tokens : NumberOf(row, "samples");
}

double TimeOf(const Json& row) { return NumberOf(row, "step_time_ns") / AmountOf(row); }
double EnergyOf(const Json& row) { return NumberOf(row, "energy_joules") / AmountOf(row); }
double MemoryOf(const Json& row) { return NumberOf(row, "peak_bytes"); }

double MeasureOf(const SweepTable& table, const Json& row) {
  return table.rank_by == "energy"   ? EnergyOf(row)
         : table.rank_by == "memory" ? MemoryOf(row)
                                     : TimeOf(row);
}

bool SameAmounts(const Json& rows) {
  double amount = -1;
  for (const Json& row : rows) {
    if (IsPossible(row)) {
      if (amount >= 0 && AmountOf(row) != amount) {
        return false;
      }
      amount = AmountOf(row);
    }
  }
  return true;
}

// Rows that fit, by time: each that has less of the other than all before it is on the front.
void MarkFront(const SweepTable& table, Json& rows) {
  const auto other = [&table](const Json& row) {
    return table.energy ? EnergyOf(row) : MemoryOf(row);
  };
  std::vector<Json*> fitting;
  for (Json& row : rows) {
    row["pareto"] = false;
    if (Fits(row)) {
      fitting.push_back(&row);
    }
  }
  std::ranges::sort(fitting, {},
                    [&other](const Json* row) { return std::pair(TimeOf(*row), other(*row)); });
  double least = kNever;
  double time = -1;
  for (Json* row : fitting) {
    const bool equal = other(*row) == least && TimeOf(*row) == time;
    if (other(*row) < least || equal) {
      (*row)["pareto"] = true;
      least = other(*row);
      time = TimeOf(*row);
    }
  }
}

std::string CellOf(const Json& row, const std::string& key) {
  const auto at = row.find(key);
  if (at == row.end() || at->is_null()) {
    return "-";
  }
  return at->is_string() ? ShownText(at->get<std::string>()) : at->dump();
}

// Rows with equal values of `within`, in the order of the first ones.
std::vector<Json> GroupsOf(const SweepTable& table, const Json& rows) {
  std::vector<Json> groups;
  std::map<std::string, std::size_t> group_of;
  for (const Json& row : rows) {
    const std::string name = table.within.empty() ? "" : CellOf(row, table.within);
    const auto [at, added] = group_of.emplace(name, groups.size());
    if (added) {
      groups.push_back(Json::array());
    }
    groups[at->second].push_back(row);
  }
  return groups;
}

void RankGroup(const SweepTable& table, Json& rows) {
  std::vector<Json> sorted(rows.begin(), rows.end());
  std::ranges::stable_sort(sorted, {}, [&table](const Json& row) {
    return std::tuple(!IsPossible(row), !Fits(row),
                      IsPossible(row) ? MeasureOf(table, row) : kNever);
  });
  std::int64_t rank = 0;
  rows = Json::array();
  for (Json& row : sorted) {
    Json ranked = {{"rank", Fits(row) ? Json(++rank) : Json(nullptr)}, {"pareto", false}};
    ranked.update(row);
    rows.push_back(std::move(ranked));
  }
  MarkFront(table, rows);
}

// Of the first rows that fit, of each group as many as `most`.
std::vector<const Json*> BestRows(const SweepTable& table, const Json& rows, std::int64_t most) {
  std::vector<const Json*> best;
  for (const Json& row : rows) {
    if (Fits(row) && (table.within.empty() ? static_cast<std::int64_t>(best.size()) < most
                                           : row["rank"].get<std::int64_t>() <= most)) {
      best.push_back(&row);
    }
  }
  return best;
}

}  // namespace

Status RankRows(SweepTable& table, Json& rows) {
  table.energy = std::ranges::any_of(
      rows, [](const Json& row) { return NumberOf(row, "energy_joules") < kNever; });
  table.tokens = std::ranges::any_of(rows, [](const Json& row) {
    return IsPossible(row) && row.value("tokens", std::int64_t{0}) > 0;
  });
  table.same_batch = SameAmounts(rows);
  if (table.rank_by == "energy" && !table.energy) {
    return UsageError(
        "--rank-by energy: the machine says nothing of power, so that no configuration has an "
        "energy");
  }
  Json all = Json::array();
  for (Json& group : GroupsOf(table, rows)) {
    RankGroup(table, group);
    all.insert(all.end(), group.begin(), group.end());
  }
  rows = std::move(all);
  return {};
}

std::optional<double> NumberIn(const Json& row, const char* key) {
  const auto at = row.find(key);
  return at != row.end() && at->is_number() ? std::optional(at->get<double>()) : std::nullopt;
}

double ShownSeconds(const SweepTable& table, const Json& row) {
  return table.same_batch ? NumberOf(row, "step_time_ns") / 1e9 : TimeOf(row) * 1e6 / 1e9;
}

std::string SecondsLabel(const SweepTable& table) {
  return table.same_batch ? "step, s"
         : table.tokens   ? "s for a million tokens"
                          : "s for a million samples";
}

std::vector<std::string> SweepWarnings(const Json& rows) {
  double most = 0;
  std::set<std::string> types;
  for (const Json& row : rows) {
    const double share = NumberOf(row, "default_share");
    most = share < kNever ? std::max(most, share) : most;
    if (const auto found = row.find("without_rate"); found != row.end() && found->is_string()) {
      types.insert(found->get<std::string>());
    }
  }
  std::map<std::string, std::string> options = {{"default_share", fmt::format("{:.4f}", most)}};
  if (!types.empty()) {
    options["without_rate"] = fmt::format("{}", fmt::join(types, ", "));
  }
  return PredictionWarnings(options);
}

std::string SweepText(const SweepTable& table, const Json& rows) {
  std::string text = fmt::format("{}, {}, ranked by {}\n", ShownText(table.title),
                                 Counted(rows.size(), "configuration"), table.rank_by);
  for (const std::string& warning : SweepWarnings(rows)) {
    text += fmt::format("  ! {}\n", warning);
  }
  text += "  ! Every time is modelled: nothing was executed.\n";
  const auto fitting = static_cast<std::size_t>(std::ranges::count_if(rows, Fits));
  const auto possible = static_cast<std::size_t>(std::ranges::count_if(rows, IsPossible));
  text += fmt::format("{} fit in memory, {} do not, {} cannot be\n\n", fitting, possible - fitting,
                      rows.size() - possible);
  // Columns as wide as their widest cell.
  std::vector<std::vector<std::string>> cells = {{"rank"}};
  for (const std::string& key : table.keys) {
    cells[0].push_back(key);
  }
  const std::string seconds = SecondsLabel(table);
  cells[0].insert(cells[0].end(), {seconds, "peak, GB"});
  if (table.energy) {
    cells[0].emplace_back("energy, kJ");
  }
  const bool power = table.energy && !table.within.empty();
  if (power) {
    cells[0].insert(cells[0].end(), {"tokens/J", "mean, W", "peak, W", "max, C", "throttled"});
  }
  cells[0].insert(cells[0].end(), {"MFU", "front"});
  const auto best = BestRows(table, rows, table.within.empty() ? kShownRows : kShownOfGroup);
  for (const Json* const shown : best) {
    const Json& row = *shown;
    std::vector<std::string> line = {CellOf(row, "rank")};
    for (const std::string& key : table.keys) {
      line.push_back(CellOf(row, key));
    }
    line.push_back(fmt::format("{:.4g}", ShownSeconds(table, row)));
    line.push_back(fmt::format("{:.2f}", MemoryOf(row) / 1e9));
    if (table.energy) {
      line.push_back(fmt::format("{:.4g}", NumberOf(row, "energy_joules") / 1e3));
    }
    if (power) {
      const double celsius = NumberOf(row, "max_celsius");
      line.push_back(fmt::format("{:.3f}", NumberOf(row, "tokens_per_joule")));
      line.push_back(fmt::format("{:.0f}", NumberOf(row, "mean_watts")));
      line.push_back(fmt::format("{:.0f}", NumberOf(row, "peak_watts")));
      line.push_back(celsius < kNever ? fmt::format("{:.1f}", celsius) : "-");
      line.push_back(fmt::format("{:.1f} %", 100 * NumberOf(row, "throttled_share")));
    }
    const double mfu = NumberOf(row, "mfu");
    line.push_back(mfu < kNever ? fmt::format("{:.1f} %", 100 * mfu) : "-");
    line.emplace_back(row.value("pareto", false) ? "*" : "");
    cells.push_back(std::move(line));
  }
  std::vector<std::size_t> width(cells[0].size());
  for (const auto& line : cells) {
    for (std::size_t c = 0; c < line.size(); ++c) {
      width[c] = std::max(width[c], line[c].size());
    }
  }
  for (const auto& line : cells) {
    for (std::size_t c = 0; c < line.size(); ++c) {
      text += fmt::format("{}{:>{}}", c > 0 ? "  " : "", line[c], width[c]);
    }
    text += "\n";
  }
  if (fitting > best.size()) {
    text += fmt::format("… {} more\n", fitting - best.size());
  }
  return text;
}

}  // namespace reprise
